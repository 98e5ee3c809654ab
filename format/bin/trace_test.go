package bin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// anyString returns a string, an empty one or none.
func anyString(r *rand.Rand) []byte {
	switch r.Intn(4) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	s := make([]byte, 1+r.Intn(6))
	r.Read(s)
	return s
}

// anyEvent returns an event of op with arguments of any value.
func anyEvent(r *rand.Rand, op format.Op, thread int32) format.Event {
	e := format.Event{Op: op, TID: thread, Compute: r.Int63n(1e6), Dur: r.Int63n(1e4) - 1, Ret: int64(r.Uint64()) >> r.Intn(64)}
	k := 0
	for i, a := range op.Info().Args {
		if a.Kind.IsString() {
			e.Str[k] = anyString(r)
			k++
		} else if a.Kind == format.Items {
			e.List = anyList(r)
		} else {
			e.Args[i] = int64(r.Uint64()) >> r.Intn(64)
		}
	}
	return e
}

func anyList(r *rand.Rand) *format.List {
	if r.Intn(4) == 0 {
		return nil
	}
	l := &format.List{Of: format.ListOf(r.Intn(int(format.NumListOf))), Update: r.Intn(2) == 0}
	if l.Update {
		l.From = int64(r.Uint64())
	}
	for range r.Intn(100) * l.Width() {
		l.Items = append(l.Items, int64(r.Uint64())>>r.Intn(64))
	}
	return l
}

// timed sets the start of the events of a thread, which Events computes.
func timed(events []format.Event, start int64) {
	for i := range events {
		events[i].Start = start + events[i].Compute
		start = events[i].End()
	}
}

func TestEveryOperation(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var want []format.Event
	for range 20 {
		for op := format.OpNone + 1; op.Valid(); op++ {
			want = append(want, anyEvent(r, op, 1))
		}
	}
	timed(want, 0)
	tr := opened(t, compiled(t, &format.Header{}, want))
	require.EqualValues(t, len(want), tr.Len(1))
	got, err := every(tr.Events(), 17)
	require.NoError(t, err)
	require.Equal(t, want, got)

	// The same by records, where strings are numbers.
	records, durations := make([]format.Record, len(want)), make([]int64, len(want))
	for rs, ds, n, m := tr.Records(1), tr.Durations(1), 0, 0; n < len(want) || m < len(want); {
		k, err := rs.Read(records[n:])
		require.NoError(t, err)
		n += k
		k, err = ds.Read(durations[m:])
		require.NoError(t, err)
		m += k
	}
	ls := tr.Lists(1)
	for i := range want {
		e, rec := &want[i], &records[i]
		require.Equal(t, e.Op, rec.Op)
		require.Equal(t, e.Compute, rec.Compute)
		require.Equal(t, e.Ret, rec.Ret)
		require.Equal(t, e.Dur, durations[i])
		for a, k := 0, 0; a < format.MaxArgs; a++ {
			switch {
			case a == int(listArgs[e.Op]):
				list, err := ls.Read(int64(i), rec)
				require.NoError(t, err)
				require.Equal(t, e.List, new(format.SpanMemory).Keep(list))
				continue
			case stringArgs[e.Op]>>a&1 == 0:
				require.Equal(t, e.Args[a], rec.Args[a])
				continue
			case e.Str[k] == nil:
				require.EqualValues(t, -1, rec.Args[a])
			default:
				require.Equal(t, string(e.Str[k]), tr.Strings()[rec.Args[a]])
			}
			k++
		}
	}
}

// orchestra returns events of five threads, thread after thread. They share
// strings and wait for one another.
func orchestra(n int) (*format.Header, [][]format.Event) {
	r := rand.New(rand.NewSource(3))
	h := &format.Header{Meta: []format.Meta{{Key: format.MetaCommand, Value: "orchestra"}}}
	var threads [][]format.Event
	for i := range int32(5) {
		h.Threads = append(h.Threads, format.Thread{Process: 1, Parent: min(i, 1), Start: int64(i) * 1e6})
		events := make([]format.Event, n>>i)
		for j := range events {
			e := &events[j]
			*e = format.Event{Op: format.OpPread64, TID: i + 1, Compute: r.Int63n(5000), Dur: r.Int63n(500), Ret: 10}
			if j%7 == 0 {
				*e = anyEvent(r, format.OpRename, i+1)
				e.Str[0] = fmt.Appendf(nil, "file %d", r.Intn(n))
			}
			if i > 0 && j%5 == 0 {
				e.Edges = append(e.Edges, format.Edge{Thread: i, Event: int64(r.Intn(n >> (i - 1)))})
				e.Edges = append(e.Edges, format.Edge{Thread: i, Kind: format.EdgeWake, Event: 0, Delay: int64(n)})
			}
		}
		timed(events, h.Threads[i].Start)
		threads = append(threads, events)
	}
	return h, threads
}

// interleaved writes the threads' events in any order that keeps each
// thread's, with room for so many words in memory.
func interleaved(t *testing.T, h *format.Header, threads [][]format.Event, words int, pick func(left [][]format.Event) int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, new(testkit.Spool))
	w.maxHeld = words
	left := slices.Clone(threads)
	for len(left) > 0 {
		i := pick(left)
		require.NoError(t, w.Write(left[i][:1]))
		if left[i] = left[i][1:]; len(left[i]) == 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	require.NoError(t, w.Close(h))
	return out.Bytes()
}

func TestInterleavingLeavesNoMark(t *testing.T) {
	h, threads := orchestra(3 * rowsPerPart)
	var want []format.Event
	for _, events := range threads {
		want = append(want, events...)
	}
	file := compiled(t, h, want)
	r := rand.New(rand.NewSource(1))
	random := func(left [][]format.Event) int { return r.Intn(len(left)) }
	for _, c := range []struct {
		name  string
		words int
		pick  func([][]format.Event) int
	}{
		{"last thread first", heldWords, func(left [][]format.Event) int { return len(left) - 1 }},
		{"random", heldWords, random},
		{"random, through the spool", 50_000, random},
		{"first, through the spool", 10_000, func([][]format.Event) int { return 0 }},
	} {
		require.Equal(t, file, interleaved(t, h, threads, c.words, c.pick), c.name)
	}

	tr := opened(t, file)
	require.Equal(t, h, tr.Header())
	require.Same(t, tr.Header(), tr.Events().Header())
	got, err := every(tr.Events(), 100)
	require.NoError(t, err)
	slices.SortStableFunc(want, func(a, b format.Event) int {
		if a.Start != b.Start {
			return int(min(max(a.Start-b.Start, -1), 1))
		}
		return int(a.TID - b.TID)
	})
	for i := range want {
		e := want[i].Clone()
		e.Notes = nil
		require.Equal(t, e, got[i], i)
	}
	require.Len(t, got, len(want))

	waits, err := tr.Waits(2)
	require.NoError(t, err)
	i := 0
	for n := range threads[1] {
		for _, edge := range threads[1][n].Edges {
			require.Equal(t, format.Wait{Event: int64(n), For: edge}, waits[i])
			i++
		}
	}
	require.Len(t, waits, i)
}

func TestStringsAreNumberedByFirstUse(t *testing.T) {
	open := func(thread int32, path string) format.Event {
		return format.Event{Op: format.OpOpen, TID: thread, Str: [format.MaxStrings][]byte{[]byte(path)}}
	}
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1}}}
	tr := opened(t, compiled(t, h, []format.Event{open(2, "x"), open(2, "shared"), open(1, "a"), open(1, "shared")}))
	require.Equal(t, []string{"a", "shared", "x"}, tr.Strings())
}

func TestHeader(t *testing.T) {
	h := &format.Header{
		Meta:        []format.Meta{{Key: format.MetaCommand, Value: "./app --n 10"}},
		Threads:     []format.Thread{{Process: 1}, {Process: 2, Parent: 1, Start: 42}},
		Descriptors: []format.Descriptor{{Process: 1, FD: 3, Flags: format.RDWR, Offset: 7, Path: "log"}},
		Files: []format.File{
			{Path: "dir", Type: format.TypeDir, Mode: 0o755, Cached: -1},
			{Path: "dir/\x00\n\"", Type: format.TypeReg, Mode: 0o600, Size: 1 << 40, Cached: 12, Sparse: true},
		},
	}
	require.Equal(t, h, opened(t, compiled(t, h, nil)).Header())
}

func TestEmptyTrace(t *testing.T) {
	tr := opened(t, compiled(t, &format.Header{}, nil))
	require.Equal(t, &format.Header{Threads: []format.Thread{{Process: 1}}}, tr.Header())
	require.Empty(t, tr.Strings())
	for _, thread := range []int32{-1, 0, 1, 2} {
		require.Zero(t, tr.Len(thread))
		_, err := tr.Records(thread).Read(make([]format.Record, 1))
		require.Equal(t, io.EOF, err)
		_, err = tr.Durations(thread).Read(make([]int64, 1))
		require.Equal(t, io.EOF, err)
		waits, err := tr.Waits(thread)
		require.NoError(t, err)
		require.Empty(t, waits)
	}
	_, err := tr.Events().Read(make([]format.Event, 1))
	require.Equal(t, io.EOF, err)
}

// The structure of the bytes. Lengths and checksums may change with the
// compressor; any other change is a new version of the format.
func TestStructure(t *testing.T) {
	h, threads := orchestra(40)
	file := compiled(t, h, slices.Concat(threads...))
	f, err := readFixed(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	tr := &Trace{loader: newLoader(bytes.NewReader(file), DefaultLimit)}
	parts, err := tr.readIndex(f)
	require.NoError(t, err)

	var b strings.Builder
	fmt.Fprintf(&b, "header % x\n", file[:headerSize])
	for _, p := range append(parts, f.index) {
		width := indexWidth
		if p.kind != kindIndex {
			width = kinds[p.kind].width
		}
		fmt.Fprintf(&b, "%5d %q flags %d, thread %d, %3d bytes, count %3d, crc %08x\n", p.offset, p.tag, p.flags, p.thread, p.length, p.count, p.crc)
		if width == 0 {
			continue
		}
		var frame frame
		require.NoError(t, frame.load(&tr.loader, &p, width))
		for i, w := range frame.words[:frame.width] {
			fmt.Fprintf(&b, "      word %d delta=%-5t planes=%08b base=%#x start=%d\n", i, w.delta, w.mask, w.base, int64(w.sum))
		}
	}
	testkit.Golden(t, "structure.txt", []byte(b.String()))
}

func TestReadersAllocateNothingPerRecord(t *testing.T) {
	tr := opened(t, compiled(t, &format.Header{}, mixed(10*rowsPerPart)))
	records, durations, events := tr.Records(1), tr.Durations(1), tr.Events()
	rec, dur, ev := make([]format.Record, 256), make([]int64, 256), make([]format.Event, 256)
	for range 3 * rowsPerPart / 256 { // buffers grow
		_, err := records.Read(rec)
		require.NoError(t, err)
		_, err = durations.Read(dur)
		require.NoError(t, err)
		_, err = events.Read(ev)
		require.NoError(t, err)
	}
	// None of the 768 reads of a run may allocate. The pools of the decompressor can
	// miss sometimes.
	require.Less(t, testing.AllocsPerRun(100, func() {
		records.Read(rec)
		durations.Read(dur)
		events.Read(ev)
	}), 10.0)
}

func TestManyReadersAtOnce(t *testing.T) {
	h, threads := orchestra(2 * rowsPerPart)
	tr := opened(t, compiled(t, h, slices.Concat(threads...)))
	before := tr.loader.budget.used.Load()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			thread := int32(i%5 + 1)
			n, batch := int64(0), make([]format.Record, 100)
			for r := tr.Records(thread); ; {
				k, err := r.Read(batch)
				if err != nil {
					break
				}
				n += int64(k)
			}
			if n != tr.Len(thread) {
				t.Errorf("%d records of thread %d, not %d", n, thread, tr.Len(thread))
			}
			if _, err := every(tr.Events(), 64); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Equal(t, before, tr.loader.budget.used.Load(), "readers that have ended give their memory back")
}

func TestManyThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many threads")
	}
	const threads, each = 100_000, 4
	h := &format.Header{}
	for i := range int32(threads) {
		h.Threads = append(h.Threads, format.Thread{Process: 1, Parent: min(i, 1), Start: int64(i)})
	}
	var out bytes.Buffer
	w := NewWriter(&out, new(testkit.Spool))
	w.maxHeld = 1 << 20
	events := make([]format.Event, threads)
	for range each {
		for i := range events {
			events[i] = format.Event{Op: format.OpFsync, TID: int32(i + 1), Compute: 10, Dur: 5}
		}
		require.NoError(t, w.Write(events))
		require.LessOrEqual(t, w.held, w.maxHeld+64)
	}
	require.NoError(t, w.Close(h))
	tr := opened(t, out.Bytes())
	n := 0
	for r, batch := tr.Events(), make([]format.Event, 1024); ; {
		k, err := r.Read(batch)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		n += k
	}
	require.Equal(t, threads*each, n)
}

func TestIsTrace(t *testing.T) {
	file := compiled(t, &format.Header{}, nil)
	require.True(t, IsTrace(file))
	require.True(t, IsTrace(file[:8]))
	require.False(t, IsTrace(file[:7]))
	require.False(t, IsTrace([]byte("# pianola script 1\n")))
}
