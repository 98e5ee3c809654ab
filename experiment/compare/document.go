package compare

import (
	"pianola/experiment/check"
	"pianola/format"
	"pianola/format/provenance"
	"pianola/internal/stats"
	"pianola/profile"
)

// Document returns the comparison and the verdict, to be written as JSON.
// Unknown values are left out.
func (c *Comparison) Document(tolerance float64) any {
	v := c.Judge(tolerance)
	d := &comparisonDocument{
		Answer:      c.Answer(&v),
		Remarks:     c.Remarks(&v),
		Names:       c.Names,
		Application: c.side(0, len(c.applications), c.ApplicationSeconds(), c.ApplicationLatency()),
		Replay:      c.side(1, len(c.replays), c.ReplaySeconds(), c.ReplayLatency()),
		Figures:     c.Figures(),
		Requests:    c.requests(),
		NoiseFloor:  c.NoiseFloor,
		Coverage:    c.Coverage.Document(),
		Verdict:     v,
		Bounds:      c.Bounds(),
		Operations:  []operationDocument{},
		Files:       []fileDocument{},
		Paired:      c.Paired,
		Paced:       c.Paced,
		Sides:       c.Sides,
		Checks:      c.Checks,
	}
	if max(len(c.applications), len(c.replays)) > 1 {
		d.Confidence = Confidence
	} else {
		d.Low, d.High = nil, nil
	}
	if c.Distance != nil {
		d.Distance = &distanceDocument{*c.Distance, byRow(c, func(r *Row) *Distance { return r.Distance })}
	}
	if c.communicates() {
		d.Comm = new(c.Rows[profile.Communication].sides())
	}
	for i := range c.Operations {
		r := &c.Operations[i]
		d.Operations = append(d.Operations, operationDocument{r.Name, r.Category, r.sides()})
	}
	for i := range c.Files {
		r := &c.Files[i]
		d.Files = append(d.Files, fileDocument{format.Name(r.Name), r.sides()})
	}
	return d
}

type comparisonDocument struct {
	Answer      string            `json:"answer"`
	Remarks     []string          `json:"remarks"` // those of the text
	Names       [2]string         `json:"names"`   // names of the two sides, which the keys of this document call application and replay
	Application sideDocument      `json:"application"`
	Replay      sideDocument      `json:"replay"`
	Figures                       // with intervals and confidence if there are several runs
	Requests    *requestsDocument `json:"requests,omitempty"`
	Distance    *distanceDocument `json:"profile_distance,omitempty"`
	NoiseFloor  float64           `json:"noise_floor_seconds"`
	Coverage    any               `json:"coverage"`
	Verdict
	Bounds     []Bound             `json:"bound,omitempty"` // sides of replays that are as long as their floor
	Operations []operationDocument `json:"operations"`      // by difference, like Files
	Files      []fileDocument      `json:"files"`
	Paired     *float64            `json:"files_paired,omitempty"`
	Comm       *sidesDocument      `json:"communication,omitempty"` // where a side has any

	Paced *Paced                  `json:"application_at,omitempty"`
	Sides []provenance.Difference `json:"sides_differ,omitempty"`

	Checks []check.Outcome `json:"checks,omitempty"`
}

// sideDocument holds the medians of one side.
type sideDocument struct {
	Runs int `json:"runs"`
	SecondsByRow
	Low     ByRow[float64]       `json:"interval_low_seconds,omitzero"` // of the medians
	High    ByRow[float64]       `json:"interval_high_seconds,omitzero"`
	Latency ByRow[profile.Tails] `json:"latency"`
}

func (c *Comparison) side(i, runs int, seconds SecondsByRow, latency ByRow[profile.Tails]) sideDocument {
	end := func(of func(*stats.Interval) *float64) ByRow[float64] {
		return byRow(c, func(r *Row) *float64 {
			if r.Medians[i] == nil {
				return nil
			}
			return of(r.Medians[i])
		})
	}
	return sideDocument{runs, seconds, end(func(v *stats.Interval) *float64 { return &v.Low }), end(func(v *stats.Interval) *float64 { return &v.High }), latency}
}

// requestsDocument compares the requests of clients that were not recorded. The ratios are
// those of the rates.
type requestsDocument struct {
	Application requestSide `json:"application"`
	Replay      requestSide `json:"replay"`
	Ratio       *float64    `json:"ratio,omitempty"`
	Low         *float64    `json:"interval_low,omitempty"`
	High        *float64    `json:"interval_high,omitempty"`
	Finding     Finding     `json:"finding,omitempty"`
	Ratios      *Tails      `json:"latency_ratios,omitempty"`
}

// requestSide holds the medians of one side.
type requestSide struct {
	Clients  int64          `json:"clients"`
	Requests int64          `json:"requests"`
	Rate     *float64       `json:"per_second,omitempty"`
	Low      *float64       `json:"interval_low_per_second,omitempty"` // of the median rate
	High     *float64       `json:"interval_high_per_second,omitempty"`
	Latency  *profile.Tails `json:"latency,omitempty"`
}

func (c *Comparison) requests() *requestsDocument {
	r := c.Requests()
	if r == nil {
		return nil
	}
	side := func(i int, m *profile.Measure, runs []*profile.Profile) requestSide {
		var clients []int64
		for _, p := range runs {
			if p.Requests != nil {
				clients = append(clients, p.Requests.Clients)
			}
		}
		s := requestSide{Clients: stats.Median(clients), Requests: m.Calls, Rate: m.Rate, Latency: m.Tails}
		if v := r.Medians[i]; v != nil {
			s.Low, s.High = &v.Low, &v.High
		}
		return s
	}
	d := &requestsDocument{side(0, &r.Application, c.applications), side(1, &r.Replay, c.replays), r.Ratio, nil, nil, r.Finding, newTails(r.Tails)}
	if r.Interval != nil {
		d.Low, d.High = &r.Interval.Low, &r.Interval.High
	}
	return d
}

// distanceDocument holds the distance of all I/O, and those of the categories.
type distanceDocument struct {
	Distance
	ByRow[Distance]
}

type operationDocument struct {
	Name     string `json:"name"`
	Category string `json:"class,omitempty"`
	sidesDocument
}

// fileDocument is a file. Its name is as in all JSON and CSV: see
// format.AppendName.
type fileDocument struct {
	Name string `json:"name"`
	sidesDocument
}

type sidesDocument struct {
	Application profile.Measure `json:"application"`
	Replay      profile.Measure `json:"replay"`
	Ratio       *float64        `json:"ratio,omitempty"`
}

func (r *Row) sides() sidesDocument { return sidesDocument{r.Application, r.Replay, r.Ratio} }
