package format

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// batches is a Reader that gives one batch by each call, and then err.
type batches struct {
	header Header
	rest   [][]Event
	err    error
}

func (b *batches) Header() *Header { return &b.header }

func (b *batches) Read(events []Event) (int, error) {
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(events, b.rest[0])
	b.rest = b.rest[1:]
	return n, nil
}

func TestCausal(t *testing.T) {
	one := func(tid int32) Event { return Event{Op: OpRead, TID: tid} }
	clone := func(tid int32, child int64) Event { return Event{Op: OpClone, TID: tid, Ret: child} }
	exit := func(tid int32) Event { return Event{Op: OpExit, TID: tid, Ret: NoResult} }
	broken := errors.New("broken")
	for _, test := range []struct {
		name    string
		header  Header
		events  [][]Event
		err     error
		want    []int32
		orphans int
	}{
		{name: "in order", events: [][]Event{{one(1), clone(1, 2), one(2), one(1)}}, want: []int32{1, 1, 2, 1}},
		{name: "the child is ahead", events: [][]Event{{one(1), one(2), one(2)}, {clone(1, 2), one(1), one(2)}}, want: []int32{1, 1, 2, 2, 1, 2}},
		{name: "its child too", events: [][]Event{{one(1), one(3), clone(2, 3), one(2), clone(1, 2), one(1)}}, want: []int32{1, 1, 2, 3, 2, 1}},
		{name: "others keep their order", events: [][]Event{{one(1), clone(1, 2), one(3), one(2), one(3), clone(1, 3), one(2)}}, want: []int32{1, 1, 1, 3, 2, 3, 2}},
		{name: "two at a time", events: [][]Event{{one(1), clone(1, 2), one(3), one(4), clone(2, 4), one(4), clone(1, 3)}}, want: []int32{1, 1, 1, 3, 2, 4, 4}},
		{name: "not by a thread that was elsewhere", events: [][]Event{{one(1), one(2), one(1), clone(1, 2)}}, want: []int32{1, 1, 1, 2}},
		{name: "itself", events: [][]Event{{one(1), clone(2, 2)}}, want: []int32{1, 2}, orphans: 1},
		{name: "one another", events: [][]Event{{one(1), clone(2, 3), clone(3, 2)}}, want: []int32{1, 2, 3}, orphans: 2},
		{name: "never made", events: [][]Event{{one(1), one(9), one(1)}}, want: []int32{1, 1, 9}, orphans: 1},
		{name: "ran before", header: Header{Meta: []Meta{{MetaProcess, "7 threads=7,9"}}}, events: [][]Event{{one(9), one(7)}}, want: []int32{9, 7}},
		{name: "a thread table", header: Header{Threads: []Thread{{Process: 1}, {Process: 2}, {Process: 1, Parent: 1}}},
			events: [][]Event{{one(2), one(3), clone(1, 3)}}, want: []int32{2, 1, 3}},
		{name: "the creation is late", events: [][]Event{{one(1), clone(2, 3), one(3), one(2), one(3), {Op: OpRead, TID: 1, Start: 5e9}, clone(1, 2), one(1)}},
			want: []int32{1, 1, 1, 2, 3, 2, 3, 1}},
		{name: "an id again", events: [][]Event{{one(1), clone(1, 2), exit(2), one(2), clone(1, 2)}}, want: []int32{1, 1, 2, 1, 2}},
		{name: "ids that end again and again", events: [][]Event{{one(1), exit(2), exit(2), one(2), exit(2), exit(2), one(1)}}, want: []int32{1, 1, 2, 2, 2, 2, 2}, orphans: 4},
		{name: "exec takes over the id", events: [][]Event{{one(1), clone(1, 2), {Op: OpExecve, TID: 1, Notes: &Notes{Has: NotedWas, Was: 2}}, one(1)}}, want: []int32{1, 1, 1, 1}},
		{name: "an operation of the future", events: [][]Event{{one(1), {Op: Op(NumOps), TID: 5}}}, want: []int32{1, 5}},
		{name: "an error", events: [][]Event{{one(1), one(2)}}, err: broken, want: []int32{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.err == nil {
				test.err = io.EOF
			}
			c := NewCausal(&batches{test.header, test.events, test.err})
			var got []int32
			for {
				e, err := c.Next()
				if err != nil {
					require.Equal(t, test.err, err)
					break
				}
				got = append(got, e.TID)
			}
			require.Equal(t, test.want, got)
			require.Equal(t, test.orphans, c.Orphans)
		})
	}
}

// A thread that ends at each event is held back again at each. That copies nothing: else
// this takes a gigabyte.
func TestCausalHoldsInPlace(t *testing.T) {
	events := []Event{{Op: OpRead, TID: 1}}
	for range 2000 {
		events = append(events, Event{Op: OpExit, TID: 2, Ret: NoResult})
	}
	c := NewCausal(&batches{rest: [][]Event{events[:500], events[500:1000], events[1000:1500], events[1500:]}, err: io.EOF})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for {
		_, err := c.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		n++
	}
	runtime.ReadMemStats(&after)
	require.Equal(t, len(events), n)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50<<20))
}

// Threads whose creation never comes keep the order of their events where too many have been
// held back.
func TestCausalOfManyOrphans(t *testing.T) {
	events := []Event{{Op: OpRead, TID: 1}}
	for i := range maxHeld + 100 {
		events = append(events, Event{Op: OpRead, TID: 2 + int32(i%2), Start: int64(i)})
	}
	c := NewCausal(&batches{rest: [][]Event{events}, err: io.EOF})
	c.batch = make([]Event, len(events))
	last, n := map[int32]int64{}, 0
	for ; ; n++ {
		e, err := c.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.GreaterOrEqual(t, e.Start, last[e.TID])
		last[e.TID] = e.Start
	}
	require.Equal(t, len(events), n)
	require.Equal(t, 2, c.Orphans)
}

// A process that enters a recording later is admitted from then on.
func TestCausalNewcomer(t *testing.T) {
	enters := Entry(&Header{Meta: []Meta{{MetaProcess, "7 threads=7,9"}}}, 0)
	c := NewCausal(&batches{rest: [][]Event{{{Op: OpRead, TID: 1}, enters}, {{Op: OpRead, TID: 9}, {Op: OpRead, TID: 1}, {Op: OpRead, TID: 7}}}, err: io.EOF})
	var got []int32
	for {
		e, err := c.Next()
		if err != nil {
			break
		}
		got = append(got, e.TID)
	}
	require.Equal(t, []int32{1, 7, 9, 1, 7}, got)
	require.Zero(t, c.Orphans)
}

func TestRunning(t *testing.T) {
	h := Header{Meta: []Meta{
		{MetaProcess, `12 parent=1 threads=12,13 cwd="/a b" root="/" umask=027 command="/bin/x"`},
		{MetaProcess, "14"},
		{MetaProcess, "no number"},
		{MetaProcess, "-3 threads=4"},
		{MetaCommand, "15"},
	}}
	require.Equal(t, []Running{
		{Process: 12, Threads: []int32{12, 13}, Cwd: "/a b", Root: "/", Umask: 0o27, Command: "/bin/x"},
		{Process: 14, Threads: []int32{14}, Umask: -1},
	}, h.Running())
}

func TestCausalReader(t *testing.T) {
	source := &batches{rest: [][]Event{{{Op: OpRead, TID: 1}, {Op: OpRead, TID: 2}, {Op: OpClone, TID: 1, Ret: 2}}}, err: io.EOF}
	r := NewCausalReader(source)
	require.Same(t, &source.header, r.Header())
	n, err := r.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
	var got []int32
	batch := make([]Event, 4)
	for {
		n, err := r.Read(batch)
		for _, e := range batch[:n] {
			got = append(got, e.TID)
		}
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	require.Equal(t, []int32{1, 1, 2}, got)
	_, err = r.Read(batch)
	require.ErrorIs(t, err, io.EOF, "again")

	broken := errors.New("broken")
	_, err = NewCausalReader(&batches{err: broken}).Read(batch)
	require.ErrorIs(t, err, broken)
}
