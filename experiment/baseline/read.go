package baseline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/profile"
)

// The bounds of the input. A file of six runs of most programs has some tens of
// kilobytes.
const (
	maxSize  = 64 << 20 // bytes
	maxTotal = 1 << 61
)

// MaxRuns bounds the runs of all workloads in a file. One workload has at most
// stats.MaxRuns of them.
const MaxRuns = 1 << 14

// Error is an error in a file, with its position.
type Error struct {
	Offset int64 // in bytes, from 0: at or before the wrong value
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("at byte %d: %v", e.Offset, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// ErrFormat is the error for a file that is not a baseline.
var ErrFormat = errors.New("not a baseline written by --save")

// Read reads a file, at most 64 MiB. Errors of the file are an *Error.
func Read(r io.Reader) (*Baseline, error) {
	limited := &io.LimitedReader{R: r, N: maxSize + 1}
	d := &decoder{Decoder: json.NewDecoder(limited)}
	b, err := d.baseline()
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = errors.New("unexpected data after the end of the baseline")
		}
	}
	if err == nil {
		return b, nil
	}
	if limited.N == 0 {
		return nil, &Error{maxSize, fmt.Errorf("the file is larger than %d MiB", maxSize>>20)}
	}
	return nil, d.fault(d.InputOffset(), err)
}

type decoder struct{ *json.Decoder }

// fault returns an error with a position, unless it already has one.
func (d *decoder) fault(at int64, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if err == io.EOF {
		at, err = d.InputOffset(), io.ErrUnexpectedEOF
	}
	return &Error{at, err}
}

// value reads a value that is not long.
func (d *decoder) value(v any) error {
	at := d.InputOffset()
	return d.fault(at, d.Decode(v))
}

// open reads the beginning of an object or a list.
func (d *decoder) open(want json.Delim) error {
	at := d.InputOffset()
	t, err := d.Token()
	if err == nil && t != want {
		err = fmt.Errorf("want %v, not %v", want, t)
	}
	return d.fault(at, err)
}

// object calls f with each key of an object, to read its value.
func (d *decoder) object(f func(key string) error) error {
	if err := d.open('{'); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		at := d.InputOffset()
		if err := d.fault(at, f(t.(string))); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (d *decoder) baseline() (*Baseline, error) {
	b := &Baseline{}
	var shared map[string]string
	var own []map[string]string
	versioned := false
	counts := map[string]int{} // of the runs of each workload
	err := d.object(func(key string) error {
		if !versioned && key != "pianola_baseline" {
			return ErrFormat // the version comes first
		}
		switch key {
		case "pianola_baseline":
			versioned = true
			return d.version()
		case "name":
			return d.value(&b.Name)
		case "remarks":
			var err error
			shared, err = d.remarks()
			return err
		case "runs":
			if err := d.open('['); err != nil {
				return err
			}
			for d.More() {
				at := d.InputOffset()
				if len(b.Runs) == MaxRuns {
					return d.fault(at, fmt.Errorf("more than %d runs", MaxRuns))
				}
				r, remarks, err := d.run()
				if e, ok := errors.AsType[*Error](d.fault(at, err)); ok {
					return &Error{e.Offset, fmt.Errorf("run %d: %w", len(b.Runs)+1, e.Err)}
				}
				if counts[r.Workload]++; counts[r.Workload] > stats.MaxRuns {
					return d.fault(at, fmt.Errorf("more than %d runs", stats.MaxRuns))
				}
				b.Runs, own = append(b.Runs, r), append(own, remarks)
			}
			_, err := d.Token()
			return err
		}
		return d.skip()
	})
	if err != nil {
		if !versioned {
			return nil, &Error{0, ErrFormat}
		}
		return nil, err
	}
	if len(b.Runs) == 0 {
		return nil, errors.New("the baseline has no runs")
	}
	for i := range b.Runs {
		for _, key := range keys() {
			v, ok := own[i][key]
			if !ok {
				v, ok = shared[key]
			}
			if ok {
				b.Runs[i].Meta = append(b.Runs[i].Meta, format.Meta{Key: key, Value: v})
			}
		}
		b.Runs[i].Profile.SetHeader(&format.Header{Meta: b.Runs[i].Meta})
	}
	return b, nil
}

func (d *decoder) version() error {
	var v int64
	if err := d.value(&v); err != nil {
		return err
	}
	if v != version {
		return fmt.Errorf("the baseline has format version %d, this program reads version %d", v, version)
	}
	return nil
}

// skip reads a value of an unknown key.
func (d *decoder) skip() error {
	depth := 0
	for {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// remarks reads the remarks in kept, and skips the others.
func (d *decoder) remarks() (map[string]string, error) {
	m := map[string]string{}
	known := map[string]bool{}
	for _, key := range keys() {
		known[key] = true
	}
	err := d.object(func(key string) error {
		if !known[key] {
			return d.skip()
		}
		var v string
		if err := d.value(&v); err != nil {
			return err
		}
		if len(v) > maxRemark {
			return fmt.Errorf("%s: longer than %d bytes", key, maxRemark)
		}
		m[key] = v
		return nil
	})
	return m, err
}

func (d *decoder) run() (r Run, remarks map[string]string, err error) {
	p := &profile.Profile{}
	r.Profile = p
	var ofOperations [profile.NumCategories]bool
	err = d.object(func(key string) error {
		switch key {
		case "remarks":
			remarks, err = d.remarks()
			return err
		case "workload":
			return d.value(&r.Workload)
		case "run_time_nanos":
			if err := d.value(&p.RunTime); err != nil {
				return err
			}
			if p.RunTime < 0 || p.RunTime > maxTotal {
				return errors.New("run time out of range")
			}
			return nil
		case "requests":
			p.Requests, err = d.requests()
			return err
		case "classes":
			return d.cells(func(name string) (*profile.Total, **profile.Latency, *bool) {
				for k := range profile.NumCategories {
					if k.Key() == name {
						return &p.Categories[k], &p.Latency[k], &ofOperations[k]
					}
				}
				return nil, nil, nil
			})
		case "operations":
			return d.cells(func(name string) (*profile.Total, **profile.Latency, *bool) {
				op, ok := format.Lookup([]byte(name))
				if !ok {
					return nil, nil, nil
				}
				return &p.Ops[op], &p.OpLatency[op], new(bool) // which operations have no use for
			})
		}
		return d.skip()
	})
	if err != nil {
		return r, nil, err
	}
	for k := range profile.NumCategories {
		if !ofOperations[k] {
			continue
		}
		if p.Latency[k], err = summed(p, k); err != nil {
			return r, nil, err
		}
		if l := p.Latency[k]; l == nil || l.Calls > p.Categories[k].Calls {
			return r, nil, fmt.Errorf("%s: its latencies do not add up from those of its operations", k.Key())
		}
	}
	return r, remarks, addUp(p)
}

// requests reads the requests of clients.
func (d *decoder) requests() (*profile.Requests, error) {
	var s served
	if err := d.value(&s); err != nil {
		return nil, err
	}
	for _, v := range []float64{float64(s.Clients), float64(s.Requests), float64(s.Bytes), float64(s.Replied), s.Rate} {
		if v < 0 || v > maxTotal {
			return nil, errors.New("requests: number out of range")
		}
	}
	if s.Latency == nil {
		return nil, errors.New("requests: they have no latency")
	}
	l, err := profile.NewLatency(*s.Latency)
	if err == nil && (l == nil || l.Calls != s.Requests) {
		err = errors.New("their number is not that of their latencies")
	}
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	return &profile.Requests{Clients: s.Clients, Rate: s.Rate, RequestKind: profile.RequestKind{Count: s.Requests, Bytes: s.Bytes, Replied: s.Replied, Latency: l}}, nil
}

// cells reads an object of cells. place returns where to store the cell of a name.
func (d *decoder) cells(place func(name string) (*profile.Total, **profile.Latency, *bool)) error {
	return d.object(func(name string) error {
		total, latency, ofOperations := place(name)
		if total == nil {
			return fmt.Errorf("no class or operation %q", name)
		}
		var c cell
		at := d.InputOffset()
		if err := d.value(&c); err != nil {
			return err
		}
		if err := c.check(); err != nil {
			return d.fault(at, fmt.Errorf("%s: %w", name, err))
		}
		*total = profile.Total{Calls: c.Calls, Errors: c.Errors, Unknown: c.Unknown, Bytes: c.Bytes, Nanos: c.Nanos, Flight: c.Flight}
		*latency, *ofOperations = nil, c.Summed
		if c.Latency == nil {
			return nil
		}
		l, err := profile.NewLatency(*c.Latency)
		if err != nil {
			return d.fault(at, fmt.Errorf("%s: %w", name, err))
		}
		if l != nil && l.Calls > c.Calls {
			return d.fault(at, fmt.Errorf("%s: more durations than calls", name))
		}
		*latency = l
		return nil
	})
}

func (c *cell) check() error {
	for _, v := range []int64{c.Calls, c.Errors, c.Unknown, c.Bytes, c.Nanos, c.Flight} {
		if v < 0 || v > maxTotal {
			return errors.New("number out of range")
		}
	}
	if max(c.Errors, c.Unknown) > c.Calls {
		return errors.New("more errors or unknown durations than calls")
	}
	return nil
}

// addUp sets the sum of all operations. It returns an error if a sum of the profile
// exceeds 64 bits.
func addUp(p *profile.Profile) error {
	add := func(sum, one *profile.Total) bool {
		for _, of := range []func(*profile.Total) *int64{
			func(t *profile.Total) *int64 { return &t.Calls }, func(t *profile.Total) *int64 { return &t.Errors },
			func(t *profile.Total) *int64 { return &t.Unknown }, func(t *profile.Total) *int64 { return &t.Bytes },
			func(t *profile.Total) *int64 { return &t.Nanos }, func(t *profile.Total) *int64 { return &t.Flight },
		} {
			*of(sum) += *of(one)
			if *of(sum) < 0 {
				return false
			}
		}
		return true
	}
	fits := true
	for i := range p.Ops {
		fits = fits && add(&p.All, &p.Ops[i])
	}
	var io profile.Total
	for i := range p.Categories {
		fits = fits && add(&io, &p.Categories[i])
	}
	if !fits {
		return errors.New("sums out of range")
	}
	return nil
}
