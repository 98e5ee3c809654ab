package ptrace

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
	"pianola/record/ebpf"
)

const (
	// The sizes of one of the two buffers.
	bufferCalls = 4096
	bufferBytes = 512 << 10

	batchEvents = 1024
	textBytes   = format.MaxStrings * unix.PathMax // the most that a call has

	// Events that have not filled a buffer are written after this time.
	writePause    = 20 * time.Millisecond
	flushInterval = time.Second
)

// records passes calls from the tracer to a goroutine that decodes and
// writes them, in two buffers that the two of them exchange. Where the disk is
// slower than the command, the command waits: no event is lost.
type records struct {
	sink    record.Sink
	decoder *record.Decoder

	// Internal state.
	mu      sync.Mutex
	emptied sync.Cond
	filled  chan struct{}
	fill    *buffer // guarded by mu
	spare   *buffer // guarded by mu; nil while it is written
	failed  bool    // guarded by mu; the sink takes nothing more

	batch   [batchEvents]format.Event
	events  int64 // handed to the sink
	flushed time.Time
	dirty   bool // events since flushed
}

// buffer holds calls and, one behind the other, their strings.
type buffer struct {
	calls [bufferCalls]call
	text  [bufferBytes]byte
	n     int // calls
	bytes int // of text
}

type call struct {
	event   ebpf.Event
	details ebpf.Details
	end     int // of its strings
}

func (b *buffer) full() bool { return b.n == bufferCalls || b.bytes+textBytes > bufferBytes }

func newRecords(s record.Sink) *records {
	r := &records{sink: s, filled: make(chan struct{}, 1), fill: new(buffer), spare: new(buffer)}
	r.emptied.L = &r.mu
	return r
}

// add appends a call, whose strings are text, and waits while there is no room.
// It reports false where nobody keeps it.
func (r *records) add(e *ebpf.Event, d *ebpf.Details, text []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.fill.full() && !r.failed {
		r.wake()
		r.emptied.Wait()
	}
	if r.failed {
		return false
	}
	b := r.fill
	b.bytes += copy(b.text[b.bytes:], text)
	b.calls[b.n] = call{*e, *d, b.bytes}
	if b.n++; b.full() {
		r.wake()
	}
	return true
}

func (r *records) wake() {
	select {
	case r.filled <- struct{}{}:
	default:
	}
}

// run writes until stop is closed and then what is left.
func (r *records) run(stop <-chan struct{}) error {
	r.flushed = time.Now()
	tick := time.NewTicker(writePause)
	defer tick.Stop()
	for stopped := false; !stopped; {
		select {
		case <-stop:
			stopped = true
		case <-r.filled:
		case <-tick.C:
		}
		err := r.write()
		if err == nil {
			err = r.flush()
		}
		if err != nil {
			r.mu.Lock()
			r.failed = true
			r.mu.Unlock()
			r.emptied.Signal()
			return err
		}
	}
	return nil
}

// write exchanges the buffers and writes what the tracer has filled.
func (r *records) write() error {
	r.mu.Lock()
	b := r.fill
	if b.n == 0 {
		r.mu.Unlock()
		return nil
	}
	r.fill, r.spare = r.spare, nil
	r.mu.Unlock()
	r.emptied.Signal()

	text := 0
	for from := 0; from < b.n; {
		n := min(b.n-from, batchEvents)
		r.decoder.Reset()
		for i := range n {
			c := &b.calls[from+i]
			if err := r.decoder.Decode(&c.event, &c.details, b.text[text:c.end], &r.batch[i]); err != nil {
				return fmt.Errorf("decode: %w", err)
			}
			text = c.end
		}
		if err := r.sink.Write(r.batch[:n]); err != nil {
			return err
		}
		r.events += int64(n)
		r.dirty = true
		from += n
	}
	b.n, b.bytes = 0, 0
	r.mu.Lock()
	r.spare = b
	r.mu.Unlock()
	return nil
}

func (r *records) flush() error {
	f, ok := r.sink.(interface{ Flush() error })
	if !ok || !r.dirty || time.Since(r.flushed) < flushInterval {
		return nil
	}
	r.flushed, r.dirty = time.Now(), false
	return f.Flush()
}
