package experiment

import (
	"fmt"
	"slices"
	"strings"
)

// MaxCandidates is the largest number of candidates.
const MaxCandidates = 256

// Baseline is the name of the candidate without steps.
const Baseline = "baseline"

// Candidate is a list of steps that change the baseline, each as NAME, NAME=ARG
// or NAME:ARG.
type Candidate []string

func (c Candidate) String() string {
	if len(c) == 0 {
		return Baseline
	}
	return strings.Join(c, "+")
}

// Parse parses candidates. A text has one or more steps, joined by "+". An
// argument can contain a "+" too: known reports whether a name is that of a
// step.
//
// In a grid, the argument of each step is a list, 2,4,8, and the candidates are
// all combinations of one of each; the first step changes slowest. Commas
// within quotes or parentheses do not separate.
func Parse(texts []string, grid bool, known func(name string) bool) ([]Candidate, error) {
	var all []Candidate
	if grid {
		all = []Candidate{nil}
	}
	for _, text := range texts {
		steps := splitSteps(text, known)
		if !grid {
			all = append(all, steps)
			continue
		}
		for _, step := range steps {
			values := splitList(step)
			if len(all)*len(values) > MaxCandidates {
				return nil, fmt.Errorf("a grid of more than %d candidates", MaxCandidates)
			}
			var crossed []Candidate
			for _, c := range all {
				for _, v := range values {
					crossed = append(crossed, append(slices.Clone(c), v))
				}
			}
			all = crossed
		}
	}
	if len(all) > MaxCandidates {
		return nil, fmt.Errorf("more than %d candidates", MaxCandidates)
	}
	seen := map[string]bool{Baseline: true}
	for _, c := range all {
		switch {
		case slices.Contains(c, ""):
			return nil, fmt.Errorf("%q has an empty step", c)
		case seen[c.String()]:
			return nil, fmt.Errorf("duplicate %q", c)
		}
		seen[c.String()] = true
	}
	return all, nil
}

// Cut returns the name of a step and its argument.
func Cut(step string) (name, arg string) {
	if i := strings.IndexAny(step, "=:"); i >= 0 {
		return step[:i], step[i+1:]
	}
	return step, ""
}

// splitSteps cuts a text at every "+" that is followed by the name of a step.
// It also cuts before an unknown name that begins with a letter; the caller
// reports it.
func splitSteps(text string, known func(string) bool) (steps Candidate) {
	begin := 0
	for i := range len(text) {
		if text[i] != '+' {
			continue
		}
		next, _, _ := strings.Cut(text[i+1:], "+")
		if name, _ := Cut(next); known(name) || !strings.ContainsAny(text[begin:i], "=:") {
			steps = append(steps, text[begin:i])
			begin = i + 1
		}
	}
	return append(steps, text[begin:])
}

// splitList returns a step with each of the arguments in its list.
func splitList(step string) (steps []string) {
	at := strings.IndexAny(step, "=:") + 1
	if at == 0 {
		return []string{step}
	}
	head, list := step[:at], step[at:]
	depth, quote, begin := 0, byte(0), 0 // quote is the open quote
	for i := range len(list) {
		switch c := list[i]; {
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			steps = append(steps, head+list[begin:i])
			begin = i + 1
		}
	}
	return append(steps, head+list[begin:])
}
