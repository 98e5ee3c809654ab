package picture

import (
	"math"
	"strconv"
)

// axis is an axis with its scale.
type axis struct {
	scale float64 // pixels per unit
	ticks []tick
}

// tick is a labelled place of an axis.
type tick struct {
	at    float64 // pixels from 0
	label string
}

// newAxis returns an axis from 0 to limit that is length pixels long. Its ticks
// are multiples of 1, 2 or 5 times a power of 10, at least gap pixels apart.
func newAxis(limit, length, gap float64) axis {
	if !(limit > 0) || math.IsInf(limit, 0) {
		limit = 1
	}
	a := axis{scale: length / limit}
	least := limit * gap / length
	exponent := math.Floor(math.Log10(least))
	power := math.Pow(10, exponent)
	step := power * 10
	for _, m := range []float64{1, 2, 5} {
		if m*power >= least {
			step = m * power
			break
		}
	}
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	a.ticks = append(a.ticks, tick{0, "0"})
	for i := 1; ; i++ {
		v := float64(i) * step
		if v > limit {
			return a
		}
		a.ticks = append(a.ticks, tick{v * a.scale, strconv.FormatFloat(v, 'f', decimals, 64)})
	}
}
