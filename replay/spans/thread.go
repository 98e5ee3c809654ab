package spans

import (
	"cmp"
	"fmt"
	"time"

	"pianola/format"
	"pianola/format/layer"
	"pianola/format/script"
	"pianola/internal/plugin"
	"pianola/internal/stats"
	"pianola/replay/engine"
)

// thread is a recorded thread.
type thread struct {
	r       *Replay
	number  int32
	process int32
	queue   chan *item

	outer []outer // its spans that are played
	waits []format.Wait

	// For survey, order and dispatch.
	spans int64 // of the layer that were read
	next  int   // of outer
	end   int64 // of the span that was dispatched last, in the recording

	items  []*item // that were read and not played
	opened bool
}

// player plays the spans of a thread. It implements engine.Player.
type player struct {
	engine.Stateless
	*thread
	worker *engine.Worker
	to     Player
}

// executor lets players play spans. It implements engine.Executor.
type executor struct{ *Replay }

// Operations implements engine.Executor.
func (x executor) Operations() *[format.NumOps]engine.Operation { return &engine.All }

// NewSlotState implements engine.Executor.
func (x executor) NewSlotState(*engine.Slot, int) engine.SlotState { return nil }

// Player implements engine.Executor.
func (x executor) Player(w *engine.Worker) (engine.Player, error) {
	t := x.threads[w.Number-1]
	return &player{thread: t, worker: w, to: x.players[t.process]}, nil
}

// Play implements engine.Player. The duration of a span comes from its program.
func (p *player) Play(rec *format.Record) int64 {
	r, w, it := p.r, p.worker, p.items[0]
	p.items = p.items[1:]
	w.Unpin()
	defer w.Pin()
	begin := r.engine.Elapsed()
	w.CallBegins()
	answer, err := plugin.Answer{Refused: "the layer lacks the function"}, error(nil)
	if it.place >= 0 {
		answer, err = p.call(&it.event)
	}
	w.CallEnds()
	took := w.LastCall - w.FirstCall
	switch {
	case err != nil:
	case answer.Refused != "":
		// The application's time passes anyway.
		w.Ran = took - int64(float64(max(it.event.Dur, 0))/r.Speed)
		r.refused(it, answer.Refused)
	default:
		if answer.Dur == format.Unknown {
			answer.Dur = took
		}
		w.Ran = took - answer.Dur
		err = r.account(it, answer, begin)
	}
	if err != nil {
		r.engine.Fail(fmt.Errorf("span %d of thread %d, %s: %w", w.Event, w.Number, it.event.Span.Function, err))
	}
	return rec.Ret
}

// call makes the player play a span, with the player's names of files.
func (p *player) call(e *format.Event) (plugin.Answer, error) {
	for i := range e.Span.Args {
		v := &e.Span.Args[i]
		if v.Kind != format.ValuePath || v.Text == nil {
			continue
		}
		name := p.r.places[string(v.Text)]
		if name == "" || v.Cut {
			return plugin.Answer{Refused: "the file has no place below the root"}, nil
		}
		app := v.Text
		v.Text = []byte(name)
		defer func() { v.Text = app }()
	}
	return p.to.PlaySpan(p.number, e)
}

// refused counts a span that was not played.
func (r *Replay) refused(it *item, why string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if it.place >= 0 {
		r.calls[it.place].Refused++
	}
	count(r.reasons, why)
}

// account counts a span that was played.
func (r *Replay) account(it *item, got plugin.Answer, begin int64) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	e := &it.event
	r.result.Elapsed = max(r.result.Elapsed, time.Duration(begin+got.Dur))
	c, f := &r.calls[it.place], r.layer.Functions[it.place]
	c.Calls++
	c.Nanos += got.Dur
	c.Recorded += max(e.Dur, 0)
	if got.Remark != "" {
		count(r.remarks, got.Remark)
	}
	args := r.numbers(f, e.Span.Args)
	failed := f.Failed(args, got.Result)
	if failed {
		c.Failed++
	}
	was, ok := f.Moved(args, e.Ret)
	is, also := f.Moved(args, got.Result)
	var err error
	if failed != e.Span.Failed || !failed && ok && also && was != is {
		c.Differed++
		if c.First == nil {
			call := string(append(script.AppendArgs([]byte(f.Name+"("), e.Span.Args), ')'))
			c.First = &Difference{Thread: e.TID, Call: call, Recorded: e.Ret, Got: got.Result, Failed: e.Span.Failed}
		}
		if r.Strict { // it is the first
			err = fmt.Errorf("%w: %v", ErrDiffers, c.First)
		}
	}
	moved := int64(format.Unknown) // what the call was asked to move, where the layer can't tell
	switch {
	case failed:
	case also:
		moved = is
	case !e.Span.Failed:
		moved = e.Span.Bytes
	}
	if moved >= 0 {
		c.Bytes += moved
		c.Moving += got.Dur
	}
	if r.log == nil {
		return err
	}
	if failed || !f.Defines() {
		e.Ret = got.Result
	}
	e.Span.Failed, e.Span.Bytes = failed, moved
	e.Start, e.Dur, e.Compute = begin, got.Dur, 0
	r.logged[0] = *e
	return cmp.Or(err, r.log.Write(r.logged[:]))
}

// numbers returns the arguments of a span as numbers, for expressions of the layer. It is
// valid until the next call.
func (r *Replay) numbers(f *layer.Function, args []format.Value) []int64 {
	r.args = r.args[:0]
	for i := range f.Args {
		n := int64(0)
		if i < len(args) {
			n = args[i].Int
		}
		r.args = append(r.args, n)
	}
	return r.args
}

// lateness returns how late spans began.
func (r *Replay) lateness() stats.Quantiles {
	c := r.engine.Count()
	return c.Late.Quantiles()
}
