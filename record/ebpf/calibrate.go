package ebpf

import (
	"fmt"
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
	"pianola/stats"
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
	free, freeRich   int64 // not recorded; rich is with a name and what the call returned
	whole, wholeRich int64 // recorded
	inner            int64 // what was recorded as the duration
}

const (
	calibrationTurns  = 5   // each takes 10 to 20 ms, mostly to attach the program again
	calibrationRounds = 30  // of each kind in a turn
	calibrationCalls  = 100 // per round

	// A busy machine takes longer; after this time there are no more turns
	// than the two that it takes to see one beside the other.
	calibrationTime = 150 * time.Millisecond
)

// calibrate measures what an event costs. It attaches the program, and leaves the
// ring empty.
func calibrate(p *program, ring *ring) (format.Cost, error) {
	fd, err := unix.MemfdCreate("calibration", unix.MFD_CLOEXEC)
	if err != nil {
		return format.Cost{}, fmt.Errorf("calibrate: %w", err)
	}
	defer unix.Close(fd)
	const never = math.MaxInt64
	c := &calibration{fd: fd, page: make([]byte, 4096), free: never, freeRich: never, whole: never, wholeRich: never, inner: never}
	if _, err := unix.Write(fd, c.page); err != nil {
		return format.Cost{}, fmt.Errorf("calibrate: %w", err)
	}
	// The ring must hold a round, whatever its size.
	calls := min(calibrationCalls, ring.size()/richBytes/2)
	begin := time.Now()
	for turn := range calibrationTurns {
		if turn >= 2 && time.Since(begin) > calibrationTime {
			break
		}
		if err := p.detach(); err != nil {
			return format.Cost{}, err
		}
		c.beFree(calls)
		if err := p.attach(); err != nil {
			return format.Cost{}, err
		}
		if err := c.beRecorded(calls, p, ring); err != nil {
			return format.Cost{}, err
		}
	}
	inside := c.inner - c.free
	// A machine that was busy before and is not now makes less than nothing of it.
	added := max(c.whole-c.free, 0)
	return format.Cost{Inside: inside, Outside: added - inside, Rich: max(c.wholeRich-c.freeRich-added, 0)}, nil
}

// beFree does a turn of calls that are not recorded.
func (c *calibration) beFree(calls int) {
	for range calibrationRounds {
		c.free = min(c.free, c.plain(calls))
		c.freeRich = min(c.freeRich, c.rich(calls))
	}
}

// beRecorded does a turn of calls that are.
func (c *calibration) beRecorded(calls int, p *program, ring *ring) error {
	if err := p.followSelf(); err != nil {
		return err
	}
	durations := make([]int64, 0, calls)
	var err error
	for range calibrationRounds {
		took := c.plain(calls)
		if durations, err = readDurations(ring, durations[:0]); err != nil {
			break
		}
		c.whole, c.inner = min(c.whole, took), min(c.inner, stats.Median(durations))
		c.wholeRich = min(c.wholeRich, c.rich(calls))
		if _, err = readDurations(ring, nil); err != nil {
			break
		}
	}
	if uerr := p.unfollowSelf(); err == nil {
		err = uerr
	}
	if err == nil {
		_, err = readDurations(ring, nil) // of what the thread did besides
	}
	return err
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

var root = [...]byte{'/', 0}

func round(calls int, nr, a uintptr, b unsafe.Pointer, c, d uintptr, e unsafe.Pointer) int64 {
	start := time.Now()
	for range calls {
		_, _, _ = unix.RawSyscall6(nr, a, uintptr(b), c, d, uintptr(e), 0)
	}
	return time.Since(start).Nanoseconds() / int64(calls)
}

// readDurations empties the ring and appends the durations of the calls.
func readDurations(ring *ring, durations []int64) ([]int64, error) {
	for {
		b, err := ring.read()
		if err != nil {
			return nil, fmt.Errorf("calibrate: %w", err)
		}
		if b == nil {
			ring.release()
			return durations, nil
		}
		var c record.Call
		if view(b, &c) && c.Nr == unix.SYS_PREAD64 {
			durations = append(durations, c.Dur)
		}
	}
}
