package profile

import (
	"slices"
	"sort"
)

// maxAtOnce is the number of threads in I/O at once from which on more are not
// told apart.
const maxAtOnce = 64

// levels holds, for each number of threads up to maxAtOnce, the nanoseconds in which so
// many were in I/O at once. Larger numbers count as maxAtOnce.
type levels [maxAtOnce + 1]int64

// concurrency finds how many calls were under way at once, for how long. Calls
// come in the order of their ends, as in a script, or of their starts, or
// nearly so. Those of one thread do not overlap.
//
// The last steps of the number over time are kept as they are. Older ones are
// added up to stretches of time: what a later call changes there is exact for
// the stretches that it covers, and taken in proportion at its beginning. So
// the whole is exact for up to maxSteps/2 calls, and wrong by no more than a
// fraction of a stretch for a call that reaches farther back.
type concurrency struct {
	steps []step // in order of time, the first where the stretches end
	past  []stretch
}

// step says that from here on so many calls are under way.
type step struct {
	at    int64
	calls int32
}

// stretch is a piece of time before the steps.
type stretch struct {
	from, to int64
	nanos    levels // from level 1; what remains of the time is level 0
}

const (
	maxSteps     = 1 << 12
	maxStretches = 128

	// nearSteps is how many steps are looked at before the rest is halved.
	nearSteps = 16
)

// add adds a call that takes time, of one of so many threads that there were so
// far: no more calls were under way at once.
func (c *concurrency) add(start, end int64, threads int) {
	if len(c.steps) == 0 {
		c.steps = append(make([]step, 0, maxSteps+2), step{at: start})
	}
	if len(c.steps) >= maxSteps {
		c.forget()
	}
	if first := c.steps[0].at; start < first && len(c.past) == 0 {
		c.steps = slices.Insert(c.steps, 0, step{at: start})
	} else if start < first {
		c.reach(start, min(end, first), threads)
		if start = first; end <= start {
			return
		}
	}
	from := c.cut(start)
	to := c.cut(end)
	for i := from; i < to; i++ {
		c.steps[i].calls++
	}
}

// cut makes a step begin at a time that is not before the first, and returns
// its place.
func (c *concurrency) cut(at int64) int {
	i := len(c.steps) - 1
	for tries := 0; c.steps[i].at > at; i-- {
		if tries++; tries == nearSteps {
			i = sort.Search(i, func(i int) bool { return c.steps[i].at > at })
		}
	}
	if c.steps[i].at == at {
		return i
	}
	now := step{at, c.steps[i].calls}
	if i++; i == len(c.steps) { // as nearly always
		c.steps = append(c.steps, now)
	} else {
		c.steps = slices.Insert(c.steps, i, now)
	}
	return i
}

// forget turns the older half of the steps into a stretch.
func (c *concurrency) forget() {
	half := len(c.steps) / 2
	s := stretch{from: c.steps[0].at, to: c.steps[half].at}
	for i, at := range c.steps[:half] {
		s.nanos[min(at.calls, maxAtOnce)] += c.steps[i+1].at - at.at
	}
	c.steps = append(c.steps[:0], c.steps[half:]...)
	if len(c.past) == maxStretches {
		for i := range maxStretches / 2 {
			a, b := &c.past[2*i], &c.past[2*i+1]
			sum := stretch{from: a.from, to: b.to}
			for n := range sum.nanos {
				sum.nanos[n] = a.nanos[n] + b.nanos[n]
			}
			c.past[i] = sum
		}
		c.past = c.past[:maxStretches/2]
	}
	c.past = append(c.past, s)
}

// reach adds a call to the stretches.
func (c *concurrency) reach(start, end int64, threads int) {
	if first := &c.past[0]; start < first.from {
		first.nanos[0] += first.from - start
		first.from = start
	}
	for i := len(c.past) - 1; i >= 0 && c.past[i].to > start; i-- {
		s := &c.past[i]
		if s.from < end {
			s.raise(min(end, s.to)-max(start, s.from), threads)
		}
	}
}

// raise lets one more call be under way for so many nanoseconds, in proportion
// of the time at each level below the number of threads.
func (s *stretch) raise(nanos int64, threads int) {
	most := min(threads, maxAtOnce)
	room := s.to - s.from
	for n := most; n <= maxAtOnce; n++ {
		room -= s.nanos[n]
	}
	if threads > maxAtOnce {
		room += s.nanos[maxAtOnce] // more than can be told apart
	}
	for n := most - 1; n >= 0; n-- {
		moved := s.nanos[n]
		if nanos < room {
			moved = int64(float64(moved) * (float64(nanos) / float64(room)))
		}
		s.nanos[n] -= moved
		s.nanos[n+1] += moved
	}
}

// nanos returns the time at each level up to the highest that occurred. Level 0
// is what remains of the run time.
func (c *concurrency) nanos(runTime int64) []int64 {
	var sum levels
	for i := range c.past {
		for n, v := range c.past[i].nanos {
			sum[n] += v
		}
	}
	for i := 1; i < len(c.steps); i++ {
		sum[min(c.steps[i-1].calls, maxAtOnce)] += c.steps[i].at - c.steps[i-1].at
	}
	top := 0
	sum[0] = runTime
	for n := range sum[1:] {
		if sum[n+1] > 0 {
			top = n + 1
		}
		sum[0] -= sum[n+1]
	}
	if top == 0 {
		return nil
	}
	return append([]int64(nil), sum[:top+1]...)
}
