package device

import (
	"math"
	"math/rand/v2"

	"pianola/format"
)

// Device is a model in use. One thread at a time may call it, and it allocates
// nothing. Times are in nanoseconds of one clock.
type Device struct {
	model    *Model
	replaces bool // a distribution takes the place of what a call took

	fitted *fitted // nil if the model has only explicit rules
	random rand.PCG
	slots  []int64 // of the queue: when each is free
	calls  int64   // when the server of calls is free
	bytes  int64   // when the server of bytes is free
}

// seed makes the draws from distributions the same in each replay.
const seed = 24

// Start returns an idle device. If replaces is true, a distribution replaces the time
// that a call took; otherwise calls take at least as long as they took.
func (m *Model) Start(replaces bool) *Device {
	d := &Device{model: m, replaces: replaces, slots: make([]int64, m.Queue)}
	d.random.Seed(seed, seed)
	if m.Fitted != nil {
		d.fitted = m.Fitted.start()
	}
	return d
}

const (
	// A read or write that takes no more than cachedTime, and cachedByte for each
	// byte, was served by the page cache.
	cachedTime = 8_000
	cachedByte = 0.25
)

// reaches reports whether a call reaches the device: a sync, or one that changes
// or looks up names, and a read or write that took longer than the page cache
// takes. bytes is what it moved.
func reaches(op format.Op, bytes, took int64) bool {
	switch op.Info().Class {
	case format.ClassRead, format.ClassWrite:
		return took > cachedTime+int64(cachedByte*float64(max(bytes, 0)))
	}
	return onFiles(op)
}

// Covers reports whether a model is about an operation: one on files.
func Covers(op format.Op) bool { return op.Valid() && onFiles(op) }

// End returns when a call ends that was issued at a time, and took so long
// without the model. result is the result of the call. Only a fitted model uses
// the demand of the call.
func (d *Device) End(op format.Op, q Demand, result, issued, took int64) (end int64) {
	m, moves, serves := d.model, false, false
	if d.fitted != nil && q.Work != NoWork {
		if modelled := d.fitted.end(&q, issued) - issued; d.replaces && q.Work != SubmitWork {
			took = modelled
		} else {
			took = max(took, modelled)
		}
	}
	switch op.Info().Class {
	case format.ClassRead, format.ClassWrite:
		moves, serves = true, true
	case format.ClassSync:
		serves = true
	}
	if d.fitted != nil {
		if (moves || serves) && q.Work == NoWork {
			return issued + took
		}
	} else if !reaches(op, result, took) {
		return issued + took
	}
	begin, slot := issued, -1
	if serves && len(d.slots) > 0 {
		slot = 0
		for i, free := range d.slots {
			if free < d.slots[slot] {
				slot = i
			}
		}
		begin = max(begin, d.slots[slot])
	}
	end = begin + d.latency(m.of(op), took)
	if serves && m.IOPS > 0 {
		d.calls = max(d.calls, begin) + int64(1e9/m.IOPS)
		end = max(end, d.calls)
	}
	if moves && m.Bandwidth > 0 && result > 0 {
		d.bytes = max(d.bytes, begin) + int64(float64(result)*1e9/float64(m.Bandwidth))
		end = max(end, d.bytes)
	}
	if slot >= 0 {
		d.slots[slot] = end
	}
	return end
}

// latency returns how long a call takes under a rule.
func (d *Device) latency(l *latency, took int64) int64 {
	switch {
	case l == nil:
		return took
	case l.points == nil:
		return int64(float64(took)*l.factor) + l.added
	}
	drawn := l.at(float64(d.random.Uint64()>>11) / (1 << 53))
	if d.replaces {
		return drawn
	}
	return max(took, drawn)
}

// at returns a percentile.
func (l *latency) at(part float64) int64 { return int64(between(l.points, part)) }

// between returns a percentile: between two that are given, values grow by the same
// factor for the same part, and beyond them they don't change.
func between(points []point, part float64) float64 {
	before := points[0]
	for _, p := range points {
		if part <= p.part {
			if p.part == before.part {
				return p.value
			}
			return before.value * math.Pow(p.value/before.value, (part-before.part)/(p.part-before.part))
		}
		before = p
	}
	return before.value
}
