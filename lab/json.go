package lab

import (
	"encoding/json"
	"io"

	"pianola/profile"
)

// WriteJSON writes the report as one document, whose fields docs/laboratory.md
// names. What is not known is left out.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r.Document())
}

// Document returns what WriteJSON writes.
func (r *Report) Document() any {
	d := document{
		Trace: r.Trace, Options: map[string]string{}, Interrupted: r.Interrupted,
		Confidence: profile.Confidence, MinRuns: profile.MinRuns, Candidates: []trialDocument{},
	}
	for _, o := range r.Options {
		d.Options[o.Name] = o.Value
	}
	if r.Application != nil {
		c := profile.Compare([]*profile.Profile{r.Application}, []*profile.Profile{r.Application})
		d.Application = new(secondsOf(c))
	}
	rows := r.rows()
	for i := range rows {
		t := newTrialDocument(&rows[i])
		if i == 0 {
			d.Baseline = t
		} else {
			d.Candidates = append(d.Candidates, t)
		}
	}
	return d
}

type document struct {
	Trace       string            `json:"trace"`
	Options     map[string]string `json:"options"`
	Interrupted bool              `json:"interrupted"`
	Confidence  float64           `json:"confidence"`
	MinRuns     int               `json:"min_runs"` // for a finding
	Application *secondsDocument  `json:"application,omitempty"`
	Baseline    trialDocument     `json:"baseline"`
	Candidates  []trialDocument   `json:"candidates"` // by gain
}

type trialDocument struct {
	Name  string   `json:"name"`
	Steps []string `json:"steps"`
	Root  string   `json:"root,omitempty"`
	Runs  int      `json:"runs"`
	secondsDocument
	RunSeconds []float64 `json:"run_seconds"` // of each run, in their order
	Failed     int64     `json:"failed"`      // events of a run, at most
	Differed   int64     `json:"differed"`
	Breaks     bool      `json:"breaks_results"`
	Example    string    `json:"example,omitempty"`
	Error      string    `json:"error,omitempty"` // for which it was given up
	*Against
	OnRoot *Against `json:"on_root,omitempty"` // against the baseline there
}

// secondsDocument holds medians.
type secondsDocument struct {
	Elapsed  *float64 `json:"elapsed_seconds,omitempty"`
	Read     *float64 `json:"read_seconds,omitempty"`
	Write    *float64 `json:"write_seconds,omitempty"`
	Sync     *float64 `json:"sync_seconds,omitempty"`
	Metadata *float64 `json:"metadata_seconds,omitempty"`
}

// Against compares with a baseline. The gain is the part of its run time
// that was saved.
type Against struct {
	Gain     *float64                        `json:"gain,omitempty"`
	GainLow  *float64                        `json:"gain_low,omitempty"`
	GainHigh *float64                        `json:"gain_high,omitempty"`
	Ratio    valueByMeasure[float64]         `json:"ratio"`
	Low      valueByMeasure[float64]         `json:"interval_low"`
	High     valueByMeasure[float64]         `json:"interval_high"`
	Finding  valueByMeasure[profile.Finding] `json:"finding"`
}

type valueByMeasure[T any] struct {
	Elapsed  *T `json:"elapsed,omitempty"`
	Read     *T `json:"read,omitempty"`
	Write    *T `json:"write,omitempty"`
	Sync     *T `json:"sync,omitempty"`
	Metadata *T `json:"metadata,omitempty"`
}

func byMeasure[T any](c *profile.Comparison, of func(*profile.Row) *T) valueByMeasure[T] {
	return valueByMeasure[T]{
		of(&c.Rows[profile.NumCategories]), of(&c.Rows[profile.Reads]), of(&c.Rows[profile.Writes]),
		of(&c.Rows[profile.Syncs]), of(&c.Rows[profile.Metadata]),
	}
}

func secondsOf(c *profile.Comparison) secondsDocument {
	return secondsDocument(byMeasure(c, func(r *profile.Row) *float64 { return r.Replay.Seconds }))
}

func newTrialDocument(r *row) trialDocument {
	t := trialDocument{
		Name: r.Candidate.String(), Steps: append([]string{}, r.Candidate...), Root: r.Root, Runs: len(r.profiles), RunSeconds: []float64{},
		Failed: r.Failed(), Differed: r.Differed(), Breaks: r.breaks, Example: r.example,
		Against: newAgainst(r.against), OnRoot: newAgainst(r.own),
	}
	if r.Err != nil {
		t.Error = r.Err.Error()
	}
	if len(r.profiles) > 0 {
		for _, p := range r.profiles {
			t.RunSeconds = append(t.RunSeconds, float64(p.RunTime)/1e9)
		}
		t.secondsDocument = secondsOf(r.alone())
	}
	return t
}

func newAgainst(c *profile.Comparison) *Against {
	if c == nil {
		return nil
	}
	bound := func(of func(*profile.Interval) *float64) func(*profile.Row) *float64 {
		return func(r *profile.Row) *float64 {
			if r.Interval == nil {
				return nil
			}
			return of(r.Interval)
		}
	}
	d := &Against{
		Ratio: byMeasure(c, func(r *profile.Row) *float64 { return r.Ratio }),
		Low:   byMeasure(c, bound(func(i *profile.Interval) *float64 { return &i.Low })),
		High:  byMeasure(c, bound(func(i *profile.Interval) *float64 { return &i.High })),
		Finding: byMeasure(c, func(r *profile.Row) *profile.Finding {
			if r.Finding == "" {
				return nil
			}
			return &r.Finding
		}),
	}
	saved := func(ratio *float64) *float64 {
		if ratio == nil {
			return nil
		}
		return new(1 - *ratio)
	}
	d.Gain, d.GainLow, d.GainHigh = saved(d.Ratio.Elapsed), saved(d.High.Elapsed), saved(d.Low.Elapsed)
	return d
}
