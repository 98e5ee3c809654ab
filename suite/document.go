package suite

import (
	"pianola/profile"
	"pianola/stats"
)

// Document returns the report, to be written as JSON. Unknown values are left out.
func (r *Report) Document() any {
	d := document{Confidence: Confidence, Interrupted: r.Interrupted, Saved: r.Saved, Workloads: []workloadDocument{}}
	for side, name := range r.Sides {
		d.Sides = append(d.Sides, sideDocument{Name: name, ratiosDocument: r.ratios(r.Workloads, side)})
	}
	for _, w := range r.Workloads {
		one := workloadDocument{Name: w.Name, Recorded: means([]*profile.Profile{w.Recorded})}
		for side := range w.Sides {
			s := &w.Sides[side]
			runs := runsDocument{
				Name: r.Sides[side], Runs: len(s.Profiles), RunSeconds: append([]float64{}, measures[0].values(s.Profiles)...), Seconds: means(s.Profiles),
				ratiosDocument: r.ratios([]*Workload{w}, side), Failed: s.Failed, Differed: s.Differed, Example: s.Example, Refused: s.Refused, Bound: s.binds(),
			}
			one.Sides = append(one.Sides, runs)
		}
		d.Workloads = append(d.Workloads, one)
	}
	return d
}

type document struct {
	Confidence  float64            `json:"confidence"`
	Interrupted bool               `json:"interrupted"`
	Saved       bool               `json:"saved"` // the first side is a baseline
	Sides       []sideDocument     `json:"sides"`
	Workloads   []workloadDocument `json:"workloads"`
}

// sideDocument is a side, with the geometric means of all workloads.
type sideDocument struct {
	Name string `json:"name"`
	ratiosDocument
}

type ratiosDocument struct {
	ToRecorded byMeasure[*Ratio] `json:"to_recorded"`
	ToFirst    byMeasure[*Ratio] `json:"to_first,omitzero"` // not of the first side
}

type workloadDocument struct {
	Name     string              `json:"name"`
	Recorded byMeasure[*float64] `json:"recorded_seconds"`
	Sides    []runsDocument      `json:"sides"`
}

type runsDocument struct {
	Name       string              `json:"name"`
	Runs       int                 `json:"runs"`
	RunSeconds []float64           `json:"run_seconds"` // of each run, in their order
	Seconds    byMeasure[*float64] `json:"seconds"`     // geometric means of the runs
	ratiosDocument
	Failed   int64  `json:"failed"` // events of a run, at most
	Differed int64  `json:"differed"`
	Example  string `json:"example,omitempty"`
	Refused  string `json:"refused,omitempty"`
	Bound    string `json:"bound,omitempty"` // what binds the typical run, if storage does not
}

// byMeasure has a field for each of measures, in their order.
type byMeasure[T any] struct {
	RunTime T `json:"run_time,omitzero"`
	IO      T `json:"io,omitzero"`
	ReadP99 T `json:"read_p99,omitzero"`
	SyncP99 T `json:"sync_p99,omitzero"`
}

func newByMeasure[T any](of func(m *measure) T) byMeasure[T] {
	return byMeasure[T]{of(&measures[0]), of(&measures[1]), of(&measures[2]), of(&measures[3])}
}

// means returns the geometric mean of each measure.
func means(runs []*profile.Profile) byMeasure[*float64] {
	return newByMeasure(func(m *measure) *float64 {
		v := m.values(runs)
		if v == nil {
			return nil
		}
		return new(stats.GeometricMean(v))
	})
}

// ratios returns those of a side, for one workload or over all that have a measure on all
// sides.
func (r *Report) ratios(workloads []*Workload, side int) ratiosDocument {
	of := func(m *measure) []*Workload {
		if len(workloads) == 1 {
			return workloads
		}
		return m.shared(workloads)
	}
	d := ratiosDocument{ToRecorded: newByMeasure(func(m *measure) *Ratio { return m.toRecorded(of(m), side) })}
	if side > 0 {
		d.ToFirst = newByMeasure(func(m *measure) *Ratio { return m.toFirst(of(m), side) })
	}
	return d
}
