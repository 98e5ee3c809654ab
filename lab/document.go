package lab

import (
	"pianola/compare"
	"pianola/format"
	"pianola/profile"
)

// Document returns the report, to be written as JSON; docs/reference/lab.md
// describes its fields. Unknown values are left out.
func (r *Report) Document() any {
	d := document{
		Trace: r.Trace, Options: map[string]string{}, Interrupted: r.Interrupted, Coverage: r.Coverage().Document(),
		Confidence: compare.Confidence, MinRuns: compare.MinRuns, Candidates: []trialDocument{}, Findings: r.Findings,
	}
	for _, o := range r.Options {
		d.Options[o.Name] = o.Value
	}
	if r.Application != nil {
		d.Application = new(compare.Profiles(nil, []*profile.Profile{r.Application}).ReplaySeconds())
	}
	d.Paced = r.Paced
	rows := r.rows()
	for i := range rows {
		t := newTrialDocument(&rows[i])
		t.Bound = r.bound(&rows[i])
		if i == 0 {
			d.Baseline = t
		} else {
			d.Candidates = append(d.Candidates, t)
		}
	}
	return d
}

type document struct {
	Trace       string                `json:"trace,omitempty"`
	Options     map[string]string     `json:"options"`
	Interrupted bool                  `json:"interrupted"`
	Coverage    any                   `json:"coverage"`
	Confidence  float64               `json:"confidence"`
	MinRuns     int                   `json:"min_runs"` // for a finding
	Application *compare.SecondsByRow `json:"application,omitempty"`
	Paced       *compare.Paced        `json:"application_at,omitempty"` // with a speed
	Baseline    trialDocument         `json:"baseline"`
	Candidates  []trialDocument       `json:"candidates"`         // by gain
	Findings    any                   `json:"findings,omitempty"` // whose suggestions the candidates are
}

type trialDocument struct {
	Name     string   `json:"name"`
	Steps    []string `json:"steps"`
	Root     string   `json:"root,omitempty"`
	RootName string   `json:"root_name,omitempty"`
	Same     bool     `json:"unchanged"` // the trace
	Runs     int      `json:"runs"`
	compare.SecondsByRow
	Latency    compare.ByRow[profile.Tails] `json:"latency"`
	Calls      compare.ByRow[int64]         `json:"calls"` // elapsed: of all rows
	Bytes      compare.ByRow[int64]         `json:"bytes"`
	Floor      *float64                     `json:"floor_seconds,omitempty"` // the least run time that a replay of the trace can have
	Bound      string                       `json:"bound,omitempty"`         // what binds its replays, if storage does not
	RunSeconds []float64                    `json:"run_seconds"`             // of each run, in their order
	Failed     int64                        `json:"failed"`                  // events of a run, at most
	Differed   int64                        `json:"differed"`
	Breaks     bool                         `json:"breaks_results"`
	Example    string                       `json:"example,omitempty"`
	Error      string                       `json:"error,omitempty"` // why it was given up
	*Against
	OnRoot *Against `json:"on_root,omitempty"` // against the baseline there
}

// Against compares with a baseline. The gain is the fraction of its run time
// that was saved.
type Against struct {
	Gain     *float64 `json:"gain,omitempty"`
	GainLow  *float64 `json:"gain_low,omitempty"`
	GainHigh *float64 `json:"gain_high,omitempty"`
	compare.Figures
}

func newTrialDocument(r *row) trialDocument {
	t := trialDocument{
		Name: r.Candidate.String(), Steps: append([]string{}, r.Candidate...), Root: r.Root.Dir, RootName: r.Root.Name, Same: r.Unchanged, Runs: len(r.profiles), RunSeconds: []float64{},
		Failed: r.Failed(), Differed: r.Differed(), Breaks: r.breaks, Example: r.example,
		Against: newAgainst(r.against), OnRoot: newAgainst(r.own),
	}
	if r.Err != nil {
		t.Error = r.Err.Error()
	}
	if f := r.floor(); f != nil {
		t.Floor = new(format.Seconds(f.Total))
	}
	for _, p := range r.profiles {
		t.RunSeconds = append(t.RunSeconds, format.Seconds(p.RunTime))
	}
	if r.alone != nil {
		t.SecondsByRow, t.Latency = r.alone.ReplaySeconds(), r.alone.ReplayLatency()
		t.Calls, t.Bytes = r.alone.ReplayCounts()
	}
	return t
}

func newAgainst(c *compare.Comparison) *Against {
	if c == nil {
		return nil
	}
	d := &Against{Figures: c.Figures()}
	saved := func(ratio *float64) *float64 {
		if ratio == nil {
			return nil
		}
		return new(1 - *ratio)
	}
	d.Gain, d.GainLow, d.GainHigh = saved(d.Ratio.Elapsed), saved(d.High.Elapsed), saved(d.Low.Elapsed)
	return d
}
