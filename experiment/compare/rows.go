package compare

import "pianola/profile"

// ByRow holds one value for each judged row of a Comparison, nil if unknown.
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

// ApplicationLatency and ReplayLatency return the medians of a side's quantiles.
func (c *Comparison) ApplicationLatency() ByRow[profile.Tails] {
	return byRow(c, func(r *Row) *profile.Tails { return r.Application.Tails })
}

func (c *Comparison) ReplayLatency() ByRow[profile.Tails] {
	return byRow(c, func(r *Row) *profile.Tails { return r.Replay.Tails })
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
	Confidence float64         `json:"confidence,omitempty"` // confidence of Low and High, unless the enclosing document states it
	Finding    ByRow[Finding]  `json:"finding"`
	Ratios     ByRow[Tails]    `json:"latency_ratios"` // of the quantiles, with the ends of their intervals
}

// Tails is the Tails of a row in a document.
type Tails struct {
	Ratio Quotients  `json:"ratio"`
	Low   *Quotients `json:"interval_low,omitempty"`
	High  *Quotients `json:"interval_high,omitempty"`
}

// Quotients holds a value for each of stats.QuantileNames, nil if unknown.
type Quotients struct {
	P50  *float64 `json:"p50,omitempty"`
	P90  *float64 `json:"p90,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
	P999 *float64 `json:"p999,omitempty"`
	Max  *float64 `json:"max,omitempty"`
}

func newTails(list []Tail) *Tails {
	if list == nil {
		return nil
	}
	of := func(get func(*Tail) *float64) Quotients {
		return Quotients{get(&list[0]), get(&list[1]), get(&list[2]), get(&list[3]), get(&list[4])}
	}
	end := func(get func(*Interval) *float64) *Quotients {
		q := of(func(t *Tail) *float64 {
			if t.Interval == nil {
				return nil
			}
			return get(t.Interval)
		})
		if q == (Quotients{}) {
			return nil
		}
		return &q
	}
	return &Tails{of(func(t *Tail) *float64 { return t.Ratio }), end(func(i *Interval) *float64 { return &i.Low }), end(func(i *Interval) *float64 { return &i.High })}
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
		Ratios: byRow(c, func(r *Row) *Tails { return newTails(r.Tails) }),
	}
}
