package coverage

import "pianola/format"

// Document returns the account, to be written as JSON. The shares of an unknown account
// are null.
func (a *Account) Document() any {
	d := &document{Missing: []missingDocument{}, Ended: a.Ended, Endless: a.Endless}
	if a.Uncached.Bytes > 0 {
		d.Uncached = &uncachedDocument{a.Uncached.Files, a.Uncached.Bytes}
	}
	d.Withheld = a.Withheld()
	if a.Known {
		s := a.Share()
		d.Bytes, d.Time = &s.Bytes, &s.Time
	}
	for i := range a.Missing {
		m := &a.Missing[i]
		one := missingDocument{Kind: m.Kind, Calls: m.Calls, Reads: m.Reads, Writes: m.Writes, Files: m.Files}
		if m.Bytes != Unknown {
			one.Bytes = &m.Bytes
		}
		if m.Nanos != Unknown {
			one.Seconds = new(format.Seconds(m.Nanos))
		}
		d.Missing = append(d.Missing, one)
	}
	return d
}

type document struct {
	Bytes    *float64          `json:"bytes"` // share of the bytes of file I/O that the recording holds
	Time     *float64          `json:"time"`  // share of the time
	Missing  []missingDocument `json:"missing"`
	Withheld string            `json:"withheld,omitempty"` // reason why the recording allows no verdict
	Ended    string            `json:"ended,omitempty"`    // why the recording ended early; the shares are of the time until then
	Endless  bool              `json:"endless,omitempty"`  // the recorder could not write the end
	Uncached *uncachedDocument `json:"cache_unknown,omitempty"`
}

// uncachedDocument holds reads of which it is unknown whether they were in the page cache.
type uncachedDocument struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// missingDocument leaves out values that are zero or unknown.
type missingDocument struct {
	Kind    Kind     `json:"kind"`
	Calls   int64    `json:"calls"`
	Reads   int64    `json:"reads,omitempty"`
	Writes  int64    `json:"writes,omitempty"`
	Files   int64    `json:"files,omitempty"`
	Bytes   *int64   `json:"bytes,omitempty"`
	Seconds *float64 `json:"seconds,omitempty"`
}
