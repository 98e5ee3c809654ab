package ebpf

import (
	"errors"
	"fmt"
	"time"

	"pianola/bpf"
	"pianola/record"
)

const (
	// The ring is looked at as seldom as it has room: each look wakes threads of
	// the recorder, which take the processor from the application.
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond

	// A library that the application opens is to be probed before its first call. This is
	// where the program can't wake the recorder then: without faults, and on some kernels.
	probePause = 2 * time.Millisecond

	// While events come as they did, the drain lets the ring fill up to this part
	// between two looks.
	fill = 1.0 / 8

	// A burst must not fill the ring during a pause. This is the time between
	// events at the highest rate that many processors reach in one ring, with
	// room to spare.
	burstGap = 100 * time.Nanosecond
)

var errRecord = errors.New("malformed record")

// drain moves events from the ring to the writer.
type drain struct {
	ring   *ring
	writer *record.Writer
	look   func() error             // at each look at the ring
	joined func(*bpf.CJoined) error // of a process that enters the cgroup
	probes *probes                  // nil without layers
	gives  *record.Background       // nil if the recorder doesn't give way
	woken  <-chan struct{}          // gets a value when the drain must look at the ring early; nil without layers

	// The last of each.
	call       record.Call
	submission record.Submission
	completion record.Completion
	span       record.Span
}

// run drains until stop is closed and then what is left.
func (d *drain) run(stop <-chan struct{}) error {
	pause, last := minPause, time.Now()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		before := d.ring.next
		if err := d.all(); err != nil {
			return err
		}
		now := time.Now()
		pause = nextPause(pause, now.Sub(last), int(d.ring.next-before), d.ring.size())
		if d.probes != nil {
			pause = min(pause, d.probes.pause(now))
		}
		last = now
		timer.Reset(pause)
		select {
		case <-stop:
			if err := d.all(); err != nil {
				return err
			}
			return d.writer.Unfinished()
		case <-timer.C:
		case <-d.woken:
		}
	}
}

// nextPause returns how long a ring of size bytes may be left alone, of which so
// many bytes were filled in elapsed. It grows to twice the last pause at most.
func nextPause(last, elapsed time.Duration, filled, size int) time.Duration {
	room := time.Duration(float64(elapsed) * fill * float64(size) / float64(max(filled, 1)))
	return max(min(room, 2*last, longestPause(size)), minPause)
}

// longestPause returns how long a ring of so many bytes may be left alone.
func longestPause(bytes int) time.Duration {
	return min(max(time.Duration(bytes/plainBytes)*burstGap, minPause), maxPause)
}

// all drains until the ring is empty. Under a flood that may be never, so the periodic
// work is done after each batch.
func (d *drain) all() error {
	for full := true; full; {
		var err error
		if full, err = d.once(); err == nil {
			err = errors.Join(d.writer.Flush(), d.look())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// once drains one batch at most, and reports whether it was full.
func (d *drain) once() (full bool, err error) {
	if err := d.gives.Look(d.ring.used(), d.ring.size()); err != nil {
		return false, err
	}
	for !full {
		b, err := d.ring.read()
		if err == nil && b != nil {
			full, err = d.add(b)
		}
		if err != nil {
			return false, fmt.Errorf("read the events of the kernel: %w", err)
		}
		if b == nil {
			break
		}
	}
	if d.probes != nil {
		d.probes.readGlobals() // soon: the process can end
	}
	if err := d.writer.Write(); err != nil {
		return false, err
	}
	d.ring.release()
	return full, nil
}

func (d *drain) add(b []byte) (full bool, err error) {
	if i := numberOf(b) - bpf.CNumberNR_OTHERS; int(i) < len(records) {
		return records[i].add(d, b)
	}
	if !view(b, &d.call) {
		return false, errRecord
	}
	if err := d.probes.opened(&d.call); err != nil {
		return false, err
	}
	return d.writer.Add(&d.call)
}
