package ebpf

import (
	"errors"
	"fmt"
	"time"

	"pianola/record"
)

const (
	// The ring is looked at soon again while events come, and seldom while
	// none do, so that an idle recorder costs next to nothing.
	minPause = time.Millisecond
	maxPause = 50 * time.Millisecond

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
	call   record.Call // the last
}

// run drains until stop is closed and then what is left.
func (d *drain) run(stop <-chan struct{}) error {
	pause, longest := minPause, longestPause(d.ring.size())
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		some, err := d.all()
		if err != nil {
			return err
		}
		if some {
			pause = minPause
		} else {
			pause = min(2*pause, longest)
		}
		if err := d.writer.Flush(); err != nil {
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

// all drains until the ring is empty, and reports whether it held events.
func (d *drain) all() (some bool, err error) {
	for full := true; full; {
		var n int
		n, full, err = d.once()
		if some = some || n > 0; err != nil {
			return some, err
		}
	}
	return some, nil
}

// once drains one batch at most, and returns how many events that was and
// whether the batch was full.
func (d *drain) once() (n int, full bool, err error) {
	for !full {
		b, err := d.ring.read()
		if err == nil && b != nil {
			full, err = d.add(b)
		}
		if err != nil {
			return 0, false, fmt.Errorf("read what the kernel recorded: %w", err)
		}
		if b == nil {
			break
		}
		n++
	}
	if err := d.writer.Write(); err != nil {
		return 0, false, err
	}
	d.ring.release()
	return n, full, nil
}

func (d *drain) add(b []byte) (full bool, err error) {
	if !view(b, &d.call) {
		return false, errRecord
	}
	return d.writer.Add(&d.call)
}
