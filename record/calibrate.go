package record

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// calibration measures a format.Cost on the calling thread, which must be locked: reads
// of a page from the page cache in a loop, first free and then recorded. A call
// that moves no data would show less, for it leaves the recorder's lines in the
// processor's caches. It takes some milliseconds. The figures are those of the
// quickest round of each: other work on the machine, and be it on the other
// half of the same core, adds to a round and never takes away, and of many short
// ones some meet none.
type calibration struct {
	fd       int // of a regular file of a page
	page     []byte
	free     int64 // nanoseconds per call, not recorded
	freeRich int64 // the same of a call that is recorded with a name and what it returned
}

const (
	calibrationRounds = 150
	calibrationCalls  = 100 // per round
)

// newCalibration measures the system call as it is without a recorder, and so
// must come before the program is attached.
func newCalibration() (*calibration, error) {
	fd, err := unix.MemfdCreate("calibration", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	c := &calibration{fd: fd, page: make([]byte, 4096)}
	if _, err := unix.Write(fd, c.page); err != nil {
		c.close()
		return nil, fmt.Errorf("calibrate: %w", err)
	}
	c.free, c.freeRich = math.MaxInt64, math.MaxInt64
	for range calibrationRounds {
		c.free = min(c.free, c.plain(calibrationCalls))
		c.freeRich = min(c.freeRich, c.rich(calibrationCalls))
	}
	return c, nil
}

func (c *calibration) close() { _ = unix.Close(c.fd) }

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

// measure compares with calls that are recorded. The program must be attached;
// the ring is left empty.
func (c *calibration) measure(r *bpf.Recorder, ring *ring) (format.Cost, error) {
	if err := r.FollowSelf(); err != nil {
		return format.Cost{}, err
	}
	// The ring must hold a round, whatever its size.
	calls := min(calibrationCalls, ring.size()/richBytes/2)
	whole, wholeRich, inner := int64(math.MaxInt64), int64(math.MaxInt64), int64(math.MaxInt64)
	durations := make([]int64, 0, calls)
	var err error
	for range calibrationRounds {
		took := c.plain(calls)
		if durations, err = readDurations(ring, durations[:0]); err != nil {
			break
		}
		whole, inner = min(whole, took), min(inner, median(durations))
		wholeRich = min(wholeRich, c.rich(calls))
		if _, err = readDurations(ring, nil); err != nil {
			break
		}
	}
	if uerr := r.UnfollowSelf(); err == nil {
		err = uerr
	}
	if err == nil {
		_, err = readDurations(ring, nil) // of what the thread did besides
	}
	if err != nil {
		return format.Cost{}, err
	}
	inside := inner - c.free
	// A machine that was busy before and is not now makes less than nothing of it.
	added := max(whole-c.free, 0)
	return format.Cost{Inside: inside, Outside: added - inside, Rich: max(wholeRich-c.freeRich-added, 0)}, nil
}

// readDurations empties the ring and appends the durations of the calls.
func readDurations(ring *ring, durations []int64) ([]int64, error) {
	for {
		record, err := ring.read()
		if err != nil {
			return nil, fmt.Errorf("calibrate: %w", err)
		}
		if record == nil {
			ring.release()
			return durations, nil
		}
		var e bpf.Event
		if _, _, ok := bpf.View(record, &e); ok && e.Nr == unix.SYS_PREAD64 {
			durations = append(durations, int64(e.Dur))
		}
	}
}

// median sorts v and returns its middle, 0 for none.
func median(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
