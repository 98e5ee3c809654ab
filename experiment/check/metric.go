package check

import (
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

const (
	runTime  = "run_time" // the metric without a subject
	requests = "requests" // the subject that is no call: those of clients that were not recorded
)

// Metric is what is checked of a run.
type Metric struct {
	Name    string // "run_time", or "sync.p99"
	unit    *unit
	worse   direction
	measure func(*profile.Profile) profile.Measure
	value   func(*profile.Profile, *profile.Measure) *float64
}

// of returns the value of a run in the unit's base, nil if the run has none.
func (m *Metric) of(p *profile.Profile) *float64 {
	measure := m.measure(p)
	return m.value(p, &measure)
}

// direction is the direction in which a metric becomes worse.
type direction uint8

const (
	either direction = iota
	larger
	smaller
)

// figure is a checked figure of the calls of a class or an operation.
type figure struct {
	name  string
	unit  *unit
	worse direction
	whole bool // it can be that of all I/O
	value func(*profile.Profile, *profile.Measure) *float64
}

// figures are all figures. If no calls occurred, only their number is known.
var figures = slices.Concat([]figure{
	{"seconds", &durations, larger, false, ofCalls(func(_ *profile.Profile, m *profile.Measure) *float64 { return m.Seconds })},
	{"calls", &numbers, either, true, func(_ *profile.Profile, m *profile.Measure) *float64 { return new(float64(m.Calls)) }},
	{"bytes", &sizes, either, true, func(_ *profile.Profile, m *profile.Measure) *float64 { return new(float64(m.Bytes)) }},
	{"bytes_per_second", &rates, smaller, true, ofCalls(func(p *profile.Profile, m *profile.Measure) *float64 {
		if p.RunTime == 0 {
			return nil
		}
		return new(float64(m.Bytes) / format.Seconds(p.RunTime))
	})},
}, quantiles())

// requestFigures are those of requests.
var requestFigures = slices.Concat([]figure{
	{"rate", &requestRates, smaller, false, func(_ *profile.Profile, m *profile.Measure) *float64 { return m.Rate }},
	{"count", &requestCounts, either, false, ofCalls(func(_ *profile.Profile, m *profile.Measure) *float64 { return new(float64(m.Calls)) })},
}, quantiles())

func ofCalls(value func(*profile.Profile, *profile.Measure) *float64) func(*profile.Profile, *profile.Measure) *float64 {
	return func(p *profile.Profile, m *profile.Measure) *float64 {
		if m.Calls == 0 {
			return nil
		}
		return value(p, m)
	}
}

func quantiles() (list []figure) {
	for i, key := range stats.QuantileKeys {
		list = append(list, figure{key, &durations, larger, false, func(_ *profile.Profile, m *profile.Measure) *float64 {
			if m.Tails == nil {
				return nil
			}
			return new(m.Tails.List()[i])
		}})
	}
	return list
}

// subjects are the classes by their names in JSON, the requests, then the operations. A class
// precedes an operation of the same name, such as read.
func subjects() (names []string) {
	for k := range profile.NumCategories {
		names = append(names, k.Key())
	}
	names = append(names, requests)
	for op := format.OpNone + 1; op.Valid(); op++ {
		names = append(names, op.String())
	}
	return names
}

// measureOf returns the function that measures a subject, and its figures; nil for an unknown
// subject.
func measureOf(subject string) (func(*profile.Profile) profile.Measure, []figure) {
	if subject == requests {
		return func(p *profile.Profile) profile.Measure { return p.Requests.Measure() }, requestFigures
	}
	for k := range profile.NumCategories {
		if k.Key() == subject {
			return func(p *profile.Profile) profile.Measure { return p.Measure(k) }, figures
		}
	}
	op, ok := format.Lookup([]byte(subject))
	if !ok {
		return nil, nil
	}
	return func(p *profile.Profile) profile.Measure { return p.OpMeasure(op) }, figures
}

func names(figures []figure) (names []string) {
	for i := range figures {
		names = append(names, figures[i].name)
	}
	return names
}

// wholeNames are the figures of all I/O.
func wholeNames() (names []string) {
	for i := range figures {
		if figures[i].whole {
			names = append(names, figures[i].name)
		}
	}
	return names
}

// unit is that of a metric.
type unit struct {
	name    string // in JSON
	counts  bool   // what it counts can be the same in all runs
	example string // of an absolute bound
	bounds  []symbol
	format  func(v float64) string
}

// symbol is a unit of bounds.
type symbol struct {
	name string
	size float64 // in the base unit
}

var (
	durations = unit{"seconds", false, "5ms", []symbol{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}, table.Duration}
	numbers   = unit{"calls", true, "1000", []symbol{{"", 1}}, number}
	sizes     = unit{"bytes", true, "100MB", byteSymbols, func(v float64) string { return number(v) + " B" }} // a byte more can be seen
	rates     = unit{"bytes_per_second", false, "100MB", perSecond(), func(v float64) string { return table.Bytes(v) + "/s" }}

	requestCounts = unit{"requests", true, "1000", numbers.bounds, number}
	requestRates  = unit{"requests_per_second", false, "1000", []symbol{{"", 1}, {"/s", 1}}, func(v float64) string { return profile.ASecond(v) + "/s" }}

	byteSymbols = []symbol{
		{"B", 1}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	}
)

func number(v float64) string { return strings.TrimSuffix(table.Fixed(v, 1), ".0") } // medians can end with .5

func perSecond() []symbol {
	all := slices.Clone(byteSymbols)
	for _, s := range byteSymbols {
		all = append(all, symbol{s.name + "/s", s.size})
	}
	return all
}

func elapsed(p *profile.Profile) profile.Measure              { return p.Measure(profile.NumCategories) }
func seconds(_ *profile.Profile, m *profile.Measure) *float64 { return m.Seconds }
