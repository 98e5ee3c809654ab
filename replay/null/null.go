// Package null executes nothing: each event has its recorded result at once. It shows the
// cost of a replay without its calls.
package null

import (
	"pianola/format"
	"pianola/replay/engine"
)

// Executor is an engine.Executor for any trace.
type Executor struct{}

// Operations implements engine.Executor.
func (Executor) Operations() *[format.NumOps]engine.Operation { return &engine.All }

// NewSlotState implements engine.Executor.
func (Executor) NewSlotState(*engine.Slot, int) engine.SlotState { return nil }

// Player implements engine.Executor.
func (Executor) Player(w *engine.Worker) (engine.Player, error) { return &player{worker: w}, nil }

type player struct {
	engine.Stateless
	worker *engine.Worker
}

// Play implements engine.Player.
func (p *player) Play(r *format.Record) int64 {
	if r.Op == format.OpRingSubmit {
		p.worker.Submit(r)
	}
	return r.Ret
}
