package engine

import (
	"math"

	"pianola/format"
	"pianola/format/filter"
)

// Unplayed is the result of an event that Options.Only leaves out.
const Unplayed = math.MinInt64 + 1

// narrow has the engine play the events of Options.Only. With compute between the events, the
// others take their recorded time, so that those after them are due when they would be. Threads
// commit in the recorded groups.
func (e *Engine) narrow(x Executor) Executor {
	if e.Commits = Recorded; e.Timing == Compute {
		e.Model, e.Options.Recorded = unplayedTime{}, true
	}
	return narrowed{x, e.Only}
}

// narrowed is an executor that plays some events only.
type narrowed struct {
	Executor
	only filter.Selection
}

// Player implements Executor.
func (x narrowed) Player(w *Worker) (Player, error) {
	p, err := x.Executor.Player(w)
	return &narrowedPlayer{p, w, x.only}, err
}

type narrowedPlayer struct {
	Player
	worker *Worker
	only   filter.Selection
}

func (p *narrowedPlayer) plays() bool { return p.only.Has(p.worker.Number, p.worker.Event) }

// Prepare implements Player.
func (p *narrowedPlayer) Prepare(r *format.Record) bool { return p.plays() && p.Player.Prepare(r) }

// Play implements Player.
func (p *narrowedPlayer) Play(r *format.Record) int64 {
	if !p.plays() {
		return Unplayed
	}
	return p.Player.Play(r)
}

// unplayedTime is a model by which events that are not played take as long as recorded.
type unplayedTime struct{}

// Covers implements Model.
func (unplayedTime) Covers(format.Op) bool { return true }

// Until implements Model.
func (unplayedTime) Until(_ int32, _ int64, _ format.Op, result, begin, took int64) int64 {
	if result == Unplayed {
		return begin + took
	}
	return begin
}
