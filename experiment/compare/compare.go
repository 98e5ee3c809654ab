// Package compare compares the profiles of an application with those of its
// replays, or of other runs, and finds which differences are more than noise.
//
//	Profiles → Comparison ─┬→ Judge → Verdict
//	                       └→ WriteText, WriteCSV, WriteBenchstat, Document
//
// Results are read-only once returned, and may be used concurrently.
package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"pianola/experiment/check"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/provenance"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

// noiseShare is the fraction of the application's run time below which Judge ignores a
// category as noise.
const noiseShare = 0.01

// Confidence is the probability that the intervals of all rows of a comparison hold
// together: see Comparison.rowError.
const Confidence = 0.95

// MinRuns and MaxRuns bound the runs of each side: see package stats.
const (
	MinRuns = stats.MinRuns
	MaxRuns = stats.MaxRuns
)

// Interval is a confidence interval of a ratio of medians.
type Interval stats.Interval

func (i Interval) String() string { return table.Fixed(i.Low, 3) + " to " + table.Fixed(i.High, 3) }

// ElapsedRow is the name of the row that compares the run times, and RequestsRow that of the
// one that compares the rates of requests.
const (
	ElapsedRow  = "elapsed"
	RequestsRow = "requests"
)

// Comparison compares runs of an application with runs of its replay, or with other
// runs. Times are in seconds. Figures of several runs are medians.
type Comparison struct {
	Rows       []Row     // the categories in order, then ElapsedRow, then RequestsRow if a side has requests of clients
	Operations []Row     // operations that occurred, without intervals: I/O first, then by difference
	Files      []Row     // at most keptFiles, by difference; without intervals
	Paired     *float64  // fraction of both sides' time in files with the same name on both sides; nil if there is no time
	Distance   *Distance // distance of the profiles of all I/O, from the typical run of the application; nil if a side has no time
	NoiseFloor float64   // see Judge

	// Coverage is the coverage of the run, of either side, that allows the least
	// reliable verdict.
	Coverage coverage.Account

	// Names are the names of the sides for readers. The caller may set them before it
	// calls SetProvenance.
	Names [2]string

	// Paced describes the recording at the speed of the replays; nil if the
	// application's side is as recorded. The caller sets it.
	Paced *Paced

	// Itself says that a run is on both sides; "" if none is known to be. The caller sets
	// it.
	Itself string

	Sides []provenance.Difference // how the machines and settings of the sides differ
	Busy  []string                // see provenance.Busy

	// Checks are the outcomes of checks of the runs. The caller sets them.
	Checks []check.Outcome

	applications, replays []*profile.Profile
}

// Row compares one category, one operation, one file, the run times, or the rates of requests.
type Row struct {
	Name        string
	Category    string // of an operation, empty if it is not I/O
	Application profile.Measure
	Replay      profile.Measure
	Ratio       *float64           // replay/application, of times or rates; nil if one is unknown or the application's is 0
	Medians     [2]*stats.Interval // intervals of the time or the rate of each side, each with Confidence; nil for too few runs
	Interval    *Interval          // of Ratio; nil if both sides are one run, or a time of the application is 0
	Finding     Finding            // "" without a Ratio, or with enough runs but without an Interval
	Distance    *Distance          // of a category; nil for other rows
	Tails       []Tail             // of a category, by stats.QuantileNames; nil if a side has no durations
}

// Tail compares a quantile of the durations of calls: the medians over the runs of
// each side.
type Tail struct {
	Ratio    *float64  // replay/application; nil if the application's is 0
	Interval *Interval // of Ratio, as that of a Row
}

// Finding says whether the sides of a row differ by more than noise.
type Finding string

// String returns the finding in words.
func (f Finding) String() string { return strings.ReplaceAll(string(f), "_", " ") }

// The findings. NoDifference does not prove that the sides are equal: the interval
// shows how large a difference can be.
const (
	Differs      Finding = "differs" // the interval excludes 1
	NoDifference Finding = "no_difference_found"
	TooFewRuns   Finding = "too_few_runs_to_tell" // a side has fewer than MinRuns
)

// DefaultNames are the names of the sides if replays are compared with their
// application.
var DefaultNames = [2]string{"application", "replay"}

// Profiles compares runs of an application with runs of its replay, at most
// MaxRuns of each.
func Profiles(applications, replays []*profile.Profile) *Comparison {
	c := &Comparison{Names: DefaultNames, applications: applications, replays: replays}
	typical := Typical(applications)
	distance := func(of func(*profile.Profile) profile.Curve) *Distance {
		if typical == nil {
			return nil
		}
		return medianDistance(of(typical), replays, of)
	}
	for k := range profile.NumCategories + 1 {
		name := ElapsedRow
		if k < profile.NumCategories {
			name = k.String()
		}
		of := func(p *profile.Profile) profile.Measure { return p.Measure(k) }
		if k >= profile.NumIO && k < profile.NumCategories { // it is not judged
			row, _, _ := newRow(name, measures(applications, of), measures(replays, of))
			c.Rows = append(c.Rows, row)
			continue
		}
		row := c.row(name, of)
		if k < profile.NumIO {
			row.Distance = distance(func(p *profile.Profile) profile.Curve { return p.Curves[k] })
		}
		c.Rows = append(c.Rows, row)
	}
	if served := func(p *profile.Profile) bool { return p.Requests != nil }; slices.ContainsFunc(applications, served) || slices.ContainsFunc(replays, served) {
		c.Rows = append(c.Rows, c.row(RequestsRow, requestMeasure))
	}
	c.Distance = distance((*profile.Profile).IOCurve)
	if elapsed := c.elapsed().Application.Seconds; elapsed != nil {
		c.NoiseFloor = noiseShare * *elapsed
	}
	c.Coverage = worst(slices.Concat(applications, replays))
	c.compareOperations()
	c.compareFiles()
	return c
}

// SetProvenance sets Sides from the remarks of each run.
func (c *Comparison) SetProvenance(applications, replays [][]format.Meta) {
	c.Sides = provenance.Differences(applications, replays)
	c.Busy = provenance.Busy(c.Names, applications, replays)
}

// worst returns a coverage that withholds a verdict if there is one, else one that is
// unknown, else one that ended early, else the lowest. It has the most reads of unknown
// state of all.
func worst(runs []*profile.Profile) (w coverage.Account) {
	rank := func(a *coverage.Account) float64 {
		switch s := a.Share(); {
		case a.Withheld() != "":
			return -2
		case !a.Known:
			return -1
		case a.Ended != "":
			return -0.5
		default:
			return min(s.Bytes, s.Time)
		}
	}
	for i, p := range runs {
		if i == 0 || rank(&p.Coverage) < rank(&w) {
			w = p.Coverage
		}
	}
	for _, p := range runs {
		if u := p.Coverage.Uncached; u.Bytes > w.Uncached.Bytes {
			w.Uncached = u
		}
	}
	return w
}

// compareOperations compares operation by operation. Operations other than I/O come
// last, because they always differ: a replay does not wait for processes or execute
// programs.
func (c *Comparison) compareOperations() {
	var others []Row
	for op := format.OpNone + 1; op.Valid(); op++ {
		of := func(p *profile.Profile) profile.Measure { return p.OpMeasure(op) }
		row, _, _ := newRow(op.String(), measures(c.applications, of), measures(c.replays, of))
		switch k := profile.CategoryOf(op); {
		case row.Application.Calls+row.Replay.Calls == 0:
		case k == profile.NumCategories:
			others = append(others, row)
		default:
			row.Category = k.String()
			c.Operations = append(c.Operations, row)
		}
	}
	slices.SortStableFunc(c.Operations, byDifference)
	slices.SortStableFunc(others, byDifference)
	c.Operations = append(c.Operations, others...)
}

// byDifference orders rows by the difference of their times, the largest first.
func byDifference(a, b Row) int {
	return cmp.Compare(math.Abs(b.difference()), math.Abs(a.difference()))
}

// communicates reports whether a side has communication.
func (c *Comparison) communicates() bool {
	return c.Rows[profile.Communication].occurs()
}

// occurs reports whether a side has calls.
func (r *Row) occurs() bool { return r.Application.Calls+r.Replay.Calls > 0 }

// shown returns the rows to print: calls on files, and others that occurred.
func (c *Comparison) shown() (rows []Row) {
	for k := range c.Rows {
		if row := &c.Rows[k]; c.judged(k) || row.occurs() || row.Name == ElapsedRow {
			rows = append(rows, *row)
		}
	}
	return rows
}

// judged reports whether a row counts for a verdict. Rows of mapped files count only if
// they occur, and of the run time and the requests only the headline does.
func (c *Comparison) judged(k int) bool {
	return k < int(profile.NumCalls) || k < int(profile.NumIO) && c.Rows[k].occurs() || &c.Rows[k] == c.Headline()
}

// rowError returns the error rate of each interval, which is 1-Confidence divided by
// the number of rows (Bonferroni); rows of mapped files and requests count where they occur. So a
// table of five rows shows a false difference in at most one of twenty comparisons,
// not in one of five.
func (c *Comparison) rowError() float64 {
	rows := float64(profile.NumCalls) + 1
	seldom := []func(*profile.Profile) profile.Measure{requestMeasure}
	for k := profile.NumCalls; k < profile.NumIO; k++ {
		seldom = append(seldom, func(p *profile.Profile) profile.Measure { return p.Measure(k) })
	}
	for _, of := range seldom {
		occurs := func(p *profile.Profile) bool { return of(p).Calls > 0 }
		if slices.ContainsFunc(c.applications, occurs) || slices.ContainsFunc(c.replays, occurs) {
			rows++
		}
	}
	return (1 - Confidence) / rows
}

// elapsed returns the row of the run time.
func (c *Comparison) elapsed() *Row { return &c.Rows[profile.NumCategories] }

// Requests returns the row of the rates of requests, nil if no side has requests.
func (c *Comparison) Requests() *Row {
	if last := &c.Rows[len(c.Rows)-1]; last.Name == RequestsRow {
		return last
	}
	return nil
}

// Headline returns the row that the answer is about: the rates of requests if both sides have
// one, else the run time. How long a server was recorded says nothing.
func (c *Comparison) Headline() *Row {
	if r := c.Requests(); r != nil && r.Ratio != nil {
		return r
	}
	return c.elapsed()
}

func requestMeasure(p *profile.Profile) profile.Measure { return p.Requests.Measure() }

// row compares the figures of all runs, with the interval of the ratio.
func (c *Comparison) row(name string, of func(*profile.Profile) profile.Measure) Row {
	applications, replays := measures(c.applications, of), measures(c.replays, of)
	row, aTimes, rTimes := newRow(name, applications, replays)
	row.Tails = c.tails(applications, replays)
	for i, times := range [][]float64{aTimes, rTimes} {
		if len(times) >= stats.MedianRuns(1-Confidence) {
			row.Medians[i] = new(stats.MedianInterval(times, 1-Confidence))
		}
	}
	if row.Ratio == nil {
		return row
	}
	enough := min(len(aTimes), len(rTimes)) >= MinRuns
	if !enough {
		row.Finding = TooFewRuns
	}
	if aTimes[0] > 0 && max(len(aTimes), len(rTimes)) > 1 {
		row.Interval = new(Interval(stats.RatioInterval(aTimes, rTimes, c.rowError())))
		switch {
		case !enough:
		case row.Interval.Low > 1 || row.Interval.High < 1:
			row.Finding = Differs
		default:
			row.Finding = NoDifference
		}
	}
	return row
}

// tails compares the quantiles of both sides, nil where one has none.
func (c *Comparison) tails(applications, replays []profile.Measure) (list []Tail) {
	for i := range stats.QuantileNames {
		a, r := quantiles(applications, i), quantiles(replays, i)
		if len(a) == 0 || len(r) == 0 {
			return nil
		}
		var t Tail
		if low, high := stats.Median(a), stats.Median(r); low > 0 {
			t.Ratio = new(high / low)
		}
		if a[0] > 0 && max(len(a), len(r)) > 1 {
			t.Interval = new(Interval(stats.RatioInterval(a, r, c.rowError())))
		}
		list = append(list, t)
	}
	return list
}

// quantiles returns a quantile of each run that has durations.
func quantiles(runs []profile.Measure, i int) (values []float64) {
	for _, one := range runs {
		if one.Tails != nil {
			values = append(values, one.Tails.List()[i])
		}
	}
	return values
}

// newRow returns a row of medians, and the known times or rates of each side in rising order.
func newRow(name string, applications, replays []profile.Measure) (row Row, aValues, rValues []float64) {
	row.Name = name
	row.Application, aValues = medians(applications)
	row.Replay, rValues = medians(replays)
	if a, r := row.values(); a != nil && *a != 0 && r != nil {
		row.Ratio = new(*r / *a)
	}
	return row, aValues, rValues
}

// valueOf returns what a row compares: a rate if there is one, else seconds; nil if unknown.
func valueOf(m *profile.Measure) *float64 { return cmp.Or(m.Rate, m.Seconds) }

// values returns what a row compares of the sides.
func (r *Row) values() (a, b *float64) { return valueOf(&r.Application), valueOf(&r.Replay) }

// Slowdown returns how many times as slow the replay is, by its time or its rate. It needs a
// Ratio.
func (r *Row) Slowdown() float64 {
	if r.Application.Rate != nil {
		return 1 / *r.Ratio
	}
	return *r.Ratio
}

// difference returns by how many seconds the replay is slower, 0 if unknown.
func (r *Row) difference() float64 {
	if r.Application.Seconds == nil || r.Replay.Seconds == nil {
		return 0
	}
	return *r.Replay.Seconds - *r.Application.Seconds
}

// measures returns the figures of each run.
func measures(profiles []*profile.Profile, of func(*profile.Profile) profile.Measure) (runs []profile.Measure) {
	for _, p := range profiles {
		runs = append(runs, of(p))
	}
	return runs
}

// medians returns the median of each figure, and the known times or rates in rising
// order.
func medians(runs []profile.Measure) (m profile.Measure, values []float64) {
	var calls, errs, bytes, unknowns []int64
	rated := slices.ContainsFunc(runs, func(one profile.Measure) bool { return one.Rate != nil })
	for i, one := range runs {
		if v := valueOf(&runs[i]); v != nil {
			values = append(values, *v)
		}
		calls, errs = append(calls, one.Calls), append(errs, one.Errors)
		bytes, unknowns = append(bytes, one.Bytes), append(unknowns, one.Unknown)
	}
	m = profile.Measure{Calls: stats.Median(calls), Errors: stats.Median(errs), Bytes: stats.Median(bytes), Unknown: stats.Median(unknowns)}
	switch {
	case len(values) == 0:
	case rated:
		m.Rate = new(stats.Median(values))
	default:
		m.Seconds = new(stats.Median(values))
	}
	var tails [len(stats.QuantileNames)]float64
	for i := range tails {
		v := quantiles(runs, i)
		if len(v) == 0 {
			return m, values
		}
		tails[i] = stats.Median(v)
	}
	m.Tails = profile.NewTails(tails)
	return m, values
}

// Typical returns the run with the median run time, nil for no runs. For an even number
// of runs it is the shorter one of the two in the middle. Plots show this run.
func Typical(profiles []*profile.Profile) *profile.Profile {
	if len(profiles) == 0 {
		return nil
	}
	sorted := slices.Clone(profiles)
	slices.SortStableFunc(sorted, func(a, b *profile.Profile) int { return cmp.Compare(a.RunTime, b.RunTime) })
	return sorted[(len(sorted)-1)/2]
}
