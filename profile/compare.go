package profile

import (
	"math"
	"slices"
)

// noiseShare is the part of the application's run time below which a category
// is noise: see Comparison.Judge.
const noiseShare = 0.01

// RunTimeRow is the name of the row that compares the run times.
const RunTimeRow = "run_time"

// Comparison sets an application beside one or more replays of it. Times are
// in seconds. Its JSON form has snake_case keys and leaves out what is not
// known.
type Comparison struct {
	Replays    int     `json:"replays"`
	NoiseFloor float64 `json:"noise_floor_seconds"`
	Rows       []Row   `json:"rows"` // the categories in their order, then RunTimeRow
}

// Row compares one category, or the run times.
type Row struct {
	Name        string    `json:"name"`
	Application Measure   `json:"application"`
	Replay      Measure   `json:"replay"`                 // of several replays the medians
	Range       *Range    `json:"replay_range,omitempty"` // of several replays; nil for one
	Ratio       *float64  `json:"ratio,omitempty"`        // replay/application; nil where either is not known or the application's is 0
	Distance    *Distance `json:"distance,omitempty"`     // of several replays the medians; nil for the run time and where either has no time
}

// Measure is one side of a row. In the row of the run time calls, errors and
// bytes are those of all categories together.
type Measure struct {
	Seconds *float64 `json:"seconds,omitempty"` // nil where no call has a duration
	Calls   int64    `json:"calls"`
	Errors  int64    `json:"errors"`
	Bytes   int64    `json:"bytes"`
	Unknown int64    `json:"calls_without_duration,omitempty"` // not in Seconds
}

// Range is the spread of the replays around their median, in seconds.
type Range struct {
	Min float64 `json:"min_seconds"`
	Max float64 `json:"max_seconds"`
}

// Compare compares replays with the application they replay.
func Compare(app *Profile, replays ...*Profile) *Comparison {
	c := &Comparison{Replays: len(replays), NoiseFloor: noiseShare * seconds(app.RunTime)}
	for k := range NumCategories {
		c.Rows = append(c.Rows, compareRow(k.String(), app, replays, func(p *Profile) side {
			return side{measure(&p.Categories[k], p.Categories[k].Nanos), p.Curves[k]}
		}))
	}
	c.Rows = append(c.Rows, compareRow(RunTimeRow, app, replays, func(p *Profile) side {
		sum := p.IO()
		m := measure(&sum, p.RunTime)
		// Start times alone tell the run time, to the last call's start.
		m.Seconds = nil
		if p.RunTime > 0 {
			m.Seconds = new(seconds(p.RunTime))
		}
		return side{Measure: m}
	}))
	return c
}

// side is what one profile brings to a row.
type side struct {
	Measure
	curve Curve
}

func measure(t *Total, nanos int64) Measure {
	m := Measure{Calls: t.Calls, Errors: t.Errors, Bytes: t.Bytes, Unknown: t.Unknown}
	if t.Calls == 0 || t.Unknown < t.Calls {
		m.Seconds = new(seconds(nanos))
	}
	return m
}

func compareRow(name string, app *Profile, replays []*Profile, of func(*Profile) side) Row {
	var (
		a                            = of(app)
		times, largest, mean         []float64
		calls, errs, bytes, unknowns []int64
	)
	for _, p := range replays {
		r := of(p)
		if r.Seconds != nil {
			times = append(times, *r.Seconds)
		}
		calls, errs = append(calls, r.Calls), append(errs, r.Errors)
		bytes, unknowns = append(bytes, r.Bytes), append(unknowns, r.Unknown)
		if len(a.curve) > 0 && len(r.curve) > 0 {
			d := distance(a.curve, r.curve)
			largest, mean = append(largest, d.Max), append(mean, d.Mean)
		}
	}
	row := Row{
		Name:        name,
		Application: a.Measure,
		Replay:      Measure{Calls: median(calls), Errors: median(errs), Bytes: median(bytes), Unknown: median(unknowns)},
	}
	if len(times) > 0 {
		row.Replay.Seconds = new(median(times))
	}
	if len(times) > 1 {
		row.Range = &Range{slices.Min(times), slices.Max(times)}
	}
	if app, replay := row.Application.Seconds, row.Replay.Seconds; app != nil && *app > 0 && replay != nil {
		row.Ratio = new(*replay / *app)
	}
	if len(largest) > 0 {
		row.Distance = &Distance{Max: median(largest), Mean: median(mean)}
	}
	return row
}

// median returns the median of v, which it sorts, and 0 for none.
func median[T int64 | float64](v []T) T {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	low, high := v[(len(v)-1)/2], v[len(v)/2]
	return low + (high-low)/2
}

func seconds(nanos int64) float64 { return float64(nanos) / 1e9 }

// Verdict says whether replays are near enough to their application, and which
// rows, by name, led to that.
type Verdict struct {
	Tolerance float64  `json:"tolerance"`
	Within    bool     `json:"within"`
	Outside   []string `json:"outside"`           // rows that differ by more
	Noise     []string `json:"below_noise_floor"` // rows too short to be judged
	Unknown   []string `json:"unknown"`           // rows whose time one of the sides does not tell
}

// Judge says whether each row's replay time differs from the application's by
// no more than the tolerance, a part of the application's time (0.1 is 10 %).
//
// A category without calls on both sides has nothing to judge, and two kinds of
// rows do not count. A category whose time is below the noise
// floor on both sides, 1 % of the application's run time, does not: a few calls
// that find a cache in another state can double it, and the run would hardly
// differ. A row whose time is not known cannot. The run time always counts; if
// it is not known, nothing is within any tolerance.
func (c *Comparison) Judge(tolerance float64) Verdict {
	v := Verdict{Tolerance: tolerance, Outside: []string{}, Noise: []string{}, Unknown: []string{}}
	known := false
	for i := range c.Rows {
		r := &c.Rows[i]
		app, replay := r.Application.Seconds, r.Replay.Seconds
		switch {
		case app == nil || replay == nil:
			v.Unknown = append(v.Unknown, r.Name)
			continue
		case r.Name != RunTimeRow && r.Application.Calls == 0 && r.Replay.Calls == 0:
			continue
		case r.Name != RunTimeRow && max(*app, *replay) < c.NoiseFloor:
			v.Noise = append(v.Noise, r.Name)
			continue
		// 1.1 is within 10 % of 1, though the floats' difference is not.
		case math.Abs(*replay-*app) > tolerance**app*(1+1e-9):
			v.Outside = append(v.Outside, r.Name)
		}
		known = known || r.Name == RunTimeRow
	}
	v.Within = known && len(v.Outside) == 0
	return v
}

// Within reports whether Judge finds nothing outside the tolerance.
func (c *Comparison) Within(tolerance float64) bool { return c.Judge(tolerance).Within }
