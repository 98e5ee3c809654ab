package replay

import (
	"runtime"
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// clock tells the nanoseconds since its base, by CLOCK_MONOTONIC.
//
// time.Since costs 25 ns where reading the clock through go:linkname costs 24,
// so the standard library does.
type clock struct {
	base time.Time
	mono int64 // CLOCK_MONOTONIC at base

	cost   int64 // nanoseconds of one reading
	margin int64 // how much earlier to wake than due, so as to be awake in time
}

func (c *clock) now() int64 { return int64(time.Since(c.base)) }

// The bounds of the margin: below the first a wake-up cannot be on time, above
// the second spinning would take a processor from the replayed work.
const (
	minMargin = 20_000
	maxMargin = 200_000
)

// newClock makes a clock and measures what it costs and how late sleeps end on
// this machine now. It takes a few milliseconds.
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
	costs := make([]int64, 255)
	offsets := make([]int64, len(costs))
	for i := range costs {
		var ts unix.Timespec
		before := c.now()
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		after := c.now()
		offsets[i] = ts.Nano() - (before+after)/2
		costs[i] = c.now() - after
	}
	c.mono, c.cost = median(offsets), median(costs)

	const nap = 50_000
	late := make([]int64, 50)
	var b bell
	for i := range late {
		due := c.now() + nap
		b.wait(b.rung.Load(), c.mono+due)
		late[i] = c.now() - due
	}
	slices.Sort(late)
	c.margin = min(max(late[len(late)-2], minMargin), maxMargin)
}

func median(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
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
