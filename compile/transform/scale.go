package transform

import (
	"fmt"
	"math"
	"strconv"

	"pianola/format"
	"pianola/format/process"
)

var scaleComputeTransform = Transform{
	Name: "scale-compute", Arg: Arg{Form: "X"},
	Doc:   "multiplies the compute between calls by X",
	Keeps: "everything except time",
	New:   newScale,
}

// maxScale bounds the factor.
const maxScale = 1e6

func newScale(arg string) (Func, error) {
	x, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(x >= 0 && x <= maxScale) {
		return nil, fmt.Errorf("%q is not a number from 0 to %d", arg, int(maxScale))
	}
	return newStaged(0, func() stage { return scale(x) }), nil
}

// scale is the factor.
type scale float64

// paced is the recorded time of a thread as compile will see it, in
// nanoseconds.
type paced struct {
	last  int64 // end of the newest event
	taken int64 // by the recorder since
	debt  int64 // what was taken or cut besides of time that was not there
}

// span implements spanning: a factor of compute would also scale the waits of ranks that poll.
func (x scale) span(*staged, *format.Event) {}

// event implements stage. It does not scale the time that compile subtracts anyway.
func (x scale) event(s *staged, f *process.Fact) error {
	t, e := f.Thread, f.Event
	en := s.push(e)
	if e.Beside() {
		s.Apply(f)
		return nil
	}
	p, met := t.Data.(*paced)
	if !met {
		p = &paced{last: t.Created}
		t.Data = p
	}
	gap, was := e.Start-p.last-p.taken-s.carried.costs.Of(e.TID).Before(e), max(e.Cut, -math.MaxInt64)
	compute := sum(gap-p.debt, -was)
	p.debt = max(-compute, 0)
	if cut := gap - x.of(max(compute, 0)); cut != was {
		en.Cut = cut
	}
	en.Off = e.Off.Each(x.of)
	p.last, p.taken = e.End(), s.carried.costs.Of(e.TID).Around(e.Op)
	// The duration of a call that starts or ends a process counts as compute.
	if info := e.Op.Info(); info.Class == format.ClassProcess && !info.Acts.Any(format.Awaits|format.Blocks) {
		p.last, p.taken = e.Start, p.taken+s.carried.costs.Of(e.TID).Inside
	}
	s.Apply(f)
	return nil
}

func (x scale) of(nanos int64) int64 {
	return int64(min(max(float64(nanos)*float64(x), -math.MaxInt64/2), math.MaxInt64/2))
}
