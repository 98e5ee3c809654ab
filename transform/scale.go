package transform

import (
	"fmt"
	"math"
	"strconv"

	"pianola/format"
)

func init() {
	Register(Transform{
		Name: "scale-compute", Arg: "=X",
		Doc:   "makes what threads compute between calls X times as long",
		Keeps: "all but time",
		New:   newScale,
	})
}

// maxScale bounds the factor.
const maxScale = 1e6

func newScale(arg string) (Func, error) {
	x, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(x >= 0 && x <= maxScale) {
		return nil, fmt.Errorf("%q is no number from 0 to %d", arg, int(maxScale))
	}
	return newStaged(0, func() stage { return scale(x) }), nil
}

// scale is the factor.
type scale float64

// event implements stage.
func (x scale) event(s *staged, e *format.Event) error {
	t := s.Thread(e)
	last, met := t.Data.(*int64)
	if !met {
		created := t.Created
		last = &created
		t.Data = last
	}
	en := s.push(e)
	if gap := e.Start - *last; gap > 0 {
		en.Notes = setNote(en.Notes, "cut", sum(x.of(cutBefore(e)), gap-x.of(gap)))
		if off := offProcessor(e); off > 0 {
			en.Notes = setNote(en.Notes, "off", x.of(off))
		}
	}
	// What a call takes that makes or ends a process counts as compute.
	if info := e.Op.Info(); info.Class == format.ClassProcess && info.Effect != format.EffectWait {
		*last = e.Start
	} else {
		*last = e.End()
	}
	f, d := s.About(t, e)
	s.Apply(t, e, f, d)
	return nil
}

func (x scale) of(nanos int64) int64 {
	return int64(min(max(float64(nanos)*float64(x), -math.MaxInt64/2), math.MaxInt64/2))
}

func (scale) decide(*staged, *entry) {}

func (scale) end(*staged) {}
