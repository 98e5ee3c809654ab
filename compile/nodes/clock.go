package nodes

import (
	"fmt"

	"pianola/format"
)

// clock turns times of a recording into those of the merged one, in nanoseconds. The zero
// clock changes none.
type clock struct {
	from   int64   // of the first measurement, on the own clock
	offset int64   // then
	drift  float64 // by how much the offset changes in a nanosecond
	moved  int64   // what is added besides
}

// maxDrift bounds how much faster one clock runs than another. Those of machines differ by some
// parts in a million; more says that a measurement is wrong.
const maxDrift = 1e-3

// maxOffset bounds the numbers of a measurement, in nanoseconds (18 years).
const maxOffset = 1 << 59

// newClock returns the clock of measurements at the begin and at the end. Without the one at the
// end, there is no drift.
func newClock(all []format.Clock) (c clock, err error) {
	if len(all) == 0 {
		return c, nil
	}
	for _, m := range all {
		if m.At < 0 || m.At > maxOffset || m.Offset < -maxOffset || m.Offset > maxOffset || m.Round < 0 || m.Round > maxOffset {
			return c, fmt.Errorf("a measurement of the clock is out of range: %v", &m)
		}
	}
	first, last := all[0], all[len(all)-1]
	c = clock{from: first.At, offset: first.Offset}
	if span := last.At - first.At; span > 0 {
		// The measurements themselves are wrong by up to half their round trips.
		if c.drift = float64(last.Offset-first.Offset) / float64(span); c.drift < -maxDrift || c.drift > maxDrift {
			if wrong := (first.Round + last.Round) / 2; last.Offset-first.Offset > wrong || first.Offset-last.Offset > wrong {
				return c, fmt.Errorf("the clock runs %.1g times as fast as that of rank 0", 1+c.drift)
			}
			c.drift = 0
		}
	}
	return c, nil
}

// at returns the time on the clock of the merged recording.
func (c *clock) at(t int64) int64 {
	return t + c.offset + int64(c.drift*float64(t-c.from)) + c.moved
}
