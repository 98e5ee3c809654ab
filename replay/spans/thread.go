package spans

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/layer"
	"pianola/plugin"
	"pianola/replay"
)

// thread is a recorded thread.
type thread struct {
	r       *Replay
	number  int32
	process int32
	player  Player
	queue   chan *item

	// For survey and deal.
	outer []outer // that are left
	spans int64   // of the layer that were read
	dealt int64
	end   int64 // of the span that was dealt last, in the recording

	due int64 // nanoseconds since the start: end of the span before if none had been late

	lock  sync.Mutex
	moved *sync.Cond
	done  int64 // spans that were played
}

func duration(nanos int64) time.Duration { return time.Duration(nanos) }

func (r *Replay) now() int64 { return int64(time.Since(r.base)) }

func (r *Replay) scale(nanos int64) int64 { return int64(float64(nanos) / r.Speed) }

// run is the body of the goroutine of a thread.
func (t *thread) run(ctx context.Context) {
	runtime.LockOSThread() // never unlocked: no other goroutine gets the timer slack
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer context.AfterFunc(ctx, func() { // wakes those that wait for this thread
		t.lock.Lock()
		defer t.lock.Unlock()
		t.moved.Broadcast()
	})()
	for it := range t.queue {
		if ctx.Err() != nil {
			continue // deal may wait for the queue
		}
		for _, a := range it.after {
			a.thread.await(ctx, a.seq)
		}
		if err := t.play(ctx, it); err != nil {
			t.r.stop(fmt.Errorf("span %d of thread %d, %s: %w", t.done, t.number, it.event.Span.Function, err))
			continue
		}
		t.lock.Lock()
		t.done++
		t.moved.Broadcast()
		t.lock.Unlock()
	}
}

// await waits until a span was played, or for the end.
func (t *thread) await(ctx context.Context, seq int64) {
	t.lock.Lock()
	defer t.lock.Unlock()
	for t.done <= seq && ctx.Err() == nil {
		t.moved.Wait()
	}
}

// play plays a span when it is due.
func (t *thread) play(ctx context.Context, it *item) error {
	r, e := t.r, &it.event
	due := t.due + r.scale(it.gap)
	switch r.Timing {
	case replay.Schedule:
		due = r.scale(e.Start)
	case replay.AFAP:
		due = r.now()
	}
	begin := r.waitUntil(ctx, due)
	if ctx.Err() != nil {
		return nil
	}
	recorded := max(e.Dur, 0)
	answer, err := plugin.Answer{Refused: "the layer lacks the function"}, error(nil)
	if it.place >= 0 {
		answer, err = t.ask(e)
	}
	if err != nil {
		return err
	}
	end := r.now()
	if answer.Refused != "" {
		// The application's time passes all the same.
		t.due = due + r.scale(recorded)
		return r.refused(it, answer.Refused)
	}
	if answer.Dur == format.Unknown {
		answer.Dur = end - begin
	}
	t.due = due + answer.Dur
	return r.account(it, answer, begin, begin-due, recorded)
}

// ask has the player play a span, with names of files as the player knows them.
func (t *thread) ask(e *format.Event) (plugin.Answer, error) {
	for i := range e.Span.Args {
		v := &e.Span.Args[i]
		if v.Kind != format.ValuePath || v.Text == nil {
			continue
		}
		name := t.r.places[string(v.Text)]
		if name == "" || v.Cut {
			return plugin.Answer{Refused: "the file has no place below the root"}, nil
		}
		app := v.Text
		v.Text = []byte(name)
		defer func() { v.Text = app }()
	}
	return t.player.PlaySpan(t.number, e)
}

// refused counts a span that was not played.
func (r *Replay) refused(it *item, why string) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if it.place >= 0 {
		r.calls[it.place].Refused++
	}
	if r.reasons[why] > 0 || len(r.reasons) < maxReasons {
		r.reasons[why]++
	}
	return nil
}

const maxReasons = 100

// account counts a span that was played.
func (r *Replay) account(it *item, got plugin.Answer, begin, late, recorded int64) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	e := &it.event
	r.result.Elapsed = max(r.result.Elapsed, duration(begin+got.Dur))
	if r.Timing != replay.AFAP {
		r.late.Add(max(late, 0))
	}
	c, f := &r.calls[it.place], r.layer.Functions[it.place]
	c.Calls++
	c.Nanos += got.Dur
	c.Recorded += recorded
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
		if r.result.First == nil {
			r.result.First = &Difference{Thread: it.event.TID, Function: f.Name, Recorded: e.Ret, Got: got.Result, Failed: e.Span.Failed}
		}
		if r.Strict {
			err = fmt.Errorf("%w: recorded %d, got %d", ErrDiffers, e.Ret, got.Result)
		}
	}
	if r.log == nil {
		return err
	}
	if failed || !f.Defines() {
		e.Ret = got.Result
	}
	e.Span.Failed = failed
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

const (
	coarse = 2_000_000 // nanoseconds that a timer of Go may be late
	near   = 80_000    // nanoseconds that a sleep of the kernel may be late
)

// waitUntil waits for a time, or for the end, and returns the time then.
func (r *Replay) waitUntil(ctx context.Context, due int64) int64 {
	now := r.now()
	if r.Wait != replay.Spin {
		if left := due - now - coarse; left > 0 {
			timer := time.NewTimer(duration(left))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return r.now()
			}
			now = r.now()
		}
		end := due
		if r.Wait == replay.Auto {
			end -= near
		}
		if end > now {
			ts := unix.NsecToTimespec(end - now)
			_ = unix.Nanosleep(&ts, nil)
			now = r.now()
		}
	}
	for now < due && ctx.Err() == nil {
		now = r.now()
	}
	return now
}
