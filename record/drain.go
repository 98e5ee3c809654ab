package record

import (
	"fmt"
	"time"

	"pianola/format"
)

// Sink takes what is recorded. Its methods are called by one goroutine at a
// time. Where it also has a method Flush() error, that is called about once a
// second, so that a recorder that is killed leaves nearly everything behind.
type Sink interface {
	format.Writer

	// WriteHeader is called twice: before the first event with what is known
	// at the start, and after the last with what is known at the end only.
	WriteHeader(*format.Header) error
}

type flusher interface{ Flush() error }

const (
	batchEvents = 1024

	// The ring is looked at soon again while events come, and seldom while
	// none do, so that an idle recorder costs next to nothing.
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond

	// A burst must not fill the ring during a pause. This is the time between
	// events at the highest rate that many processors reach in one ring, with
	// room to spare.
	burstGap = 100 * time.Nanosecond

	flushInterval = time.Second
)

// drain moves events from the ring to the sink.
type drain struct {
	ring *ring
	sink Sink

	// Internal state.
	decoder decoder
	batch   [batchEvents]format.Event
	events  int64 // handed to the sink
	flushed time.Time
	dirty   bool // events since flushed
}

// newDrain returns a drain of events whose time counts from start, in
// nanoseconds of CLOCK_MONOTONIC.
func newDrain(r *ring, s Sink, start int64) *drain {
	return &drain{ring: r, sink: s, decoder: decoder{arch: format.HostArch, start: start}}
}

// run drains until stop is closed and then what is left.
func (d *drain) run(stop <-chan struct{}) error {
	d.flushed = time.Now()
	pause, longest := minPause, longestPause(d.ring.size())
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		n, err := d.all()
		if err != nil {
			return err
		}
		if n > 0 {
			pause = minPause
		} else {
			pause = min(2*pause, longest)
		}
		if err := d.flush(); err != nil {
			return err
		}
		timer.Reset(pause)
		select {
		case <-stop:
			_, err := d.all()
			return err
		case <-timer.C:
		}
	}
}

// longestPause returns how long a ring of so many bytes may be left alone.
func longestPause(bytes int) time.Duration {
	return min(max(time.Duration(bytes/plainBytes)*burstGap, minPause), maxPause)
}

// all drains until the ring is empty, and returns how many events it held.
func (d *drain) all() (total int, err error) {
	for {
		n, err := d.once()
		total += n
		if n < batchEvents || err != nil {
			return total, err
		}
	}
}

// once drains one batch at most.
func (d *drain) once() (int, error) {
	n := 0
	d.decoder.reset()
	for n < len(d.batch) {
		record, err := d.ring.read()
		if err == nil && record != nil {
			err = d.decoder.decode(record, &d.batch[n])
		}
		if err != nil {
			return 0, fmt.Errorf("read what the kernel recorded: %w", err)
		}
		if record == nil {
			break
		}
		n++
	}
	if n == 0 {
		d.ring.release() // of records that the kernel discarded
		return 0, nil
	}
	if err := d.sink.Write(d.batch[:n]); err != nil {
		return 0, err
	}
	d.ring.release()
	d.events += int64(n)
	d.dirty = true
	return n, nil
}

func (d *drain) flush() error {
	f, ok := d.sink.(flusher)
	if !ok || !d.dirty || time.Since(d.flushed) < flushInterval {
		return nil
	}
	d.flushed, d.dirty = time.Now(), false
	return f.Flush()
}
