package ptrace

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/bpf"
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
	writer *record.Writer // from the time 0 of the recording on

	// Internal state.
	mu      sync.Mutex
	emptied sync.Cond
	filled  chan struct{}
	fill    *buffer // guarded by mu
	spare   *buffer // guarded by mu; nil while it is written
	failed  bool    // guarded by mu; the sink takes nothing more
}

// buffer holds calls and, one behind the other, their strings; and what is known of
// requests.
type buffer struct {
	kinds       [bufferCalls]kind
	calls       [bufferCalls]record.Call
	details     [bufferCalls]bpf.CDetails // of the calls
	submissions []record.Submission
	completions []record.Completion
	text        [bufferBytes]byte
	n           int // calls, submissions and completions
	bytes       int // of text
}

// kind is what one of the records in a buffer is of.
type kind uint8

const (
	ofCall kind = iota
	ofSubmission
	ofCompletion
)

func (b *buffer) full() bool { return b.n == bufferCalls || b.bytes+textBytes > bufferBytes }

// put copies a call into the buffer, which must not be full.
func (b *buffer) put(c *record.Call) {
	to, from := &b.calls[b.n], b.bytes
	b.details[b.n] = *c.Details
	b.bytes += copy(b.text[from:], c.Text)
	*to = *c
	to.Details, to.Text = &b.details[b.n], b.text[from:b.bytes]
	b.kinds[b.n] = ofCall
	b.n++
}

func newRecords() *records {
	r := &records{filled: make(chan struct{}, 1), fill: new(buffer), spare: new(buffer)}
	r.emptied.L = &r.mu
	return r
}

// add copies a call, and waits while there is no room. It reports false if the
// calls are not kept any more.
func (r *records) add(c *record.Call) bool {
	return r.with(func(b *buffer) { b.put(c) })
}

// submit does the same with a request that is submitted.
func (r *records) submit(s *record.Submission) bool {
	return r.with(func(b *buffer) {
		b.submissions = append(b.submissions, *s)
		b.kinds[b.n] = ofSubmission
		b.n++
	})
}

// complete does the same with one that is complete.
func (r *records) complete(c *record.Completion) bool {
	return r.with(func(b *buffer) {
		b.completions = append(b.completions, *c)
		b.kinds[b.n] = ofCompletion
		b.n++
	})
}

// with lets put fill a place in the buffer.
func (r *records) with(put func(*buffer)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.fill.full() && !r.failed {
		r.wake()
		r.emptied.Wait()
	}
	if r.failed {
		return false
	}
	if put(r.fill); r.fill.full() {
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
		if err == nil && stopped {
			err = r.writer.Unfinished()
		}
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

	submissions, completions := b.submissions, b.completions
	for i, kind := range b.kinds[:b.n] {
		var full bool
		var err error
		switch kind {
		case ofCall:
			full, err = r.writer.Add(&b.calls[i])
		case ofSubmission:
			full = r.writer.Submit(&submissions[0])
			submissions = submissions[1:]
		case ofCompletion:
			full = r.writer.Complete(&completions[0])
			completions = completions[1:]
		}
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
	b.n, b.bytes, b.submissions, b.completions = 0, 0, b.submissions[:0], b.completions[:0]
	r.mu.Lock()
	r.spare = b
	r.mu.Unlock()
	return nil
}
