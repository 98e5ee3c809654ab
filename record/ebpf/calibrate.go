package ebpf

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/internal/schedstat"
	"pianola/internal/stats"
	"pianola/record"
)

// calibration measures a format.Cost on the calling thread, which must be locked:
// reads of a page from the page cache in a loop, free and recorded in turn. A
// call that moves no data would show less, for it leaves the recorder's lines in
// the processor's caches. The figures are those of the quickest round of each:
// other work on the machine, and be it on the other half of the same core, adds
// to a round and never takes away, and of many short ones some meet none. They
// take turns, for the processor itself is quicker at one moment than at another.
type calibration struct {
	fd   int // of a regular file of a page
	page []byte

	// The quickest of each, in nanoseconds per call.
	free, recorded timing
	inner          int64 // what was recorded as the duration
	runs           loop  // the part that the program took of it
}

// timing is how long calls took, in nanoseconds: one of which the registers are
// recorded, one of which more is, and one that is not recorded.
type timing struct{ plain, rich, call int64 }

// loop is how long the program took in the calibration for a call of which the
// registers are recorded, and of which more is, in nanoseconds.
type loop struct{ plain, rich float64 }

const (
	calibrationTurns  = 5   // each takes 10 to 20 ms, mostly to attach the program again
	calibrationRounds = 30  // of each kind in a turn
	calibrationCalls  = 100 // per round

	// A busy machine takes longer; after this time there are no more turns
	// than the two that it takes to see one beside the other.
	calibrationTime = 150 * time.Millisecond
)

// calibrate measures what recording costs. It attaches the program, and leaves the
// ring empty.
func calibrate(p *program, ring *ring) (format.Cost, loop, error) {
	fd, err := unix.MemfdCreate("calibration", unix.MFD_CLOEXEC)
	if err != nil {
		return format.Cost{}, loop{}, fmt.Errorf("calibrate: %w", err)
	}
	defer unix.Close(fd)
	const never = math.MaxInt64
	slowest := timing{never, never, never}
	c := &calibration{fd: fd, page: make([]byte, 4096), free: slowest, recorded: slowest, inner: never, runs: loop{never, never}}
	if _, err := unix.Write(fd, c.page); err != nil {
		return format.Cost{}, loop{}, fmt.Errorf("calibrate: %w", err)
	}
	// The ring must hold a round, whatever its size.
	calls := min(calibrationCalls, ring.size()/richBytes/2)
	begin := time.Now()
	for turn := range calibrationTurns {
		if turn >= 2 && time.Since(begin) > calibrationTime {
			break
		}
		if err := p.detach(); err != nil {
			return format.Cost{}, loop{}, err
		}
		for range calibrationRounds {
			c.free.round(c, calls)
		}
		if err := p.attach(); err != nil {
			return format.Cost{}, loop{}, err
		}
		if err := c.beRecorded(calls, p, ring); err != nil {
			return format.Cost{}, loop{}, err
		}
	}
	inside := c.inner - c.free.plain
	// A machine that was busy before and is not now makes less than nothing of it.
	added := max(c.recorded.plain-c.free.plain, 0)
	return format.Cost{Inside: inside, Outside: added - inside, Rich: max(c.recorded.rich-c.free.rich-added, 0),
		Call: max(c.recorded.call-c.free.call, 0)}, c.runs, nil
}

// round does a round of each call.
func (t *timing) round(c *calibration, calls int) {
	t.plain = min(t.plain, c.plain(calls))
	t.rich = min(t.rich, c.rich(calls))
	t.call = min(t.call, c.call(calls))
}

// beRecorded does a turn of calls that are recorded.
func (c *calibration) beRecorded(calls int, p *program, ring *ring) error {
	if err := p.followSelf(); err != nil {
		return err
	}
	err := c.recordedRounds(calls, ring)
	if err == nil {
		err = c.timedRounds(calls, p, ring)
	}
	if uerr := p.unfollowSelf(); err == nil {
		err = uerr
	}
	if err == nil {
		_, err = readDurations(ring, nil) // of what the thread did besides
	}
	return err
}

func (c *calibration) recordedRounds(calls int, ring *ring) error {
	durations := make([]int64, 0, calls)
	for range calibrationRounds {
		took := c.plain(calls)
		var err error
		if durations, err = readDurations(ring, durations[:0]); err != nil {
			return err
		}
		c.recorded.plain, c.inner = min(c.recorded.plain, took), min(c.inner, stats.Median(durations))
		c.recorded.rich = min(c.recorded.rich, c.rich(calls))
		if _, err = readDurations(ring, nil); err != nil {
			return err
		}
		c.recorded.call = min(c.recorded.call, c.call(calls))
	}
	return nil
}

// timedRounds lets the program measure all of its runs for some rounds.
func (c *calibration) timedRounds(calls int, p *program, ring *ring) error {
	if err := p.measure(1); err != nil {
		return err
	}
	before, err := p.measured()
	for round := 0; round < calibrationRounds/3 && err == nil; round++ {
		c.plain(calls)
		if _, err = readDurations(ring, nil); err != nil {
			return err
		}
		c.rich(calls)
		if _, err = readDurations(ring, nil); err != nil {
			return err
		}
		var after measured
		if after, err = p.measured(); err == nil {
			c.runs.plain = min(c.runs.plain, after.mean(before, bpf.CSampleKindSAMPLE_PLAIN, c.runs.plain))
			c.runs.rich = min(c.runs.rich, after.mean(before, bpf.CSampleKindSAMPLE_RICH, c.runs.rich))
			before = after
		}
	}
	return errors.Join(err, p.measure(measureEvery))
}

// plain returns how long a call takes whose registers are recorded, in
// nanoseconds.
func (c *calibration) plain(calls int) int64 {
	return round(calls, unix.SYS_PREAD64, uintptr(c.fd), unsafe.Pointer(&c.page[0]), uintptr(len(c.page)), 0, nil)
}

// rich does the same of a call with a name, of which there is more.
func (c *calibration) rich(calls int) int64 {
	return round(calls, unix.SYS_STATX, uintptr(c.fd), unsafe.Pointer(&root[0]), 0, unix.STATX_BASIC_STATS, unsafe.Pointer(&c.page[0]))
}

// call does the same of a call that is not recorded.
func (c *calibration) call(calls int) int64 { return round(calls, unix.SYS_GETPPID, 0, nil, 0, 0, nil) }

var root = [...]byte{'/', 0}

// round returns how long the thread ran for a call. On a processor that others keep busy, no round may pass
// without one of them, so the time in which they ran must not count.
func round(calls int, nr, a uintptr, b unsafe.Pointer, c, d uintptr, e unsafe.Pointer) int64 {
	start := schedstat.Ran()
	for range calls {
		_, _, _ = unix.RawSyscall6(nr, a, uintptr(b), c, d, uintptr(e), 0)
	}
	return (schedstat.Ran() - start) / int64(calls)
}

// emptied takes all records out of the ring.
func emptied(ring *ring, take func(b []byte)) error {
	for {
		b, err := ring.read()
		if err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
		if b == nil {
			ring.release()
			return nil
		}
		take(b)
	}
}

// readDurations empties the ring and appends the durations of the calls.
func readDurations(ring *ring, durations []int64) ([]int64, error) {
	err := emptied(ring, func(b []byte) {
		var c record.Call
		if view(b, &c) && c.Nr == unix.SYS_PREAD64 {
			durations = append(durations, c.Dur)
		}
	})
	return durations, err
}
