// Package program executes events by a Player of another program or package.
package program

import (
	"fmt"

	"pianola/format"
	"pianola/replay/engine"
)

// Player executes the events of one trace.
type Player interface {
	// Play executes an event of a thread, counted from 1, and returns its
	// result or -errno. A successful opening call can return any number: events
	// have the descriptors of the recording. The worker of the thread calls it,
	// so calls of several threads are concurrent. It may block. An error ends
	// the run.
	Play(thread int32, r *format.Record) (int64, error)

	// Close ends the Player. It is not called during a call of Play.
	Close() error
}

// Executor is an engine.Executor whose Player plays all events. Requests of rings are
// played one by one.
type Executor struct {
	to     Player
	engine *engine.Engine
}

// New returns an executor for the trace of an engine.
func New(e *engine.Engine, to Player) *Executor { return &Executor{to, e} }

// Operations implements engine.Executor.
func (x *Executor) Operations() *[format.NumOps]engine.Operation { return &engine.All }

// NewSlotState implements engine.Executor.
func (x *Executor) NewSlotState(*engine.Slot, int) engine.SlotState { return nil }

// Player implements engine.Executor.
func (x *Executor) Player(w *engine.Worker) (engine.Player, error) {
	return &player{executor: x, worker: w}, nil
}

type player struct {
	engine.Stateless
	executor *Executor
	worker   *engine.Worker
}

// Play implements engine.Player. The worker is not pinned during the Player's call, because
// that may wait in Go.
func (p *player) Play(r *format.Record) int64 {
	w := p.worker
	if r.Op.Info().Acts.Any(format.Submits) {
		w.Submit(r)
		return r.Ret
	}
	w.Unpin()
	got, err := p.executor.to.Play(w.Number, r)
	if err != nil {
		err = fmt.Errorf("event %d of thread %d: %w", w.Event, w.Number, err)
	}
	w.Pin()
	switch {
	case err != nil:
		p.executor.engine.Fail(err)
		return r.Ret
	case got >= 0 && r.Ret >= 0 && r.Op.Info().Result == format.ResultFD:
		return r.Ret // the log has the recording's descriptors
	}
	return got
}
