package experiment

import (
	"pianola/experiment/compare"
	"pianola/format"
	"pianola/profile"
)

// Document returns the report, to be written as JSON; docs/schema/experiment.json describes
// its fields. Unknown values are left out. tolerance is that of the verdicts.
func (r *Report) Document(tolerance float64) any {
	d := document{
		Conclusion: r.Conclusion(), Options: map[string]string{}, Interrupted: r.Interrupted,
		Confidence: Confidence, MinRuns: compare.MinRuns, Subjects: []subjectDocument{}, Means: r.means(), Findings: r.findings(),
	}
	for _, o := range r.Options {
		d.Options[o.Name] = o.Value
	}
	for _, s := range r.Subjects {
		one := subjectDocument{Name: s.Name, Coverage: s.Coverage().Document(), Paced: s.Paced, Sides: []sideDocument{}}
		for _, side := range r.sides(s) {
			one.Sides = append(one.Sides, r.sideDocument(side))
		}
		d.Subjects = append(d.Subjects, one)
	}
	if _, steps := r.shape(); !steps && !r.several() {
		for _, p := range r.Pairs() {
			d.Comparisons = append(d.Comparisons, p.Document(tolerance))
		}
	}
	return d
}

type document struct {
	Conclusion  string            `json:"conclusion"`
	Options     map[string]string `json:"options"`
	Interrupted bool              `json:"interrupted"`
	Confidence  float64           `json:"confidence"`
	MinRuns     int               `json:"min_runs"` // for a finding
	Subjects    []subjectDocument `json:"subjects"`
	Means       []Mean            `json:"geometric_means,omitempty"` // of several subjects
	Findings    []findingDocument `json:"findings,omitzero"`         // whose suggestions the candidates are
	Comparisons []any             `json:"comparisons,omitempty"`     // of the recording as it is, of compare.Comparison.Document
}

type subjectDocument struct {
	Name     string         `json:"name,omitempty"`
	Coverage any            `json:"coverage"`
	Paced    *compare.Paced `json:"application_at,omitempty"` // with a speed
	Sides    []sideDocument `json:"sides"`                    // those that gain most first
}

type sideDocument struct {
	Name      string   `json:"name"`
	Kind      Kind     `json:"kind"`
	Steps     []string `json:"steps"`
	Root      string   `json:"root,omitempty"`
	RootName  string   `json:"root_name,omitempty"`
	Storage   string   `json:"storage,omitempty"` // file system and device of the root
	Unchanged bool     `json:"unchanged"`         // the trace
	Runs      int      `json:"runs"`
	compare.SecondsByRow
	Latency    compare.ByRow[profile.Tails] `json:"latency"`
	Calls      compare.ByRow[int64]         `json:"calls"` // elapsed: of all rows
	Bytes      compare.ByRow[int64]         `json:"bytes"`
	IO         *float64                     `json:"io_seconds,omitempty"`
	Rate       *float64                     `json:"requests_per_second,omitempty"` // of clients that were not recorded
	Requests   *profile.Tails               `json:"request_latency,omitempty"`
	Floor      *float64                     `json:"floor_seconds,omitempty"` // the least run time that a replay of the trace can have
	Bound      string                       `json:"bound,omitempty"`         // what binds its replays, if storage does not
	RunSeconds []float64                    `json:"run_seconds"`             // of each run, in their order
	Failed     int64                        `json:"failed"`                  // events of a run, at most
	Differed   int64                        `json:"differed"`
	Breaks     bool                         `json:"breaks_results"`
	Example    string                       `json:"example,omitempty"`
	Error      string                       `json:"error,omitempty"` // why it was left out
	*Against
}

// Against compares with a base. The gain is the part of its run time that was
// saved.
type Against struct {
	Base     string   `json:"base"`
	Gain     *float64 `json:"gain,omitempty"`
	GainLow  *float64 `json:"gain_low,omitempty"`
	GainHigh *float64 `json:"gain_high,omitempty"`
	Rates    *float64 `json:"requests_ratio,omitempty"` // of the rates of requests
	compare.Figures
}

func (r *Report) sideDocument(side *Side) sideDocument {
	d := sideDocument{
		Name: r.label(side), Kind: side.Kind, Steps: append([]string{}, side.Candidate...), Root: side.Root.Dir, RootName: side.Root.Name, Storage: side.storage(),
		Unchanged: side.Unchanged, Runs: len(side.Runs), RunSeconds: []float64{}, IO: side.calls(), Rate: side.requests().Rate, Requests: side.requests().Tails,
		Failed: side.Failed(), Differed: side.Differed(), Breaks: side.breaks(), Example: side.Example(),
	}
	if side.Err != nil {
		d.Error = side.Err.Error()
	}
	if f := side.floor(); f != nil {
		d.Floor = new(format.Seconds(f.Total))
	}
	if bounds := boundsOf(r, side); bounds != nil {
		d.Bound = bounds[0].By
	}
	for _, p := range side.Profiles() {
		d.RunSeconds = append(d.RunSeconds, format.Seconds(p.RunTime))
	}
	if side.alone != nil {
		d.SecondsByRow, d.Latency = side.alone.ReplaySeconds(), side.alone.ReplayLatency()
		d.Calls, d.Bytes = side.alone.ReplayCounts()
	}
	if c := side.against; c != nil {
		d.Against = &Against{Base: r.label(side.base), Figures: c.Figures()}
		if row := c.Requests(); row != nil {
			d.Rates = row.Ratio
		}
		d.Gain, d.GainLow, d.GainHigh = saved(d.Ratio.Elapsed), saved(d.High.Elapsed), saved(d.Low.Elapsed)
	}
	return d
}

// saved returns the part of a time that a ratio to it saves.
func saved(ratio *float64) *float64 {
	if ratio == nil {
		return nil
	}
	return new(1 - *ratio)
}

// storage returns the file system and the device that a side was replayed on, "" if they
// are not known.
func (s *Side) storage() string {
	if len(s.Runs) == 0 || s.Kind != Replayed {
		return ""
	}
	h := format.Header{Meta: s.Runs[0].Meta}
	mount, _ := h.Value(format.MetaMount)
	if device, _ := h.Value(format.MetaDevice); device != "" {
		mount += ", " + device
	}
	return mount
}
