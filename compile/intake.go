package compile

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"

	"pianola/format"
	"pianola/format/spool"
)

// intake is a recording that is read once, by a goroutine of its own. Another
// goroutine may read a field after the Reader of events has returned what the
// field's comment names.
type intake struct {
	events *spool.Spool // in causal order

	first   *format.Header // valid after the first event
	last    *format.Header // valid after the last event
	orphans int            // valid after the last event
	spanned bool           // there are spans; valid after the last event
	overlap overlap        // valid after the last event

	stopped atomic.Bool
	done    chan struct{} // closed when the reading of src has ended
}

// take starts the goroutine that reads src.
func take(src format.Reader, tmp spool.File) *intake {
	in := &intake{events: spool.New(tmp), done: make(chan struct{})}
	go func() {
		defer close(in.done)
		in.events.End(in.read(src))
	}()
	return in
}

// stop ends the reading of src, and waits until it has ended.
func (in *intake) stop() {
	in.stopped.Store(true)
	<-in.done
}

func (in *intake) read(src format.Reader) error {
	c := format.NewCausal(src)
	var n int64 // events so far
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
		n++
		if e.Span != nil {
			in.spanned = true
		} else if orders(e) {
			in.overlap.add(e, n)
		}
		if err := in.events.Append(e); err != nil {
			return err
		}
	}
	return nil
}

// orders reports whether the order of a call and of others can show in results: it is about
// names, or about the bytes, the size or the locks of a file.
func orders(e *format.Event) bool {
	info := e.Op.Info()
	switch acts := info.Acts; {
	case acts.Any(format.Lists):
		return true
	case acts.All(format.Duplicates | format.Locks): // fcntl
		_, locks := lockArgsOf(e)
		return locks
	case acts.Any(format.Messages | format.Marks | format.InMemory):
	case acts.Any(format.ReadsBytes | format.WritesBytes | format.Seeks | format.Cuts | format.Allocates | format.Locks | format.Closes):
		typ := e.FileType()
		return typ == format.TypeReg || typ == format.TypeUnknown
	}
	return info.At.Paths[0].Arg >= 0
}

// snapshot returns a copy of h, which the Reader does not change.
func snapshot(h *format.Header) *format.Header {
	return &format.Header{
		Meta: slices.Clone(h.Meta), Threads: slices.Clone(h.Threads), Descriptors: slices.Clone(h.Descriptors), Files: slices.Clone(h.Files), Ranks: slices.Clone(h.Ranks),
	}
}
