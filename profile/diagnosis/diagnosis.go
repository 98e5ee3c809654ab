// Package diagnosis finds the causes that take the most time in a profile. Each finding
// has its share of the time and a command that tries a remedy.
//
//	profile.Profile → scene → rules, in order → findings, the longest first
//
// A rule is a row of a table: a name, a condition that returns the time it applies to,
// a sentence, and candidates for the lab. The time is counted on the critical path,
// because only that makes the run shorter. If the path is unknown or idle, the time of
// all threads is counted, without their waits. A later rule does not count time that an
// earlier one has claimed, so all findings together are at most the run time.
//
// A finding must be certain: every condition has a threshold, with its reason. A
// recording that holds too little of the I/O for a verdict has one finding, which says
// what is missing.
package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"pianola/format"
	"pianola/profile"
)

// Subject is the file that a profile was made from, as commands accept it.
type Subject struct {
	Name string // of the file
	Kind Kind
}

// Kind says what the lab can do with a file.
type Kind uint8

// The kinds.
const (
	Recording Kind = iota // or a compiled trace: everything
	Log                   // of a replay: nothing
)

const (
	// maxFindings is the maximum number of findings. Findings are listed by their time.
	maxFindings = 5

	// minShare is the fraction of the run time below which a finding is dropped: six
	// runs of the lab seldom distinguish a smaller gain from noise.
	minShare = 0.05

	// minRun is the shortest run, in nanoseconds, that has a diagnosis. Below it the
	// start of the program is most of the run.
	minRun = 10_000_000

	tooLittle = "The recording does not hold enough of the I/O for a diagnosis"
)

// Of returns at most five findings of a profile, sorted by time. A finding about how to
// read the others is first. Of only reads the profile.
func Of(p *profile.Profile, of Subject) []profile.Finding {
	if why := p.Coverage.Withheld(); why != "" {
		return []profile.Finding{{Rule: "coverage", Claim: tooLittle, Text: tooLittle + ": " + why + "."}}
	}
	s := newScene(p)
	if p.RunTime < minRun || s.whole == 0 {
		return nil
	}
	var list, leading []profile.Finding
	for i := range rules {
		r := &rules[i]
		e := r.find(s)
		// Work of all threads can be most of the work and still little of the run.
		if s.share(&e) < cmp.Or(r.least, minShare) || float64(e.nanos) < minShare*float64(p.RunTime) {
			continue
		}
		s.claim(&e)
		claim := r.claim(s, &e)
		text := claim + ": " + r.detail(s, &e) + "."
		if r.advice != "" {
			text += " " + r.advice
		}
		found := profile.Finding{Rule: r.name, Claim: claim, Text: text, Seconds: format.Seconds(e.nanos), Share: s.share(&e), Try: of.lab(r.try), ReadsOnly: e.readsOnly()}
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

// lab returns the command that tries candidates, "" if the lab cannot try any.
func (of Subject) lab(candidates []string) string {
	if of.Kind == Log || of.Name == "" {
		return ""
	}
	if len(candidates) == 0 {
		return ""
	}
	return "pianola lab " + quoted(of.Name) + " --try " + strings.Join(candidates, " --try ")
}

// quoted returns a word quoted for a shell.
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
