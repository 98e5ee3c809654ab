package profile

// ByRow holds one value for each of Comparison.Rows, nil where it is not known.
type ByRow[T any] struct {
	Elapsed  *T `json:"elapsed,omitempty"`
	Read     *T `json:"read,omitempty"`
	Write    *T `json:"write,omitempty"`
	Sync     *T `json:"sync,omitempty"`
	Metadata *T `json:"metadata,omitempty"`
}

// SecondsByRow is a ByRow whose names say the unit.
type SecondsByRow struct {
	Elapsed  *float64 `json:"elapsed_seconds,omitempty"`
	Read     *float64 `json:"read_seconds,omitempty"`
	Write    *float64 `json:"write_seconds,omitempty"`
	Sync     *float64 `json:"sync_seconds,omitempty"`
	Metadata *float64 `json:"metadata_seconds,omitempty"`
}

func byRow[T any](c *Comparison, of func(*Row) *T) ByRow[T] {
	return ByRow[T]{
		of(c.elapsed()), of(&c.Rows[Reads]), of(&c.Rows[Writes]), of(&c.Rows[Syncs]), of(&c.Rows[Metadata]),
	}
}

// ApplicationSeconds and ReplaySeconds return the medians of either side.
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

// Ratios returns the ratios of the medians.
func (c *Comparison) Ratios() ByRow[float64] {
	return byRow(c, func(r *Row) *float64 { return r.Ratio })
}

// Intervals returns the ends of the intervals of the ratios.
func (c *Comparison) Intervals() (low, high ByRow[float64]) {
	end := func(of func(*Interval) *float64) ByRow[float64] {
		return byRow(c, func(r *Row) *float64 {
			if r.Interval == nil {
				return nil
			}
			return of(r.Interval)
		})
	}
	return end(func(i *Interval) *float64 { return &i.Low }), end(func(i *Interval) *float64 { return &i.High })
}

// Findings returns what is found of each row.
func (c *Comparison) Findings() ByRow[Finding] {
	return byRow(c, func(r *Row) *Finding {
		if r.Finding == "" {
			return nil
		}
		return &r.Finding
	})
}
