package compare

import "pianola/profile"

// ByRow holds one value for each of Comparison.Rows that is judged, nil if unknown.
type ByRow[T any] struct {
	Elapsed  *T `json:"elapsed,omitempty"`
	Read     *T `json:"read,omitempty"`
	Write    *T `json:"write,omitempty"`
	Sync     *T `json:"sync,omitempty"`
	Metadata *T `json:"metadata,omitempty"`

	MappedRead  *T `json:"mapped_read,omitempty"`
	MappedWrite *T `json:"mapped_write,omitempty"`
}

// SecondsByRow is a ByRow with the unit in its names.
type SecondsByRow struct {
	Elapsed  *float64 `json:"elapsed_seconds,omitempty"`
	Read     *float64 `json:"read_seconds,omitempty"`
	Write    *float64 `json:"write_seconds,omitempty"`
	Sync     *float64 `json:"sync_seconds,omitempty"`
	Metadata *float64 `json:"metadata_seconds,omitempty"`

	MappedRead  *float64 `json:"mapped_read_seconds,omitempty"`
	MappedWrite *float64 `json:"mapped_write_seconds,omitempty"`
}

func byRow[T any](c *Comparison, of func(*Row) *T) ByRow[T] {
	row := func(k profile.Category) *T { // of faults only where there are some
		if k >= profile.NumCalls && !c.Rows[k].occurs() {
			return nil
		}
		return of(&c.Rows[k])
	}
	return ByRow[T]{
		of(c.elapsed()), row(profile.Reads), row(profile.Writes), row(profile.Syncs), row(profile.Metadata), row(profile.MappedReads), row(profile.MappedWrites),
	}
}

// ApplicationSeconds and ReplaySeconds return the medians of a side.
func (c *Comparison) ApplicationSeconds() SecondsByRow {
	return SecondsByRow(byRow(c, func(r *Row) *float64 { return r.Application.Seconds }))
}

func (c *Comparison) ReplaySeconds() SecondsByRow {
	return SecondsByRow(byRow(c, func(r *Row) *float64 { return r.Replay.Seconds }))
}

// ReplayCounts returns the calls and bytes of the replay.
func (c *Comparison) ReplayCounts() (calls, bytes ByRow[int64]) {
	return byRow(c, func(r *Row) *int64 { return &r.Replay.Calls }), byRow(c, func(r *Row) *int64 { return &r.Replay.Bytes })
}

// Figures is a comparison in a document, one value for each row.
type Figures struct {
	Ratio      ByRow[float64]  `json:"ratio"`
	Low        *ByRow[float64] `json:"interval_low,omitempty"`
	High       *ByRow[float64] `json:"interval_high,omitempty"`
	Confidence float64         `json:"confidence,omitempty"` // of Low and High, unless it is elsewhere in the document
	Finding    ByRow[Finding]  `json:"finding"`
}

// Figures returns the ratios of the medians, the ends of their intervals and
// the finding of each row, without Confidence.
func (c *Comparison) Figures() Figures {
	end := func(of func(*Interval) *float64) *ByRow[float64] {
		return new(byRow(c, func(r *Row) *float64 {
			if r.Interval == nil {
				return nil
			}
			return of(r.Interval)
		}))
	}
	return Figures{
		Ratio: byRow(c, func(r *Row) *float64 { return r.Ratio }),
		Low:   end(func(i *Interval) *float64 { return &i.Low }),
		High:  end(func(i *Interval) *float64 { return &i.High }),
		Finding: byRow(c, func(r *Row) *Finding {
			if r.Finding == "" {
				return nil
			}
			return &r.Finding
		}),
	}
}
