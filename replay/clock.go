package replay

import (
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"pianola/internal/eventcount"
	"pianola/stats"

	"golang.org/x/sys/unix"
)

// clock measures nanoseconds since its base, at the rate of CLOCK_MONOTONIC.
//
// If the kernel keeps time by the processor's counter, the clock reads that counter.
// That takes 10 ns instead of 25 for time.Since, and reading the clock is most of the
// engine's own cost of an event. The counter's rate is measured against CLOCK_MONOTONIC
// at the start, to about a millionth.
type clock struct {
	base time.Time
	mono int64 // CLOCK_MONOTONIC at base

	rate  uint64 // nanoseconds of a tick, in 1/2^32; 0 if ticks are not used
	tick0 uint64
	at0   int64 // nanoseconds since base at tick0

	cost   int64 // nanoseconds of one reading
	margin int64 // how many nanoseconds before the due time to wake
}

func (c *clock) now() int64 {
	if c.rate == 0 {
		return int64(time.Since(c.base))
	}
	hi, lo := bits.Mul64(ticks()-c.tick0, c.rate)
	return c.at0 + int64(hi<<32|lo>>32)
}

// deadline converts t to CLOCK_MONOTONIC. It is computed from now, so that the
// error of the rate does not add up.
func (c *clock) deadline(t int64) int64 {
	return c.mono + int64(time.Since(c.base)) + t - c.now()
}

// at converts CLOCK_MONOTONIC, as deadline does the other way.
func (c *clock) at(mono int64) int64 {
	return c.now() + mono - c.mono - int64(time.Since(c.base))
}

// The bounds of the margin. Below the first a wake-up is late. Above the
// second, spinning takes a processor from the replayed work.
const (
	minMargin = 20_000
	maxMargin = 200_000
)

// makeClock makes the clock of a run. Fuzz tests share one among all of theirs.
var makeClock = newClock

// newClock makes a clock. It measures the cost of a reading and how late sleeps
// end on this machine, which takes some twenty milliseconds.
func newClock() *clock {
	c := &clock{base: time.Now()}
	measured := make(chan struct{})
	go func() {
		defer close(measured)
		// Never unlocked: no other goroutine should get this thread's timer
		// slack.
		runtime.LockOSThread()
		fineTimers()
		c.measure()
	}()
	<-measured
	return c
}

func (c *clock) measure() {
	offsets := make([]int64, 255)
	for i := range offsets {
		var ts unix.Timespec
		before := c.now()
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		offsets[i] = ts.Nano() - (before+c.now())/2
	}
	c.mono = stats.Median(offsets)

	tick, at := c.simultaneous()
	c.margin = min(max(c.lateSleep(), minMargin), maxMargin)
	if counts() {
		var f eventcount.Count
		f.Wait(f.Value(), c.deadline(at+calibration))
		c.tick0, c.at0 = c.simultaneous()
		c.rate = uint64(float64(c.at0-at) / float64(c.tick0-tick) * (1 << 32))
	}

	costs := make([]int64, 255)
	for i := range costs {
		before := c.now()
		costs[i] = c.now() - before
	}
	c.cost = stats.Median(costs)
}

// calibration is the time for which the counter's rate is measured, in
// nanoseconds. The error of both ends is about 20 ns, a millionth of it.
const calibration = 20_000_000

// simultaneous returns a reading of the counter and the time of it.
func (c *clock) simultaneous() (tick uint64, at int64) {
	best := ^uint64(0)
	for range 64 {
		before := ticks()
		now := int64(time.Since(c.base))
		if took := ticks() - before; took < best {
			best, tick, at = took, before+took/2, now
		}
	}
	return tick, at
}

// lateSleep returns how late sleeps end, as a high percentile, in nanoseconds.
func (c *clock) lateSleep() int64 {
	const nap = 50_000
	late := make([]int64, 50)
	var f eventcount.Count
	for i := range late {
		due := c.now() + nap
		f.Wait(f.Value(), c.deadline(due))
		late[i] = c.now() - due
	}
	slices.Sort(late)
	return late[len(late)-2]
}

// counts reports whether the kernel keeps time by the counter that ticks reads.
// Then the counter has one rate on all processors and never stops.
func counts() bool {
	if !hasTicks {
		return false
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == "tsc"
}

// fineTimers asks the kernel to end the calling thread's sleeps on time. The
// default slack is 50 µs.
func fineTimers() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// pin keeps the calling goroutine on its processor slot until unpin. Without
// it, the scheduler takes the slot away every 10 ms from a goroutine that only
// makes raw system calls, and getting it back through two other threads costs
// tens of microseconds. A pinned goroutine must not block in Go; it may block
// in the kernel.
//
//go:linkname pin runtime.procPin
func pin() int

//go:linkname unpin runtime.procUnpin
func unpin()

// unpin lets the goroutine of the worker, which calls it, block in Go until pin. Pairs of
// the two nest, so a function that needs this need not know whether its caller did it.
func (w *worker) unpin() {
	if w.unpinned++; w.unpinned == 1 {
		unpin()
	}
}

func (w *worker) pin() {
	if w.unpinned--; w.unpinned == 0 {
		pin()
	}
}
