package format

import (
	"cmp"
	"errors"
	"io"
	"runtime"
	"slices"
)

// Each calls take with each event of r, which is valid until take returns. It ends at the
// first error of r, but for io.EOF, or of take, and returns it unchanged.
func Each(r Reader, take func(e *Event) error) error {
	return eachBatch(r, func(events []Event) error {
		for i := range events {
			if err := take(&events[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Copy writes all events of r to w. It returns the first error of either unchanged.
func Copy(w Writer, r Reader) error { return eachBatch(r, w.Write) }

func eachBatch(r Reader, take func([]Event) error) error {
	events := make([]Event, 512)
	for {
		n, err := r.Read(events)
		if n > 0 {
			if terr := take(events[:n]); terr != nil {
				return terr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// aheadBatches is how many batches of aheadEvents an AheadReader reads before they are
// asked for.
const (
	aheadBatches = 4
	aheadEvents  = 1024
)

// AheadReader reads another Reader in a goroutine of its own, ahead of its caller: the
// source is parsed or decompressed on one processor while the events before are used on
// another. It returns the same events and the same header as the Reader. With one
// processor there is no goroutine.
//
// An AheadReader belongs to one goroutine at a time. The Reader must not be used until
// Close has returned.
type AheadReader struct {
	r      Reader
	header Header

	full, free chan *aheadBatch // nil before the first Read
	stop       chan struct{}    // closed by Close; nil before the first Read and afterwards
	batch      *aheadBatch      // of which events are in use, nil for none
	next       int              // its first event that was not returned
	err        error            // sticky
}

// aheadBatch is what one Read of the source returned, copied.
type aheadBatch struct {
	events []Event // all that there is room for
	n      int
	err    error
	header Header

	kept Kept
}

// NewAhead returns an AheadReader of r. The caller closes it.
func NewAhead(r Reader) *AheadReader { return &AheadReader{r: r} }

// Read implements Reader.
func (a *AheadReader) Read(events []Event) (int, error) {
	if a.full == nil {
		if runtime.GOMAXPROCS(0) == 1 {
			return a.r.Read(events)
		}
		a.begin()
	}
	for a.batch == nil || a.next == a.batch.n {
		if a.err != nil || len(events) == 0 {
			return 0, a.err
		}
		if a.batch != nil {
			a.free <- a.batch
		}
		a.batch, a.next = <-a.full, 0 // which is closed only after an error
		a.header, a.err = a.batch.header, a.batch.err
	}
	n := copy(events, a.batch.events[a.next:a.batch.n])
	a.next += n
	return n, nil
}

// Header implements Reader.
func (a *AheadReader) Header() *Header {
	if a.full == nil {
		return a.r.Header()
	}
	return &a.header
}

// begin starts the goroutine, which ends after an error, or when stop is closed.
func (a *AheadReader) begin() {
	a.full, a.free, a.stop = make(chan *aheadBatch, aheadBatches), make(chan *aheadBatch, aheadBatches), make(chan struct{})
	for range aheadBatches {
		a.free <- &aheadBatch{events: make([]Event, aheadEvents)}
	}
	go func() {
		defer close(a.full)
		var header Header
		for {
			select {
			case <-a.stop:
				return
			case b := <-a.free:
				b.n, b.err = a.r.Read(b.events)
				b.kept.Keep(b.events[:b.n])
				header.follow(a.r.Header(), b.err != nil)
				b.header = header
				err := b.err
				a.full <- b // there is room for all batches
				if err != nil {
					return
				}
			}
		}
	}()
}

// Close ends the reading, and waits until it has ended. It does not close the Reader.
func (a *AheadReader) Close() error {
	if a.stop == nil {
		return nil
	}
	close(a.stop)
	for range a.full {
	}
	a.stop, a.batch, a.err = nil, nil, cmp.Or(a.err, io.ErrClosedPipe)
	return nil
}

// follow updates h, a copy of another header, which grows or, seldom, is replaced. It
// never changes what it has copied, so copies of h stay valid. At the end all is copied:
// a source can change its header then.
func (h *Header) follow(other *Header, ended bool) {
	was := *h
	*h = *other // with what a source does not change once it is there
	if ended {
		was = Header{}
	}
	h.Meta, h.Threads, h.Descriptors = grown(was.Meta, other.Meta), grown(was.Threads, other.Threads), grown(was.Descriptors, other.Descriptors)
	h.Ranks, h.Names = grown(was.Ranks, other.Ranks), grown(was.Names, other.Names)
	if ended {
		h.Files = slices.Clone(other.Files)
	}
}

// grown returns a copy of now, of which was is a copy from before. It copies only what is
// new, unless now no longer begins with that.
func grown[T comparable](was, now []T) []T {
	switch n := len(was); {
	case n == len(now):
		return was
	case n > 0 && n < len(now) && now[n-1] == was[n-1]:
		return append(was, now[n:]...)
	}
	return slices.Clone(now)
}
