package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pianola/internal/stats"
	"pianola/internal/table"
)

// states are all states, in the order in which Summary counts them.
var states = []State{Failed, Unknown, Inconclusive, Passed}

// Summary returns one line with the number of checks in each state and the error rate:
// "1 of 3 checks failed, 2 passed; the chance of a false failure is at most 5 %".
func Summary(outcomes []Outcome) string {
	var parts []string
	for _, s := range states {
		if n := count(outcomes, s); n > 0 {
			part := fmt.Sprintf("%d %s", n, s)
			if len(parts) == 0 {
				part = fmt.Sprintf("%d of %s %s", n, table.Plural(len(outcomes), "check"), s)
			}
			parts = append(parts, part)
		}
	}
	line := strings.Join(parts, ", ")
	chance := 0.0
	for i := range outcomes {
		if c := outcomes[i].Confidence; c > 0 {
			chance += 1 - c
		}
	}
	if chance > 0 && !slices.ContainsFunc(outcomes, Outcome.byMedians) {
		const digit = 0.001
		line += "; the chance of a false failure is at most " + table.Percent(max(errorRate, digit*math.Ceil(chance/digit*(1-1e-9))))
	}
	return line
}

// Note returns a line about checks that had too few runs, "" if there are none.
func Note(outcomes []Outcome) string {
	least, most, needs := math.MaxInt, 0, 0
	for i := range outcomes {
		if o := outcomes[i]; o.byMedians() {
			least, most, needs = min(least, o.Runs), max(most, o.Runs), max(needs, o.Needs)
		}
	}
	if most == 0 {
		return ""
	}
	runs := table.Plural(least, "run")
	if least < most {
		runs = fmt.Sprintf("%d to %s", least, table.Plural(most, "run"))
	}
	return fmt.Sprintf("%s of each cannot tell a change from noise, so the medians were compared: make %d of each", runs, max(needs, stats.MinRuns))
}

// Text returns the summary, a line for each check, and the note.
func Text(outcomes []Outcome) string {
	var rows [][]string
	for i := range outcomes {
		o := &outcomes[i]
		rows = append(rows, []string{"  " + string(o.State), o.Check, o.Message()})
	}
	text := Summary(outcomes) + "\n" + table.Format(rows, table.AllLeft)
	if note := Note(outcomes); note != "" {
		text += note + "\n"
	}
	return text
}

// Message describes the result: "1.200 ms to 1.500 ms, +25.0 %, at least +12.3 %".
func (o *Outcome) Message() string {
	var parts []string
	switch {
	case o.Base != nil && o.Value != nil:
		parts = append(parts, o.Application()+" to "+o.Replay())
	case o.Value != nil:
		parts = append(parts, o.Replay())
	}
	if c := o.Change(); c != "" {
		parts = append(parts, c)
	}
	if s := o.Sure(); s != "" {
		parts = append(parts, s)
	}
	text := strings.Join(parts, ", ")
	if o.Why != "" {
		text = strings.TrimPrefix(text+": "+o.Why, ": ")
	}
	return text
}

// Application returns the formatted value of the reference side.
func (o *Outcome) Application() string { return o.format(o.Base) }

// Replay returns the formatted value of the checked side.
func (o *Outcome) Replay() string { return o.format(o.Value) }

func (o *Outcome) format(v *float64) string {
	if v == nil {
		return table.Missing
	}
	return o.unit.format(*v)
}

// Change returns how much the value changed: "+25.0 %", of a count "+1, +4.0 %" or "+0";
// "" if that is unknown.
func (o *Outcome) Change() string {
	var parts []string
	if o.unit.counts && o.Base != nil && o.Value != nil {
		parts = append(parts, o.difference(*o.Value-*o.Base))
	}
	if o.Ratio != nil && (!o.unit.counts || *o.Ratio != 1) {
		parts = append(parts, change(*o.Ratio))
	}
	return strings.Join(parts, ", ")
}

func change(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// difference returns a formatted difference of values, with its sign.
func (o *Outcome) difference(v float64) string {
	sign := "+"
	if v < 0 {
		sign = "-"
	}
	return sign + o.unit.format(math.Abs(v))
}

// Sure returns what decides: the end of the interval, "at least +12.3 %", or "at most" if
// the check passed; or what is known of a count. It is "" if the medians decide.
func (o *Outcome) Sure() string {
	switch {
	case o.Exact:
		return fmt.Sprintf("exact: the same in %d runs of %s", o.baseRuns, o.base)
	case o.Low == nil && o.Confidence > 0:
		return fmt.Sprintf("beyond each of %d runs of %s", o.baseRuns, o.base)
	case o.Low == nil:
		return ""
	}
	words, end := "at most ", *o.High
	if o.above == (o.State != Passed) {
		words, end = "at least ", *o.Low
	}
	switch {
	case o.Relative:
		return words + change(end)
	case o.Difference:
		return words + o.difference(end)
	}
	return words + o.unit.format(end)
}
