package replay

import (
	"context"
	"fmt"

	"pianola/format"
)

// Output is what plays the events of External.
type Output interface {
	// Play plays an event of a thread, counted from 1, and returns its result
	// or -errno. An opening call that succeeds can return any number: events
	// name descriptors as the recording did. It is called from the worker of
	// the thread, so of several threads at a time, and may block. An error
	// ends the run.
	Play(thread int32, r *format.Record) (int64, error)

	// Close ends it. No call of Play is under way.
	Close() error
}

// OpenOutput makes the Output of a trace. Calls of Play must return soon after
// ctx is done.
type OpenOutput func(ctx context.Context, t format.Trace) (Output, error)

// externalCalls are those of External: all events are handed over, and threads
// are born besides.
var externalCalls = func() (external [format.NumOps]call) {
	for op, c := range calls {
		switch {
		case c == nil:
		case format.Op(op).Info().Class == format.ClassProcess:
			external[op] = func(w *worker, r *format.Record) int64 {
				got := playOutside(w, r)
				c(w, r)
				return got
			}
		default:
			external[op] = playOutside
		}
	}
	return external
}()

// playOutside hands an event over. The worker is not pinned meanwhile, for it
// may have to wait in Go.
func playOutside(w *worker, r *format.Record) int64 {
	unpin()
	got, err := w.e.output.Play(w.number, r)
	if err != nil {
		err = fmt.Errorf("event %d of thread %d: %w", w.event, w.number, err)
	}
	pin()
	switch {
	case err != nil:
		w.e.fail(err)
		return r.Ret
	case got >= 0 && r.Ret >= 0 && r.Op.Info().Result == format.ResultFD:
		return r.Ret // the log has the recording's descriptors
	}
	return got
}
