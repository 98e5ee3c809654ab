package engine

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	"pianola/internal/eventcount"
	"pianola/internal/stats"
	"pianola/internal/ticks"
)

// Clock measures nanoseconds since its base, at the rate of CLOCK_MONOTONIC.
//
// If the kernel keeps time by the processor's counter, the clock reads that counter.
// That takes 10 ns instead of 25 for time.Since, and reading the clock is most of the
// engine's own cost of an event. The counter's rate is measured against CLOCK_MONOTONIC
// at the start, to about a millionth.
type Clock struct {
	base time.Time
	mono int64 // CLOCK_MONOTONIC at base

	rate  uint64 // nanoseconds of a tick, in 1/2^32; 0 if ticks are not used
	tick0 uint64
	at0   int64 // nanoseconds since base at tick0

	Cost   int64 // nanoseconds of one reading
	Margin int64 // how many nanoseconds before the due time to wake
}

// Now returns the time.
func (c *Clock) Now() int64 {
	if c.rate == 0 {
		return int64(time.Since(c.base))
	}
	hi, lo := bits.Mul64(ticks.Now()-c.tick0, c.rate)
	return c.at0 + int64(hi<<32|lo>>32)
}

// deadline converts t to CLOCK_MONOTONIC. It is computed from now, so that the
// error of the rate does not add up.
func (c *Clock) deadline(t int64) int64 {
	return c.mono + int64(time.Since(c.base)) + t - c.Now()
}

// at converts from CLOCK_MONOTONIC. It is the inverse of deadline. It reads both clocks
// several times, because a thread that loses its processor in between is milliseconds off.
func (c *Clock) at(mono int64) (at int64) {
	least := int64(math.MaxInt64)
	for range 8 {
		before := c.Now()
		now := nanotime()
		after := c.Now()
		if after-before < least {
			least, at = after-before, before+(after-before)/2+mono-now
		}
	}
	return at
}

// The bounds of the margin. Below the first a wake-up is late. Above the
// second, spinning takes a processor from the replayed work.
const (
	minMargin = 20_000
	maxMargin = 200_000
)

// NewClock makes a clock. It measures the cost of a reading, and how late sleeps end on a
// thread prepared by sleeper (see Stage.Sleeper). The first clock of a process also measures
// the rate of the counter, which takes about twenty milliseconds.
func NewClock(sleeper func() error) *Clock {
	c := &Clock{base: time.Now()}
	c.mono = nanotime() - int64(time.Since(c.base))
	measured := make(chan struct{})
	go func() {
		defer close(measured)
		// Never unlocked: no other goroutine should get this thread's timer
		// slack.
		runtime.LockOSThread()
		if sleeper != nil {
			_ = sleeper() // workers report it
		}
		c.measure()
	}()
	<-measured
	return c
}

// nanotime reads CLOCK_MONOTONIC, in nanoseconds.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

func (c *Clock) measure() {
	tick, at := c.simultaneous()
	c.Margin = min(max(c.lateSleep(), minMargin), maxMargin)
	if ticks.Counts() {
		known := counterRate.Load()
		if known == 0 {
			var f eventcount.Count
			f.Wait(f.Value(), c.deadline(at+calibration))
		}
		c.tick0, c.at0 = c.simultaneous()
		if known == 0 {
			known = uint64(float64(c.at0-at) / float64(c.tick0-tick) * (1 << 32))
			counterRate.Store(known)
		}
		c.rate = known
	}

	costs := make([]int64, 255)
	for i := range costs {
		before := c.Now()
		costs[i] = c.Now() - before
	}
	c.Cost = stats.Median(costs)
}

// counterRate is the rate of the first clock of this process, which the others share: it
// is the machine's.
var counterRate atomic.Uint64

// calibration is the time for which the counter's rate is measured, in
// nanoseconds. The error of both ends is about 20 ns, a millionth of it.
const calibration = 20_000_000

// simultaneous returns a reading of the counter and the time of it.
func (c *Clock) simultaneous() (tick uint64, at int64) {
	best := ^uint64(0)
	for range 64 {
		before := ticks.Now()
		now := int64(time.Since(c.base))
		if took := ticks.Now() - before; took < best {
			best, tick, at = took, before+took/2, now
		}
	}
	return tick, at
}

// lateSleep returns how late sleeps end, as a high percentile, in nanoseconds.
func (c *Clock) lateSleep() int64 {
	const nap = 50_000
	late := make([]int64, 50)
	var f eventcount.Count
	for i := range late {
		due := c.Now() + nap
		f.Wait(f.Value(), c.deadline(due))
		late[i] = c.Now() - due
	}
	slices.Sort(late)
	return late[len(late)-2]
}

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

// Pinned runs f with the calling goroutine on its processor slot, as a worker is.
func Pinned(f func()) {
	pin()
	defer unpin()
	f()
}

// Unpin lets the calling goroutine of the worker block in Go until Pin. Pairs of the two
// nest, so a function can call them whether or not its caller has.
func (w *Worker) Unpin() {
	if w.unpinned++; w.unpinned == 1 {
		unpin()
	}
}

// Pin ends an Unpin.
func (w *Worker) Pin() {
	if w.unpinned--; w.unpinned == 0 {
		pin()
	}
}
