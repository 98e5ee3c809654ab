package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pianola/format/provenance"
	"pianola/internal/table"
	"pianola/profile"
)

// Answer returns the first sentence of a comparison: what binds the replays if storage
// does not, which side is faster, by how much, in what, and how certain that is. For
// replays of an application it ends with the verdict, unless checks decide.
func (c *Comparison) Answer(v *Verdict) string {
	answer := c.difference() + c.most()
	bound := c.Bound()
	if bound != "" {
		answer = bound + "; " + answer
	}
	switch {
	case !c.ofReplays() || len(c.Checks) > 0:
	case v.Withheld == "":
		answer += ": " + v.text()
	case v.Withheld == bound:
		answer += ": not judged"
	}
	return answer
}

// ofReplays reports whether the comparison is of an application and its replays, where
// the question is how true the replays are, and not which side is faster.
func (c *Comparison) ofReplays() bool { return c.Names == DefaultNames }

// the returns the name of a side as a noun phrase.
func (c *Comparison) the(side int) string {
	if c.ofReplays() {
		return "the " + c.Names[side]
	}
	return c.Names[side]
}

// wording is how sentences speak of a headline.
type wording struct {
	verb, verbs string // of one replay, and of several
	times       string // after a ratio of 2 or more
	as          string // after the verb, for equal sides
	more, less  string // after a change in per cent
	amount      string // in which intervals are more or less
	lesser      string // of an interval
	faster      string // of the faster side, around how many times it is so
	instead     func(r *Row) string
}

var wordings = map[string]wording{
	ElapsedRow: {
		"takes", "take", "times as long as", "the same time as", "longer than", "less time than", "time", "less", "is %s times as fast as",
		func(*Row) string { return "" },
	},
	RequestsRow: {
		"answers", "answer", "times as many requests as", "as many requests as", "more requests than", "fewer requests than", "requests", "fewer", "answers %s times as many requests a second as",
		func(r *Row) string {
			now, before := profile.ASecond(*r.Replay.Rate), profile.ASecond(*r.Application.Rate)
			if now != before {
				now += " instead of " + before
			}
			return ", " + now + " a second"
		},
	},
}

// difference compares the sides by the headline, in words.
func (c *Comparison) difference() string {
	r := c.Headline()
	if r.Ratio == nil {
		return "the run times are not known on both sides"
	}
	sure, w := table.Percent(Confidence), wordings[r.Name]
	base, who, verb := c.the(0), c.the(1), w.verb
	if c.ofReplays() && len(c.replays) > 1 {
		who, verb = "the replays", w.verbs
	}
	switch {
	case r.Finding == NoDifference:
		return fmt.Sprintf("no difference found: %s %s %s %s than %s (%s), %s",
			who, verb, r.Interval.change(w.lesser), w.amount, base, sure, c.runs())
	case r.Finding == Differs && !c.ofReplays():
		ratio, v := *r.Ratio, *r.Interval
		if ratio < 1 {
			ratio, v = 1/ratio, Interval{1 / v.High, 1 / v.Low}
		}
		if r.Slowdown() < 1 {
			base, who = who, base // the faster one is the subject
		}
		decimals := 2
		if ratio < 1.1 {
			decimals = 3
		}
		return fmt.Sprintf("%s %s %s (%s to %s, %s), %s", base, fmt.Sprintf(w.faster, table.Fixed(ratio, decimals)),
			who, table.Fixed(v.Low, decimals), table.Fixed(v.High, decimals), sure, c.runs())
	case r.Finding == Differs:
		return fmt.Sprintf("%s %s %s %s (%s, %s)%s, %s",
			who, verb, w.compared(*r.Ratio), base, r.Interval.change(w.lesser), sure, w.instead(r), c.runs())
	}
	return fmt.Sprintf("%s %s %s %s%s, %s", who, verb, w.compared(*r.Ratio), base, w.instead(r), c.runs())
}

// most names the class with most of the difference of two systems, as the end of a
// sentence: "; the most in sync: 0.008 instead of 6.822 ms". It returns "" for replays,
// whose verdict names the classes, and where no difference was found.
func (c *Comparison) most() string {
	whole := c.Headline()
	if c.ofReplays() || whole.Ratio == nil || whole.Finding == NoDifference || percentOff(*whole.Ratio) == "0.0" {
		return ""
	}
	var most *Row
	far := c.NoiseFloor
	for k := range profile.NumIO {
		r := &c.Rows[k]
		d := r.difference() * math.Copysign(1, whole.Slowdown()-1)
		if d > far && r.Finding != NoDifference {
			most, far = r, d
		}
	}
	if most == nil {
		return ""
	}
	u := table.UnitOf(max(*most.Application.Seconds, *most.Replay.Seconds))
	a, b := u.Format(*most.Application.Seconds), u.Format(*most.Replay.Seconds)
	if whole.Finding == Differs && whole.Slowdown() > 1 { // the first side is the subject
		a, b = b, a
	}
	return fmt.Sprintf("; the most in %s: %s instead of %s %s", most.Name, b, a, u.Name)
}

// runs says how many runs each side has.
func (c *Comparison) runs() string {
	switch a, b := len(c.applications), len(c.replays); {
	case a == 1 && b == 1:
		return "one run of each"
	case a == b:
		return fmt.Sprintf("%d runs of each", a)
	default:
		return fmt.Sprintf("%d and %s", a, table.Plural(b, "run"))
	}
}

// compared returns how a ratio compares, as the start of a phrase that ends with the other side.
func (w *wording) compared(ratio float64) string {
	switch change := percentOff(ratio); {
	case ratio >= 2:
		return table.Fixed(ratio, 2) + " " + w.times
	case change == "0.0":
		return w.as
	case ratio > 1:
		return change + " % " + w.more
	default:
		return change + " % " + w.less
	}
}

// percentOff returns how far a ratio is from 1, in per cent with a decimal.
func percentOff(ratio float64) string { return table.Fixed(100*math.Abs(ratio-1), 1) }

// change returns an interval of a ratio as a change in per cent. less is the word for what is
// below 1.
func (i *Interval) change(less string) string {
	low, high := percentOff(i.Low), percentOff(i.High)
	switch {
	case i.Low >= 2:
		return table.Fixed(i.Low, 2) + " to " + table.Fixed(i.High, 2)
	case i.Low >= 1:
		return low + " to " + high + " % more"
	case i.High <= 1:
		return high + " to " + low + " % " + less
	}
	return low + " % " + less + " to " + high + " % more"
}

// text returns a verdict that is not withheld as a phrase.
func (v *Verdict) text() string {
	switch {
	case v.State == Within:
		return "within " + table.Percent(*v.Tolerance)
	case v.State == Outside:
		return "outside " + table.Percent(*v.Tolerance) + " in " + labels(v.Outside)
	case len(v.Undecided) == 0:
		return "inconclusive because the run time is not known"
	case v.Runs == 0:
		return "inconclusive in " + labels(v.Undecided) + ", too close to the tolerance for any practical number of runs"
	}
	about := ""
	if v.Runs > MinRuns {
		about = "about "
	}
	return fmt.Sprintf("inconclusive in %s; make %s%d runs of each", labels(v.Undecided), about, v.Runs)
}

// Remarks returns the lines after the answer: the verdict if the answer does not
// contain it and no checks decide, the rows that were not judged, warnings about
// outliers, and the differences between the sides' machines. The list is not nil.
func (c *Comparison) Remarks(v *Verdict) []string {
	lines := []string{}
	var parts []string
	switch {
	case v.Withheld != "" && v.Withheld != c.Bound(): // the answer says what binds
		parts = append(parts, "cannot be judged: "+v.Withheld)
	case !c.ofReplays() && len(c.Checks) == 0 && v.Tolerance != nil:
		parts = append(parts, v.text())
	}
	if len(v.NotExcluded) > 0 {
		parts = append(parts, fmt.Sprintf("differences of up to %s cannot be ruled out in %s", table.Percent(2**v.Tolerance), labels(v.NotExcluded)))
	}
	if len(v.Noise) > 0 {
		u := table.UnitOf(c.longest())
		parts = append(parts, "ignored because shorter than "+u.Format(c.NoiseFloor)+" "+u.Name+": "+labels(v.Noise))
	}
	if len(v.Unknown) > 0 {
		parts = append(parts, "not known: "+labels(v.Unknown))
	}
	if len(parts) > 0 {
		lines = append(lines, strings.Join(parts, "; "))
	}
	if at := c.elapsed().Application.Seconds; c.Paced != nil && at != nil {
		lines = append(lines, c.Paced.Text(c.the(0), *at))
	}
	if c.Headline().Finding == TooFewRuns && v.Runs == 0 {
		lines = append(lines, fmt.Sprintf("%s cannot tell a difference from noise: make %d of each", c.runs(), MinRuns))
	}
	if line := c.grouping(); line != "" {
		lines = append(lines, line)
	}
	if c.Itself != "" {
		lines = append(lines, "warning: "+c.Itself)
	}
	if line := c.uncached(); line != "" {
		lines = append(lines, "warning: "+line)
	}
	for _, line := range slices.Concat(c.outliers(), c.Busy) {
		lines = append(lines, "warning: "+line)
	}
	return append(lines, provenance.Notes(c.Names, c.Sides)...)
}

// grouping says how threads shared syncs, and, if that is a relevant part less, how long
// the typical replay would take with as few syncs as the application may need.
func (c *Comparison) grouping() string {
	p := Typical(c.replays)
	if p == nil || p.Grouping == nil || p.Categories[profile.Syncs].Calls == 0 {
		return ""
	}
	g, syncs := p.Grouping, p.Categories[profile.Syncs]
	saved := float64(g.Groups-g.Least()) * float64(syncs.Nanos/syncs.Calls)
	whole := float64(p.RunTime)
	if g.Recorded > 0 || saved < leastRelevant*whole {
		return g.Text()
	}
	return fmt.Sprintf("%s: %s would take between %.3f and %.3f s", g.Needs(), c.the(1), max(whole-saved, 0)/1e9, whole/1e9)
}

// uncached warns of reads of which it is unknown whether they were in the page cache, if
// they are a relevant share of the bytes that were read.
func (c *Comparison) uncached() string {
	read := c.Rows[profile.Reads].Replay.Bytes + c.Rows[profile.MappedReads].Replay.Bytes
	unknown := c.Coverage.Uncached.Bytes
	if unknown == 0 || float64(unknown) < leastRelevant*float64(read) {
		return ""
	}
	return fmt.Sprintf("the recording does not tell whether %s of the %s read were in the page cache: replays with --cache cold and --cache warm show the difference",
		table.Bytes(float64(unknown)), table.Bytes(float64(read)))
}

// leastRelevant is the share of a run time, or of the bytes read, below which a remark is
// left out.
const leastRelevant = 0.05
