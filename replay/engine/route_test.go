package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// route lets several executors play the events of each thread, by operation.
type route struct {
	to func(op format.Op) int // which of all
	of []Executor
}

func (x *route) Operations() *[format.NumOps]Operation {
	var all [format.NumOps]Operation
	for op := range all {
		all[op] = x.of[x.to(format.Op(op))].Operations()[op]
	}
	return &all
}

func (x *route) Player(w *Worker) (Player, error) {
	p := &routed{route: x}
	for _, to := range x.of {
		one, err := to.Player(w)
		if err != nil {
			return nil, err
		}
		p.all = append(p.all, one)
	}
	p.Player = p.all[0] // has the slots and the memory
	return p, nil
}

func (x *route) NewSlotState(s *Slot, kind int) SlotState { return x.of[0].NewSlotState(s, kind) }

type routed struct {
	Player
	*route
	all []Player
}

func (p *routed) Play(r *format.Record) int64 { return p.all[p.to(r.Op)].Play(r) }

// Two executors play the events of the same threads, which keep their order.
func TestRoute(t *testing.T) {
	of := &trace{}
	first := of.thread(format.Thread{Process: 1}, format.OpRmdir, 100)
	second := of.thread(format.Thread{Process: 1}, format.OpMkdir, 100)
	for i := range int64(100) {
		of.waits[second-1] = append(of.waits[second-1], format.Wait{Event: i, For: format.Edge{Thread: first, Event: i}})
	}
	var played []format.Op
	record := func(op format.Op) scripted {
		return scripted{func(w *Worker, r *format.Record) int64 {
			played = append(played, op) // edges order all that two threads do
			return r.Ret
		}}
	}
	for i := range int64(99) {
		of.waits[first-1] = append(of.waits[first-1], format.Wait{Event: i + 1, For: format.Edge{Thread: second, Event: i}})
	}
	x := &route{func(op format.Op) int {
		if op == format.OpMkdir {
			return 1
		}
		return 0
	}, []Executor{record(format.OpRmdir), record(format.OpMkdir)}}
	e := NewStage(NewClock(nil)).NewEngine("", of, of, options)
	require.NoError(t, e.Build(t.Context(), x))
	require.NoError(t, e.Play(t.Context()))
	require.Len(t, played, 200)
	for i, op := range played {
		require.Equal(t, []format.Op{format.OpRmdir, format.OpMkdir}[i%2], op)
	}
	c := e.Count()
	require.EqualValues(t, 100, c.ByOp[format.OpMkdir].Executed)
	require.False(t, c.Interrupted)
}
