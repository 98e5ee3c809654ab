package ptrace

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

const (
	// The sizes of one of the two buffers.
	bufferCalls = 4096
	bufferBytes = 512 << 10

	textBytes = format.MaxStrings * unix.PathMax // the most that a call has

	// Events that have not filled a buffer are written after this time.
	writePause = 20 * time.Millisecond
)

// records passes calls from the tracer to a goroutine that decodes and
// writes them, in two buffers that the two of them exchange. Where the disk is
// slower than the command, the command waits: no event is lost.
type records struct {
	writer *record.Writer

	// Internal state.
	mu      sync.Mutex
	emptied sync.Cond
	filled  chan struct{}
	fill    *buffer // guarded by mu
	spare   *buffer // guarded by mu; nil while it is written
	failed  bool    // guarded by mu; the sink takes nothing more
}

// buffer holds calls and, one behind the other, their strings.
type buffer struct {
	calls   [bufferCalls]record.Call
	details [bufferCalls]record.Details // of the calls
	text    [bufferBytes]byte
	n       int // calls
	bytes   int // of text
}

func (b *buffer) full() bool { return b.n == bufferCalls || b.bytes+textBytes > bufferBytes }

// put copies a call into the buffer, which must not be full.
func (b *buffer) put(c *record.Call) {
	to, from := &b.calls[b.n], b.bytes
	b.details[b.n] = *c.Details
	b.bytes += copy(b.text[from:], c.Text)
	*to = *c
	to.Details, to.Text = &b.details[b.n], b.text[from:b.bytes]
	b.n++
}

func newRecords(s record.Sink) *records {
	r := &records{writer: record.NewWriter(s, 0), filled: make(chan struct{}, 1), fill: new(buffer), spare: new(buffer)}
	r.emptied.L = &r.mu
	return r
}

// add copies a call, and waits while there is no room. It reports false where the
// calls are not kept any more.
func (r *records) add(c *record.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.fill.full() && !r.failed {
		r.wake()
		r.emptied.Wait()
	}
	if r.failed {
		return false
	}
	if r.fill.put(c); r.fill.full() {
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
			err = r.writer.Flush()
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

	for i := range b.calls[:b.n] {
		full, err := r.writer.Add(&b.calls[i])
		if err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		if !full {
			continue
		}
		if err := r.writer.Write(); err != nil {
			return err
		}
	}
	if err := r.writer.Write(); err != nil {
		return err
	}
	b.n, b.bytes = 0, 0
	r.mu.Lock()
	r.spare = b
	r.mu.Unlock()
	return nil
}
