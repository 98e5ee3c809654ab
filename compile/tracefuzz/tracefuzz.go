// Package tracefuzz turns the bytes of a fuzzer into compiled traces: traces of the
// repository's recordings, changed step by step. Their checksums, part lengths and
// string numbers are valid, so readers accept them and have to handle the events.
package tracefuzz

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// Trace is a compiled trace in a form that can be changed.
type Trace struct {
	Header format.Header
	Events []format.Event
}

// Bases compiles the recordings of the repository. root is the path from the test's
// directory to the repository.
func Bases(tb testing.TB, root string) (bases []*Trace) {
	tb.Helper()
	for _, name := range inputs(tb, root) {
		text, err := os.ReadFile(name)
		require.NoError(tb, err)
		if b := compiled(tb, text); len(b.Events) > 0 {
			bases = append(bases, b)
		}
	}
	return bases
}

// inputs returns the names of the recordings.
func inputs(tb testing.TB, root string) (names []string) {
	tb.Helper()
	for _, pattern := range []string{"compile/testdata/*.txt", "compile/transform/testdata/ring_*.golden", "compile/transform/testdata/*mapped.golden"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(tb, err)
		require.NotEmpty(tb, files)
		names = append(names, files...)
	}
	return names
}

func compiled(tb testing.TB, text []byte) *Trace {
	tb.Helper()
	var file bytes.Buffer
	src := script.NewReader(bytes.NewReader(text), "recording")
	_, err := compile.Compile(src, new(testkit.Spool), bin.NewWriter(&file, new(testkit.Spool)), compile.Options{})
	require.NoError(tb, err)
	t, err := bin.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), bin.DefaultLimit)
	require.NoError(tb, err)
	events, err := testkit.ReadAll(t.Events(), 64)
	require.NoError(tb, err)
	return &Trace{Header: *t.Header(), Events: events}
}

// The bounds of what steps add: large enough to show a fault, and small enough for
// hundreds of traces per second.
const (
	maxEvents  = 3000
	maxThreads = 400
	maxFiles   = 2000
)

// stepBytes is how long a step is.
const stepBytes = 8

// Mutated returns the trace that the bytes describe: the first byte chooses a base, and
// each following eight bytes are a step. The bases stay unchanged.
func Mutated(bases []*Trace, data []byte) *Trace {
	return mutated(bases, data, eventSteps, headerSteps)
}

func mutated(bases []*Trace, data []byte, ofEvents, ofHeader []func(t *Trace, s step)) *Trace {
	var first byte
	if len(data) > 0 {
		first, data = data[0], data[1:]
	}
	base := bases[int(first)%len(bases)]
	t := &Trace{Header: base.Header, Events: slices.Clone(base.Events)}
	t.Header.Meta = slices.Clone(t.Header.Meta)
	t.Header.Threads = slices.Clone(t.Header.Threads)
	t.Header.Descriptors = slices.Clone(t.Header.Descriptors)
	t.Header.Files = slices.Clone(t.Header.Files)
	if len(t.Header.Threads) == 0 {
		t.Header.Threads = []format.Thread{{Process: 1}}
	}
	for ; len(data) >= stepBytes; data = data[stepBytes:] {
		s := step(data[:stepBytes])
		kind := ofEvents
		if s[0] >= 224 { // a fault in the header hides faults in the events
			kind = ofHeader
		}
		pick(kind, s[0])(t, s)
	}
	return t
}

// step is the bytes of one change: its kind, its place, and its numbers.
type step []byte

// event returns the place of an event.
func (s step) event(t *Trace) int { return int(binary.LittleEndian.Uint16(s[1:])) % len(t.Events) }

// other returns the place of another event.
func (s step) other(t *Trace) int { return int(binary.LittleEndian.Uint16(s[5:])) % len(t.Events) }

// pick returns the element of a list that a byte selects.
func pick[T any](list []T, b byte) T { return list[int(b)%len(list)] }

// numbers are boundary values.
var numbers = []int64{
	0, 1, 2, 3, 4, 5, 7, -1, -2, -100, 63, 64, 511, 512, 1000, 4095, 4096, 65536, 1 << 20, 1<<31 - 1, 1 << 31, -1 << 31, 1<<32 - 1, 1 << 32, 1 << 40,
	1 << 62, format.FreshBuffer | 4096, format.MappedFile | 4096, math.MaxInt64, math.MinInt64, format.AtFDCWD, format.NoResult,
}

// number returns a boundary value, or one that the bytes spell.
func number(kind, low, high byte) int64 {
	if kind&3 != 0 {
		return pick(numbers, low)
	}
	return int64(int16(uint16(low) | uint16(high)<<8))
}

// names are file names that leave a root, are too long, or are invalid.
var names = []string{
	"a", "w/a", "w", "..", "../secret", "w/../../secret", "/", "/etc/passwd", "", ".", "/proc/self/fd/0", "/proc/self/root/etc", "/dev/zero", strings.Repeat("../", 60),
	strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x/", 2000), strings.Repeat("y", 4096), "a\nb", "\xff\xfe\x00", "user.a", "security.capability", "w//pianola_tmp1",
}

// durations are times, in nanoseconds.
var durations = []int64{0, 1, 1000, 50_000, 1_000_000, 3_600_000_000_000, 1 << 62, math.MaxInt64}

// name returns a name of the list, or one from an event of the trace.
func (t *Trace) name(b byte) []byte {
	if b&1 == 0 {
		return []byte(pick(names, b>>1))
	}
	for i := range t.Events {
		if s := t.Events[(int(b)*7+i)%len(t.Events)].Str[0]; s != nil {
			return s
		}
	}
	return nil
}

// process returns a process of the trace, or a new one.
func (t *Trace) process(b byte) int32 {
	if b > 250 {
		return int32(b)
	}
	return t.Header.Threads[int(b)%len(t.Header.Threads)].Process
}

// complete gives the event the strings that its operation needs.
func (t *Trace) complete(e *format.Event, b byte) {
	n := 0
	for _, a := range e.Op.Info().Args {
		if !a.Kind.IsString() {
			continue
		}
		if e.Str[n] == nil {
			e.Str[n] = t.name(b + byte(n))
		}
		n++
	}
	for ; n < len(e.Str); n++ {
		e.Str[n] = nil
	}
}

// eventSteps change events.
var eventSteps = []func(t *Trace, s step){
	func(t *Trace, s step) { // an argument
		t.Events[s.event(t)].Args[int(s[3])%format.MaxArgs] = number(s[4], s[5], s[6])
	},
	func(t *Trace, s step) { // an argument as that of another event
		at := int(s[3]) % format.MaxArgs
		t.Events[s.event(t)].Args[at] = t.Events[s.other(t)].Args[(at+int(s[4]&1))%format.MaxArgs]
	},
	func(t *Trace, s step) { // the result
		t.Events[s.event(t)].Ret = number(s[3], s[4], s[5])
	},
	func(t *Trace, s step) { // a string, or an item of a list
		e := &t.Events[s.event(t)]
		if e.List != nil {
			e.List = e.List.Clone()
			e.List.Update, e.List.From = s[7]&1 != 0, number(s[6], s[5], 0)
			e.List.Items = append(e.List.Items, slices.Repeat([]int64{number(s[3], s[4], s[5])}, e.List.Width()<<(s[7]%12))...)
		}
		if i := int(s[3]) % len(e.Str); e.Str[i] != nil {
			e.Str[i] = t.name(s[4])
		}
	},
	func(t *Trace, s step) { // the operation
		e := &t.Events[s.event(t)]
		if op := format.Op(s[3]); op.Valid() && op.Info().Canon == nil {
			e.Op = op
			t.complete(e, s[4])
		}
	},
	func(t *Trace, s step) { // two change places
		i, k := s.event(t), s.other(t)
		t.Events[i], t.Events[k] = t.Events[k], t.Events[i]
	},
	func(t *Trace, s step) { // one event is many
		i, n := s.event(t), 1<<(s[3]%12)
		if n = min(n, maxEvents-len(t.Events)); n > 0 {
			t.Events = slices.Insert(t.Events, i, slices.Repeat([]format.Event{t.Events[i]}, n)...)
		}
	},
	func(t *Trace, s step) { // many descriptors, names or threads
		e := t.Events[s.event(t)]
		at, n := int(s[3])%format.MaxArgs, min(1<<(s[4]%11), maxEvents-len(t.Events))
		for i := range n {
			e.Args[at]++
			e.Ret += int64(s[5] & 1)
			if s[5]&2 != 0 && e.Str[0] != nil {
				e.Str[0] = append(slices.Clip(e.Str[0]), byte('a'+i%26))
			}
			t.Events = append(t.Events, e)
		}
	},
	func(t *Trace, s step) { // one event less
		if len(t.Events) > 1 {
			i := s.event(t)
			t.Events = slices.Delete(t.Events, i, i+1)
		}
	},
	func(t *Trace, s step) { // another thread makes it
		t.Events[s.event(t)].TID = int32(int(s[3])%len(t.Header.Threads) + 1)
	},
	func(t *Trace, s step) { // what it comes after
		e, other := &t.Events[s.event(t)], &t.Events[s.other(t)]
		if s[3]&1 != 0 {
			e.Edges = nil
			return
		}
		edge := format.Edge{Thread: other.TID, Kind: format.EdgeKind(s[3]>>1) % format.NumEdgeKinds, Delay: pick(durations, s[3])}
		if s[4]&8 != 0 { // to any of its events: otherwise most traces would deadlock
			edge.Event = int64(s[4] >> 4)
		}
		if s[4]&7 == 7 {
			edge.Thread, edge.Event, edge.Kind = 0, 0, format.EdgeWake+format.EdgeKind(s[3]>>1)%(format.NumEdgeKinds-format.EdgeWake)
		}
		e.Edges = append(slices.Clip(e.Edges), edge)
	},
	func(t *Trace, s step) { // its times
		e, d := &t.Events[s.event(t)], pick(durations, s[4])
		switch s[3] % 6 {
		case 0:
			e.Compute = d
		case 1:
			e.Dur = d
		case 2:
			e.Off.Wait, e.Off.Timer = d, pick(durations, s[5])
		case 3:
			e.Held, e.Compute = d, max(e.Compute, d)
		case 4:
			e.Expired, e.Compute = d, max(e.Compute, d)
		case 5:
			e.Off.Own, e.Off.Storage = d, pick(durations, s[5])
		}
	},
	func(t *Trace, s step) { // how a request is made
		t.Events[s.event(t)].How = format.How{Flags: int64(s[3]), RW: int64(s[4]), Slot: int64(uint32(number(s[5], s[5], s[6]))), Buf: int64(uint32(number(s[6], s[6], s[7])))}
	},
}

// headerSteps change the state before the first event.
var headerSteps = []func(t *Trace, s step){
	func(t *Trace, s step) { // a thread
		th := &t.Header.Threads[int(s[1])%len(t.Header.Threads)]
		switch s[3] % 4 {
		case 0:
			th.Process = t.process(s[4])
		case 1:
			th.Parent = int32(int(s[4]) % (len(t.Header.Threads) + 1))
		case 2:
			th.Start = pick(durations, s[4])
		case 3:
			th.Ring = format.Via(s[4] % 3)
		}
	},
	func(t *Trace, s step) { // threads that another one creates, or that exist at the start
		n := min(1<<(s[3]%9), maxThreads-len(t.Header.Threads), maxEvents-len(t.Events))
		for range n {
			th := format.Thread{Process: t.process(s[4]), Parent: int32(int(s[5]) % (len(t.Header.Threads) + 1)), Ring: format.Via(s[6] % 5 / 3)}
			if t.Header.Ring(th.Parent) != format.ViaCall && s[7] < 200 {
				th.Parent = 1
			}
			t.Header.Threads = append(t.Header.Threads, th)
			e := t.Events[s.event(t)].Clone()
			e.TID = int32(len(t.Header.Threads))
			if th.Parent > 0 && s[7]&1 == 0 {
				birth := format.Event{Op: format.OpClone, TID: th.Parent, Ret: int64(e.TID)}
				birth.Args[0] = number(0, s[6], s[7])
				t.Events = append(t.Events, birth)
			}
			t.Events = append(t.Events, e)
		}
	},
	func(t *Trace, s step) { // a file that is there before
		if len(t.Header.Files) == 0 {
			return
		}
		f := &t.Header.Files[int(s[1])%len(t.Header.Files)]
		switch s[3] % 8 {
		case 0:
			f.Path = string(t.name(s[4]))
		case 1:
			f.Type = format.FileType(s[4] % 9)
		case 2:
			f.Mode = uint32(number(s[4], s[5], s[6]))
		case 3:
			f.Size = number(s[4], s[5], s[6])
		case 4:
			f.Cached = number(s[4], s[5], s[6])
		case 5:
			f.Target = string(t.name(s[4]))
		case 6:
			f.Link = string(t.name(s[4]))
		case 7:
			f.Attrs = append(slices.Clip(f.Attrs), format.Attr{Name: "user." + string(t.name(s[4])), Size: number(s[5], s[6], s[7])})
		}
	},
	func(t *Trace, s step) { // more files
		n := min(1<<(s[1]%12), maxFiles-len(t.Header.Files))
		for i := range n {
			name := append(slices.Clip(t.name(s[2])), '/', byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676))
			t.Header.Files = append(t.Header.Files, format.File{
				Path: strings.Trim(string(name), "/"), Type: []format.FileType{format.TypeReg, format.TypeDir, format.TypeLnk, format.TypeFifo}[s[3]%4],
				Mode: 0o755, Size: number(s[4], s[5], s[6]), Cached: -1, Target: "a", Sparse: s[7]&1 != 0,
			})
		}
	},
	func(t *Trace, s step) { // descriptors that are open before
		for i := range 1 << (s[1] % 10) {
			t.Header.Descriptors = append(t.Header.Descriptors, format.Descriptor{
				Process: t.process(s[2]), FD: int32(number(s[3], s[4], s[5])&0x7fff) + int32(i), Flags: int64(s[6]), Offset: number(s[7], s[6], s[5]), Path: string(t.name(s[7])),
			})
		}
	},
}

// Bytes returns the trace as a file. It returns an error if no writer produces such a
// trace.
func (t *Trace) Bytes() ([]byte, error) {
	var file bytes.Buffer
	w := bin.NewWriter(&file, new(testkit.Spool))
	all, written := map[int32]int64{}, map[int32]int64{} // events of each thread
	for i := range t.Events {
		all[t.Events[i].TID]++
	}
	for i := range t.Events {
		e := t.Events[i]
		var edges []format.Edge
		for _, edge := range e.Edges {
			if last := all[edge.Thread] - 1; edge.Event > last && edge.Thread > 0 {
				edge.Event = last
			}
			if edge.Valid(e.TID, written[e.TID]) {
				edges = append(edges, edge)
			}
		}
		e.Edges = edges
		written[e.TID]++
		if err := w.Write([]format.Event{e}); err != nil {
			return nil, err
		}
	}
	if err := w.Close(&t.Header); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// Random returns random bytes for Mutated, of one to eight steps.
func Random(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 21))
	data := make([]byte, 1+stepBytes*(1+rng.IntN(8)))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}
