package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"pianola/format"
	"pianola/internal/option"
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

var registry struct {
	sync.Mutex
	outputs map[string]OpenOutput
}

// Register makes an Output a backend that SetBackend knows by a name. It panics
// where the name is taken or no command line can hold it. It may be called
// concurrently.
func Register(name string, open OpenOutput) {
	registry.Lock()
	defer registry.Unlock()
	switch _, taken := registry.outputs[name]; {
	case taken || slices.Contains(backendNames, name):
		panic("replay: backend " + name + " is registered twice")
	case name == "" || open == nil || strings.ContainsAny(name, "=:+,"):
		panic(fmt.Sprintf("replay: backend %q can't be registered", name))
	}
	if registry.outputs == nil {
		registry.outputs = make(map[string]OpenOutput)
	}
	registry.outputs[name] = open
}

// SetBackend sets Backend, and Output where the name is a registered one.
func (o *Options) SetBackend(name string) (err error) {
	registry.Lock()
	defer registry.Unlock()
	if open, ok := registry.outputs[name]; ok {
		o.Backend, o.Output = External, open
		return nil
	}
	names := append(slices.Clone(backendNames[:External]), slices.Sorted(maps.Keys(registry.outputs))...)
	o.Output = nil
	o.Backend, err = option.Parse[Backend]("backend", names, name)
	return err
}

// externalCalls are those of External: all events are handed over, and threads
// are started besides.
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
