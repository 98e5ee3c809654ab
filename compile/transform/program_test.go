package transform

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"pianola/format"
	"pianola/internal/testkit"
)

// program makes random programs, and records what their calls do.
type program struct {
	*machine
	rng     *rand.Rand
	notes   bool // the recorder notes what it knows of files
	direct  bool // files are opened with O_DIRECT, too
	steady  bool // a name is always that of one file
	plain   bool // no call has several buffers
	clock   int64
	events  []format.Event
	streams map[*open]int64 // where the next buffer of a description lies
	threads []int32
}

// recorded returns the recording of a random program: a few threads, of which
// one is a process of its own, and what they do to a few files.
func recorded(t *testing.T, seed uint64, aligned bool) (events []format.Event, after *machine) {
	p := newProgram(t, seed)
	p.notes = p.rng.IntN(3) > 0
	p.aligned, p.direct = aligned, p.rng.IntN(3) == 0
	return p.run()
}

// steadily does the same of a program in which a name is always that of one file.
func steadily(t *testing.T, seed uint64, plain bool) (events []format.Event, after *machine) {
	p := newProgram(t, seed)
	p.notes, p.steady, p.plain = true, true, plain
	return p.run()
}

func newProgram(t *testing.T, seed uint64) *program {
	return &program{machine: newMachine(t), rng: newRand(seed), streams: map[*open]int64{}, threads: []int32{1}}
}

func (p *program) run() (events []format.Event, after *machine) {
	p.populate("")
	for range 60 + p.rng.IntN(200) {
		p.step()
	}
	for _, tid := range p.threads[1:] {
		p.record(format.Event{Op: format.OpExitGroup, TID: tid})
		if p.of[tid] == p.of[1] {
			break // the group is gone
		}
	}
	return p.events, p.machine
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// record does what an event says and keeps it.
func (p *program) record(e format.Event) int64 {
	fresh := e.Op == format.OpOpenat && e.Args[2]&format.CREAT != 0 && p.look(string(e.Str[0])) == "no such file or directory"
	p.clock += p.rng.Int64N(20_000)
	e.Start, e.Dur = p.clock, p.rng.Int64N(5000)
	if p.rng.IntN(50) == 0 {
		e.Dur = format.Unknown
	}
	e.Ret = p.do(&e)
	if e.Op == format.OpOpenat && e.Ret >= 0 && p.notes {
		e.Notes = p.noted(&e, fresh)
	}
	p.clock = e.End()
	p.events = append(p.events, e)
	return e.Ret
}

func (p *program) pick(from []int64) int64 { return from[p.rng.IntN(len(from))] }

// step makes one call, or a few of the kind that transforms look for.
func (p *program) step() {
	tid := p.threads[p.rng.IntN(len(p.threads))]
	e := format.Event{TID: tid}
	var fds []int64
	for fd := int64(3); fd < 20; fd++ {
		if p.table(&e)[fd] != nil {
			fds = append(fds, fd)
		}
	}
	name := func() []byte { return []byte(fileNames[p.rng.IntN(len(fileNames))]) }
	if len(fds) == 0 || p.rng.IntN(12) == 0 && len(fds) < 8 {
		flags := p.pick([]int64{format.RDONLY, format.WRONLY, format.RDWR, format.RDWR, format.RDWR})
		for _, extra := range []int64{format.CREAT, format.CREAT, format.APPEND, format.TRUNC, format.SYNC} {
			if p.rng.IntN(5) == 0 {
				flags |= extra
			}
		}
		if p.direct && flags&format.APPEND == 0 && p.rng.IntN(3) == 0 {
			flags |= format.DIRECT
		}
		e.Op, e.Str[0] = format.OpOpenat, name()
		e.Args = [format.MaxArgs]int64{format.AtFDCWD, 0, flags, 0o644}
		p.record(e)
		return
	}
	fd := p.pick(fds)
	size := p.pick([]int64{1, 4, 8, 100, 100, 512, 4000, 4096, 10000})
	off := p.pick([]int64{0, 1, 100, 4096, 8192, 9000, 20000, p.rng.Int64N(40000)})
	switch k := p.rng.IntN(100); {
	case k < 30: // several in turn
		op := []format.Op{format.OpRead, format.OpWrite, format.OpWrite, format.OpPread64, format.OpPwrite64, format.OpPreadv2, format.OpPwritev2}[p.rng.IntN(7)]
		for range 1 + p.rng.IntN(8) {
			n := p.transfer(tid, op, fd, size, off)
			if n < 0 {
				return
			}
			off += n
			if p.rng.IntN(4) == 0 {
				size = p.pick([]int64{1, 8, 100, 4096})
			}
		}
	case k < 50:
		p.transfer(tid, []format.Op{format.OpRead, format.OpWrite, format.OpPread64, format.OpPwrite64, format.OpReadv, format.OpWritev, format.OpPreadv, format.OpPwritev, format.OpPreadv2, format.OpPwritev2}[p.rng.IntN(10)], fd, size, off)
	case k < 60:
		e.Op, e.Args = format.OpLseek, [format.MaxArgs]int64{fd, off, format.SeekSet}
		switch p.rng.IntN(3) {
		case 0:
			e.Args[1], e.Args[2] = p.pick([]int64{0, 0, 0, 50}), format.SeekCur
		case 1:
			e.Args[1], e.Args[2] = 0, format.SeekEnd
		}
		p.record(e)
	case k < 64:
		e.Op, e.Args = format.OpFtruncate, [format.MaxArgs]int64{fd, off}
		p.record(e)
	case k < 66:
		e.Op, e.Args, e.Str[0] = format.OpTruncate, [format.MaxArgs]int64{1: off}, name()
		p.record(e)
	case k < 70:
		e.Op, e.Args = []format.Op{format.OpFsync, format.OpFdatasync, format.OpSync, format.OpFstat}[p.rng.IntN(4)], [format.MaxArgs]int64{fd}
		p.record(e)
	case k < 76:
		e.Op, e.Args = format.OpClose, [format.MaxArgs]int64{fd}
		p.record(e)
	case k < 79:
		e.Op, e.Args = format.OpDup, [format.MaxArgs]int64{fd}
		p.record(e)
	case k < 81:
		e.Op, e.Args = []format.Op{format.OpDup2, format.OpDup3}[p.rng.IntN(2)], [format.MaxArgs]int64{fd, 3 + p.rng.Int64N(8)}
		p.record(e)
	case k < 86 && p.steady:
		e.Op, e.Args = format.OpFstat, [format.MaxArgs]int64{fd}
		p.record(e)
	case k < 84:
		e.Op, e.Str = format.OpRename, [format.MaxStrings][]byte{name(), name()}
		p.record(e)
	case k < 86:
		e.Op, e.Str = format.OpLink, [format.MaxStrings][]byte{name(), name()}
		p.record(e)
	case k < 89:
		e.Op, e.Str[0] = format.OpUnlink, name()
		p.record(e)
	case k < 92:
		e.Op, e.Str[0] = format.OpStat, name()
		p.record(e)
	case k < 94:
		e.Op, e.Args = format.OpFallocate, [format.MaxArgs]int64{fd, 0, off, size}
		p.record(e)
	case k < 97:
		e.Op, e.Args = format.OpCopyFileRange, [format.MaxArgs]int64{fd, -1, p.pick(fds), -1, size}
		if from := p.pick(fds); p.table(&e)[from] != p.table(&e)[fd] { // which share their offset
			e.Op, e.Args = format.OpSendfile, [format.MaxArgs]int64{fd, from, -1, size}
		}
		if !p.refuses(&e) {
			p.record(e)
		}
	case k < 98:
		e.Op, e.Args = format.OpFadvise64, [format.MaxArgs]int64{fd, off, size, p.rng.Int64N(6)}
		if p.rng.IntN(4) == 0 {
			e.Op, e.Args = format.OpCloseRange, [format.MaxArgs]int64{fd, fd + p.rng.Int64N(3)}
		}
		p.record(e)
	case len(p.threads) < 4:
		e.Op, e.Args[0] = format.OpClone, p.pick([]int64{0, format.CloneThread | format.CloneFiles | format.CloneFS})
		p.threads = append(p.threads, int32(p.record(e)))
	}
}

// transfer reads or writes. The buffers of a description lie one behind the
// other, so that what becomes one call still has one buffer.
func (p *program) transfer(tid int32, op format.Op, fd, size, off int64) int64 {
	if at := &op.Info().At; p.plain && at.Vector >= 0 {
		op = format.Transfer(op.Info().Class, at.Offset >= 0, false)
	}
	e := format.Event{TID: tid, Op: op}
	o := p.table(&e)[fd]
	if p.streams[o] == 0 {
		p.streams[o] = int64(len(p.streams)+1) << 32
	}
	buf := p.streams[o]
	if o.direct {
		size, off = (size+alignment-1)&^(alignment-1), off&^(alignment-1)
		if op.Info().At.Vector >= 0 {
			buf += 40 // a vector has any address
		}
	}
	switch op {
	case format.OpReadv, format.OpWritev:
		e.Args = [format.MaxArgs]int64{fd, buf, 2, size}
	case format.OpPreadv, format.OpPwritev:
		e.Args = [format.MaxArgs]int64{fd, buf, 2, off, size}
	case format.OpPreadv2, format.OpPwritev2:
		e.Args = [format.MaxArgs]int64{fd, buf, 2, off, size}
		switch p.rng.IntN(4) {
		case 0, 1:
			e.Args[3] = -1
		case 2:
			e.Args[5] = format.RwfDsync
		}
	default:
		e.Args = [format.MaxArgs]int64{fd, buf, size, off}
	}
	if op == format.OpRead || op == format.OpWrite {
		e.Args[3] = 0
	}
	if p.refuses(&e) {
		return -1
	}
	n := p.record(e)
	if e.Op.Info().Class == format.ClassWrite && n > 0 {
		p.streams[o] += n
	}
	return n
}

// memoryReader reads events from memory, a few at a time. The next call overwrites the
// events that it returned.
type memoryReader struct {
	events []format.Event
	header format.Header
	batch  int
	lent   []format.Event
}

func (r *memoryReader) Read(events []format.Event) (int, error) {
	for _, e := range r.lent {
		for _, s := range [][]byte{e.Str[0], e.Str[1]} {
			copy(s, bytes.Repeat([]byte{'?'}, len(s)))
		}
		if e.Notes != nil {
			*e.Notes = format.Notes{}
		}
	}
	r.lent = r.lent[:0]
	if len(r.events) == 0 {
		return 0, io.EOF
	}
	n := min(len(r.events), len(events), max(r.batch, 1))
	for i := range n {
		events[i] = r.events[i].Clone()
		r.lent = append(r.lent, events[i])
	}
	r.events = r.events[n:]
	return n, nil
}

func (r *memoryReader) Header() *format.Header { return &r.header }

// transformed returns what transforms make of a recording.
func transformed(t testing.TB, h format.Header, events []format.Event, with ...string) ([]format.Event, *format.Header) {
	out, header, err := tryTransforms(h, events, with...)
	if err != nil {
		t.Fatal(err)
	}
	return out, header
}

func tryTransforms(h format.Header, events []format.Event, with ...string) (out []format.Event, header *format.Header, err error) {
	var funcs []Func
	for _, text := range with {
		f, err := Builtin().Parse(text)
		if err != nil {
			return nil, nil, err
		}
		funcs = append(funcs, f)
	}
	c := NewChain(func() (format.Reader, error) { return &memoryReader{events: events, header: h, batch: 7}, nil }, funcs...)
	r, err := c.Open()
	if err != nil {
		return nil, nil, err
	}
	if out, err = testkit.ReadAll(r, 10); err != nil {
		c.Close()
		return out, nil, err
	}
	return out, r.Header(), c.Close()
}
