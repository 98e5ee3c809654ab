package profile

import "io"

// WriteJSON writes the comparison and the verdict as one JSON document.
func (c *Comparison) WriteJSON(w io.Writer, tolerance float64) error {
	return writeJSON(w, c.Document(tolerance))
}

// Document returns what WriteJSON writes, to be put into a larger document.
// What is not known is left out.
func (c *Comparison) Document(tolerance float64) any {
	d := &comparisonDocument{
		Application: sideDocument{len(c.applications), secondsByRow(byRow(c, func(r *Row) *float64 { return r.Application.Seconds }))},
		Replay:      sideDocument{len(c.replays), secondsByRow(byRow(c, func(r *Row) *float64 { return r.Replay.Seconds }))},
		Ratio:       byRow(c, func(r *Row) *float64 { return r.Ratio }),
		Finding: byRow(c, func(r *Row) *Finding {
			if r.Finding == "" {
				return nil
			}
			return &r.Finding
		}),
		NoiseFloor: c.NoiseFloor,
		Verdict:    c.Judge(tolerance),
		Operations: []operationDocument{},
		Files:      []fileDocument{},
		Paired:     c.Paired,
	}
	if max(len(c.applications), len(c.replays)) > 1 {
		d.Confidence = Confidence
		d.Low = new(byRow(c, func(r *Row) *float64 {
			if r.Interval == nil {
				return nil
			}
			return &r.Interval.Low
		}))
		d.High = new(byRow(c, func(r *Row) *float64 {
			if r.Interval == nil {
				return nil
			}
			return &r.Interval.High
		}))
	}
	if c.Distance != nil {
		d.Distance = &distanceDocument{*c.Distance, byRow(c, func(r *Row) *Distance { return r.Distance })}
	}
	for i := range c.Operations {
		r := &c.Operations[i]
		d.Operations = append(d.Operations, operationDocument{r.Name, r.Category, r.sides()})
	}
	for i := range c.Files {
		r := &c.Files[i]
		d.Files = append(d.Files, fileDocument{plainText(r.Name), plainText(r.Original), r.sides()})
	}
	return d
}

type comparisonDocument struct {
	Application sideDocument         `json:"application"`
	Replay      sideDocument         `json:"replay"`
	Ratio       valueByRow[float64]  `json:"ratio"`
	Low         *valueByRow[float64] `json:"interval_low,omitempty"` // of several runs, as are High and Confidence
	High        *valueByRow[float64] `json:"interval_high,omitempty"`
	Confidence  float64              `json:"confidence,omitempty"`
	Finding     valueByRow[Finding]  `json:"finding"`
	Distance    *distanceDocument    `json:"profile_distance,omitempty"`
	NoiseFloor  float64              `json:"noise_floor_seconds"`
	Verdict
	Operations []operationDocument `json:"operations"` // those that differ most first, as Files are
	Files      []fileDocument      `json:"files"`
	Paired     *float64            `json:"files_paired,omitempty"`
}

// sideDocument holds the medians of one side.
type sideDocument struct {
	Runs int `json:"runs"`
	secondsByRow
}

// valueByRow holds one value for each of Comparison.Rows.
type valueByRow[T any] struct {
	Elapsed  *T `json:"elapsed,omitempty"`
	Read     *T `json:"read,omitempty"`
	Write    *T `json:"write,omitempty"`
	Sync     *T `json:"sync,omitempty"`
	Metadata *T `json:"metadata,omitempty"`
}

// secondsByRow is a valueByRow whose values are seconds.
type secondsByRow struct {
	Elapsed  *float64 `json:"elapsed_seconds,omitempty"`
	Read     *float64 `json:"read_seconds,omitempty"`
	Write    *float64 `json:"write_seconds,omitempty"`
	Sync     *float64 `json:"sync_seconds,omitempty"`
	Metadata *float64 `json:"metadata_seconds,omitempty"`
}

func byRow[T any](c *Comparison, of func(*Row) *T) valueByRow[T] {
	return valueByRow[T]{
		of(c.elapsed()), of(&c.Rows[Reads]), of(&c.Rows[Writes]), of(&c.Rows[Syncs]), of(&c.Rows[Metadata]),
	}
}

// distanceDocument holds the distance of all I/O, and those of the categories.
type distanceDocument struct {
	Distance
	valueByRow[Distance]
}

type operationDocument struct {
	Name     string `json:"name"`
	Category string `json:"category,omitempty"`
	sidesDocument
}

// fileDocument names a file as JSON and CSV name files: see format.AppendName.
type fileDocument struct {
	Name     string `json:"name"`
	Original string `json:"original,omitempty"`
	sidesDocument
}

type sidesDocument struct {
	Application Measure  `json:"application"`
	Replay      Measure  `json:"replay"`
	Ratio       *float64 `json:"ratio,omitempty"`
}

func (r *Row) sides() sidesDocument { return sidesDocument{r.Application, r.Replay, r.Ratio} }
