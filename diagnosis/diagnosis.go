// Package diagnosis says what to look at first in a profile: what takes the time,
// by how much, and a command to try.
//
//	profile.Profile → scene → rules, in order → findings, the longest first
//
// A rule is a row of a table: a name, a condition with the time that it is about, a
// sentence, and candidates for the laboratory. The time is that on the critical path,
// since nothing else makes the run shorter; where the path is not known, or idle, it is that of
// all threads, of the time that they did not wait. What one rule has found, those behind it do not count again, so that all
// findings together are at most the run time.
//
// Nothing is said of what is not certain: every condition has a threshold, with its
// reason, and a recording that holds too little of the I/O for a verdict has one
// finding, which says what is missing.
package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"pianola/format"
	"pianola/profile"
)

// Subject is what a profile is of, as a command takes it.
type Subject struct {
	Name string // of the file
	Kind Kind
}

// Kind says what the laboratory can do with a file.
type Kind uint8

// The kinds.
const (
	Recording Kind = iota // or a compiled trace: everything
	Log                   // of a replay: nothing
)

const (
	// maxFindings is how many there are at most: more is a table, and those follow.
	maxFindings = 5

	// minShare is the part of the run time below which a finding is not worth a line:
	// the laboratory's six runs seldom tell a smaller gain from noise.
	minShare = 0.05

	// minRun is the shortest run, in nanoseconds, that has a diagnosis. Below it the
	// start of the program is most of the run.
	minRun = 10_000_000
)

// Of returns the findings of a profile, at most five, those with the most time first,
// but for one that says how to read the others.
// It only reads the profile.
func Of(p *profile.Profile, of Subject) []profile.Finding {
	if why := p.Coverage.Withheld(); why != "" {
		return []profile.Finding{{Rule: "coverage", Text: "The recording does not hold enough of the I/O for a diagnosis: " + why + "."}}
	}
	s := newScene(p)
	if p.RunTime < minRun || s.whole == 0 {
		return nil
	}
	var list, leading []profile.Finding
	for i := range rules {
		r := &rules[i]
		e := r.find(s)
		// What all threads did can be most of the work and yet little of the run.
		if s.share(&e) < cmp.Or(r.least, minShare) || float64(e.nanos) < minShare*float64(p.RunTime) {
			continue
		}
		s.claim(&e)
		text := r.text(s, &e)
		if r.advice != "" {
			text += " " + r.advice
		}
		found := profile.Finding{Rule: r.name, Text: text, Seconds: format.Seconds(e.nanos), Share: s.share(&e), Try: of.lab(r.try)}
		if found.Try != "" {
			found.Candidates = r.try
		}
		if r.leads {
			leading = append(leading, found)
		} else {
			list = append(list, found)
		}
	}
	slices.SortStableFunc(list, func(a, b profile.Finding) int { return cmp.Compare(b.Seconds, a.Seconds) })
	list = append(leading, list...)
	return list[:min(len(list), maxFindings)]
}

// lab returns the command that tries candidates, "" for none that it could.
func (of Subject) lab(candidates []string) string {
	if of.Kind == Log || of.Name == "" {
		return ""
	}
	if len(candidates) == 0 {
		return ""
	}
	return "pianola lab " + quoted(of.Name) + " --try " + strings.Join(candidates, " --try ")
}

// quoted returns a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:,@%", r)
	}
	if word[0] == '-' {
		word = "./" + word
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
