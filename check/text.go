package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pianola/stats"
	"pianola/table"
)

// states are all of them, in the order in which they are counted.
var states = []State{Failed, Unknown, Inconclusive, Passed}

// Summary says in one line how many checks came to what, and how sure that is: "1 of 3
// checks failed, 2 passed; the chance of a false failure is at most 5 %".
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
	byInterval := func(o Outcome) bool { return o.Confidence > 0 }
	if slices.ContainsFunc(outcomes, byInterval) && !slices.ContainsFunc(outcomes, Outcome.byMedians) {
		line += "; the chance of a false failure is at most " + table.Percent(errorRate)
	}
	return line
}

// Note says for which runs there are too few, "" if for none.
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

// Message says what was found: "1.200 ms to 1.500 ms, +25.0 %, at least +12.3 %".
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

// Application returns the value of the side that is compared with, in words.
func (o *Outcome) Application() string { return o.format(o.Base) }

// Replay returns the value of the side that is checked, in words.
func (o *Outcome) Replay() string { return o.format(o.Value) }

func (o *Outcome) format(v *float64) string {
	if v == nil {
		return table.Missing
	}
	return o.unit.format(*v)
}

// Change returns by which part the value changed, "+25.0 %"; "" if that is not known.
func (o *Outcome) Change() string {
	if o.Ratio == nil {
		return ""
	}
	return change(*o.Ratio)
}

func change(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// Sure returns the end of an interval that matters: how much worse the metric became
// at least, "at least +12.3 %", or, of a check that passed, at most. It is "" where the
// medians decide.
func (o *Outcome) Sure() string {
	if o.Low == nil {
		return ""
	}
	words, end := "at most ", *o.High
	if o.above == (o.State != Passed) {
		words, end = "at least ", *o.Low
	}
	if o.Relative {
		return words + change(end)
	}
	return words + o.unit.format(end)
}
