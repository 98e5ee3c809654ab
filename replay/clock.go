package replay

import (
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	"pianola/stats"

	"golang.org/x/sys/unix"
)

// clock tells the nanoseconds since its base, at the rate of CLOCK_MONOTONIC.
//
// Where the kernel itself keeps time by the processor's counter, so does the
// clock: reading that costs 10 ns where time.Since costs 25, and reading the
// clock is most of what an event costs beside its call. The counter's rate is
// measured against CLOCK_MONOTONIC at the start, to about a millionth.
type clock struct {
	base time.Time
	mono int64 // CLOCK_MONOTONIC at base

	rate  uint64 // nanoseconds of a tick, in 1/2^32; 0 where ticks are not used
	tick0 uint64
	at0   int64 // nanoseconds since base at tick0

	cost   int64 // nanoseconds of one reading
	margin int64 // how much earlier to wake than due, so as to be awake in time
}

func (c *clock) now() int64 {
	if c.rate == 0 {
		return int64(time.Since(c.base))
	}
	hi, lo := bits.Mul64(ticks()-c.tick0, c.rate)
	return c.at0 + int64(hi<<32|lo>>32)
}

// deadline returns when CLOCK_MONOTONIC will be where the clock will be at t.
// It is reckoned from now, so that the error of the rate does not add up.
func (c *clock) deadline(t int64) int64 {
	return c.mono + int64(time.Since(c.base)) + t - c.now()
}

// The bounds of the margin: below the first a wake-up cannot be on time, above
// the second spinning would take a processor from the replayed work.
const (
	minMargin = 20_000
	maxMargin = 200_000
)

// newClock makes a clock and measures what it costs and how late sleeps end on
// this machine now. It takes some twenty milliseconds.
func newClock() *clock {
	c := &clock{base: time.Now()}
	measured := make(chan struct{})
	go func() {
		defer close(measured)
		// Never unlocked: the thread's timer slack is no other goroutine's.
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
		var f futexEvent
		f.wait(f.count.Load(), c.deadline(at+calibration))
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

// calibration is how long the counter's rate is measured for, in nanoseconds.
// Both ends are known to 20 ns or so, a millionth of it.
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

// lateSleep returns how late a sleep ends at nearly the worst, in nanoseconds.
func (c *clock) lateSleep() int64 {
	const nap = 50_000
	late := make([]int64, 50)
	var f futexEvent
	for i := range late {
		due := c.now() + nap
		f.wait(f.count.Load(), c.deadline(due))
		late[i] = c.now() - due
	}
	slices.Sort(late)
	return late[len(late)-2]
}

// counts reports whether the kernel keeps time by the counter that ticks
// reads: then it runs at one rate, everywhere, and never stops.
func counts() bool {
	if !hasTicks {
		return false
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == "tsc"
}

// fineTimers asks the kernel to end the calling thread's sleeps on time; the
// default lets it be 50 µs late.
func fineTimers() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }

// pin keeps the calling goroutine on its processor slot until unpin. Without
// it the scheduler takes the slot away every 10 ms from a goroutine that
// issues raw system calls only, and the way back through two other threads
// costs tens of microseconds. While pinned a goroutine must not block in Go;
// blocking in the kernel is what it is for.
//
//go:linkname pin runtime.procPin
func pin() int

//go:linkname unpin runtime.procUnpin
func unpin()
