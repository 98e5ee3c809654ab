package compile

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"pianola/format"
	"pianola/format/spool"
)

// intake is a recording that is read once, by a goroutine of its own. What is
// not said to be of events may be looked at once their Reader has returned what
// stands there.
type intake struct {
	events *spool.Spool // in causal order

	first   *format.Header // at the first event
	last    *format.Header // at the end
	orphans int            // at the end

	stopped atomic.Bool
	done    chan struct{} // closed when src is not read any more
}

// take begins to read src.
func take(src format.Reader, tmp spool.File) *intake {
	in := &intake{events: spool.New(tmp), done: make(chan struct{})}
	go func() {
		defer close(in.done)
		in.events.End(in.read(src))
	}()
	return in
}

// stop ends the reading, if it has not come to its end.
func (in *intake) stop() {
	in.stopped.Store(true)
	<-in.done
}

func (in *intake) read(src format.Reader) error {
	c := format.NewCausal(src)
	for !in.stopped.Load() {
		e, err := c.Next()
		if errors.Is(err, io.EOF) {
			in.last, in.orphans = src.Header(), c.Orphans
			return nil
		}
		if err != nil {
			return err
		}
		if in.first == nil {
			in.first = snapshot(src.Header())
		}
		if err := in.events.Append(e); err != nil {
			return err
		}
	}
	return nil
}

// snapshot returns a copy of h that a Reader does not change as it reads on.
func snapshot(h *format.Header) *format.Header {
	return &format.Header{
		Meta: slices.Clone(h.Meta), Threads: slices.Clone(h.Threads), Descriptors: slices.Clone(h.Descriptors), Files: slices.Clone(h.Files),
	}
}
