package replay

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/internal/testkit"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

// roll is a compiled trace in memory.
type roll struct {
	header  format.Header
	strings []string
	threads []part
}

type part struct {
	records   []format.Record
	durations []int64
	waits     []format.Wait
	ways      []format.Way
	lists     map[int64]*format.List // by the event
}

func (t *roll) Header() *format.Header                    { return &t.header }
func (t *roll) Strings() []string                         { return t.strings }
func (t *roll) Len(thread int32) int64                    { return int64(len(t.threads[thread-1].records)) }
func (t *roll) Waits(thread int32) ([]format.Wait, error) { return t.threads[thread-1].waits, nil }
func (t *roll) Records(thread int32) format.RecordReader {
	return &recordReader{t.threads[thread-1].records}
}
func (t *roll) Durations(thread int32) format.DurationReader {
	return &durationReader{t.threads[thread-1].durations}
}

func (t *roll) Ways(thread int32) format.WayReader { return &wayReader{t.threads[thread-1].ways} }

func (t *roll) Lists(thread int32) format.ListReader { return listReader(t.threads[thread-1].lists) }

type listReader map[int64]*format.List

func (r listReader) Read(event int64, _ *format.Record) (*format.List, error) { return r[event], nil }

type wayReader struct{ left []format.Way }

func (r *wayReader) Read(batch []format.Way) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

type recordReader struct{ left []format.Record }

func (r *recordReader) Read(batch []format.Record) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

type durationReader struct{ left []int64 }

func (r *durationReader) Read(batch []int64) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

// newRoll returns a trace of so many threads of one process, there from the
// start.
func newRoll(threads int) *roll {
	t := &roll{threads: make([]part, threads)}
	for range threads {
		t.header.Threads = append(t.header.Threads, format.Thread{Process: 1})
	}
	return t
}

// child adds a thread that another creates.
func (t *roll) child(process, parent int32) int32 {
	t.header.Threads = append(t.header.Threads, format.Thread{Process: process, Parent: parent})
	t.threads = append(t.threads, part{})
	return int32(len(t.threads))
}

// str returns the number of a string.
func (t *roll) str(s string) int64 {
	for i, have := range t.strings {
		if have == s {
			return int64(i)
		}
	}
	t.strings = append(t.strings, s)
	return int64(len(t.strings) - 1)
}

// add adds an event and returns its position. Arguments are numbers, or
// strings for those that are.
func (t *roll) add(thread int32, op format.Op, ret int64, args ...any) int64 {
	r := format.Record{Op: op, Ret: ret}
	p := &t.threads[thread-1]
	for i, a := range args {
		switch v := a.(type) {
		case string:
			if i == int(op.Info().At.List) {
				p.list(v)
				continue
			}
			r.Args[i] = t.str(v)
		case int:
			r.Args[i] = int64(v)
		default:
			panic("argument of another type")
		}
	}
	p.records = append(p.records, r)
	p.durations = append(p.durations, format.Unknown)
	return int64(len(p.records) - 1)
}

// list gives the next event a list, as far as the text is one.
func (p *part) list(text string) {
	if p.lists == nil {
		p.lists = make(map[int64]*format.List)
	}
	l, _, _ := format.ParseList([]byte(text), nil)
	p.lists[int64(len(p.records))] = &l
}

// last is the thread's youngest record.
func (t *roll) last(thread int32) *format.Record {
	p := &t.threads[thread-1]
	return &p.records[len(p.records)-1]
}

// wait makes the thread's next event wait for an event of another.
func (t *roll) wait(thread, other int32, event int64) {
	p := &t.threads[thread-1]
	p.waits = append(p.waits, format.Wait{Event: int64(len(p.records)), For: format.Edge{Thread: other, Event: event}})
}

func (t *roll) file(f format.File) { t.header.Files = append(t.header.Files, f) }

// eachBinding runs a test in both ways to keep a thread in its root.
func eachBinding(t *testing.T, test func(t *testing.T, bind func(*sandbox.Guard) error)) {
	roottest.EachBinding(t, func(t *testing.T, jail bool) {
		test(t, func(g *sandbox.Guard) error { return g.Enter(jail) })
	})
}

// byOpenat2 is the way that takes no rights.
func byOpenat2(g *sandbox.Guard) error { return g.Enter(false) }

// play replays as fast as possible in a new root, wants no error, and returns
// the root, which is kept, and the result.
func play(t *testing.T, r *roll, bind func(*sandbox.Guard) error) (string, *Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	res, err := run(context.Background(), r, Options{Root: dir, Timing: AFAP, Keep: true}, bind)
	require.NoError(t, err)
	return dir, res
}

// faultless wants every event to have had the recorded result.
func faultless(t *testing.T, r *roll, res *Result) {
	t.Helper()
	require.Empty(t, res.Differences)
	require.Zero(t, res.Differed)
	var want int64
	for i := range r.threads {
		want += r.Len(int32(i + 1))
	}
	require.Equal(t, want, res.Executed)
	require.False(t, res.Interrupted)
}

// readAll returns all events of a log.
func readAll(t testing.TB, r format.Reader) []format.Event {
	t.Helper()
	all, err := testkit.ReadAll(r, 7)
	require.NoError(t, err)
	return all
}

// bare returns an executor of no trace, which is not built.
func bare(o Options) *executor {
	s := engine.NewStage(engine.NewClock(nil))
	return newExecutor(s, s.NewEngine("", nil, nil, engine.Options{}), o)
}
