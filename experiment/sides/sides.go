// Package sides finds the two sides of a comparison in the operands of a command, and reads
// their runs.
//
//	Request → Find → Sides → Read → two experiment.Side → Compare → experiment.Pair
//
// It refuses what is no comparison: a run that a side has twice, and recordings beside replays
// at several speeds.
package sides

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pianola/compile"
	"pianola/compile/source"
	"pianola/experiment"
	"pianola/experiment/compare"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/stats"
)

// Parting is the operand between two groups of files.
const Parting = "--"

// Request is what a command line asks to be compared:
//
//	A… -- B…                     two groups
//	--application A… B…          recordings of an application, and replays
//	A B                          two files
//	RECORDING LOG…               a recording and logs of its replays
//	--baseline FILE B…           runs that were saved, and others
//	--save FILE B…               runs to be saved: a second side without a first
type Request struct {
	Operands     []string
	Applications []string
	Baseline     string    // "" for none
	Save         bool      // save the runs of the second side
	Names        [2]string // of the sides; empty ones are derived from the files
}

// Misuse is the error of a request that is wrong for any contents of the files.
type Misuse struct {
	error
	Hint string // what to do, "" if the error says it
}

// Unwrap returns the error without its hint.
func (m *Misuse) Unwrap() error { return m.error }

func misuse(form string, args ...any) error { return &Misuse{error: fmt.Errorf(form, args...)} }

// Sides are the two sides of a comparison, and the files of their runs.
type Sides struct {
	Both [2]experiment.Side // the first one has no runs where there is nothing to compare with

	reader  *source.Reader
	files   [2][]string
	kinds   [2][]kind
	options compile.Options      // with which scripts are compiled
	pace    format.Pace          // of the replays, at which recordings of the first side are read
	paced   []float64            // run times as recorded of those that were read at another pace, in seconds
	shared  string               // a file that is on both sides, "" for none
	seen    [2]map[string]string // the file of each run, by its identity
}

// kind says what a comparison takes a file for.
type kind uint8

const (
	recorded kind = iota // a recording, or a compiled trace
	replayed             // the log of a replay
)

// Find groups the files of a request into sides, and names these. It reads the beginning of
// each file, and a baseline. The error is a *Misuse if another command line is wanted.
func Find(r *source.Reader, q *Request) (*Sides, error) {
	s := &Sides{reader: r}
	if err := s.group(q); err != nil {
		return nil, err
	}
	if err := s.look(); err != nil {
		return nil, err
	}
	if err := s.checkRepeated(); err != nil {
		return nil, err
	}
	if q.Save && !s.all(1, recorded) && !s.all(1, replayed) {
		return nil, &Misuse{fmt.Errorf("--save: %s is not the log of a replay, unlike the others", s.files[1][slices.Index(s.kinds[1], recorded)]), "to compare with it and save the replays put -- after it"}
	}
	names, err := s.names(q)
	s.Both[0].Name, s.Both[1].Name = names[0], names[1]
	return s, err
}

// alone reports whether no files are a first side.
func (q *Request) alone() bool {
	return len(q.Applications) == 0 && !slices.Contains(q.Operands, Parting) && (q.Baseline != "" || q.Save)
}

// group groups the files into sides.
func (s *Sides) group(q *Request) error {
	operands, applications := q.Operands, q.Applications
	parted := slices.Index(operands, Parting)
	switch {
	case q.Baseline != "" && !q.alone():
		return misuse("--baseline is the first side, and excludes --application and two groups")
	case q.alone():
		s.files[1] = operands
	case parted >= 0 && len(applications) > 0:
		return misuse("--application and two groups exclude each other")
	case parted >= 0:
		s.files = [2][]string{operands[:parted], operands[parted+1:]}
	case len(applications) > 0:
		s.files = [2][]string{applications, operands}
	case len(operands) > 0:
		s.files = [2][]string{operands[:1], operands[1:]}
	}
	switch {
	case parted >= 0 && len(s.files[1]) == 0:
		return misuse("want files of the second group after %s", Parting)
	case len(s.files[1]) == 0 && q.alone():
		return misuse("want runs to be compared or saved")
	case len(s.files[1]) == 0:
		return misuse("want a recording of the application and at least one replay")
	case slices.Contains(s.files[1], Parting):
		return misuse("want two groups of files, got more than one %s between files", Parting)
	}
	if n := max(len(s.files[0]), len(s.files[1])); n > compare.MaxRuns {
		return misuse("%d runs of one side are more than %d", n, compare.MaxRuns)
	}
	return nil
}

// look reads the beginning of each file, and sets the kinds and the options. Files
// have the application's names. Where a trace or a log does not have these, all
// files have those below the root, and scripts are compiled with the same mapping.
// Recordings are not compared with replays at several speeds.
func (s *Sides) look() error {
	var first, other string // logs of the replays: the first, and one with another pace
	s.options = compile.Options{Compensate: true, Names: true}
	for side, names := range s.files {
		for _, name := range names {
			h, kind, err := header(s.reader, name)
			if err != nil {
				return err
			}
			s.kinds[side] = append(s.kinds[side], kind)
			if h == nil {
				continue
			}
			if h.Interrupted() {
				console.Warn("%s: warning: the replay was interrupted, so only a part of it is compared", format.Visible(name))
			}
			if side == 1 && kind == replayed {
				switch pace := format.PaceOf(h); {
				case first == "":
					first, s.pace = name, pace
				case pace != s.pace:
					other = name
				}
			}
			if v, _ := h.Value(format.MetaPaths); v == format.PathsFlat {
				s.options.Paths = compile.Flat
			}
			s.options.Names = s.options.Names && len(h.Names) > 0
		}
	}
	if other != "" && slices.Contains(s.kinds[0], recorded) {
		return console.WithHint(fmt.Errorf("%s and %s were replayed at different speeds", first, other), "compare the replays of each speed by themselves")
	}
	return nil
}

// header returns the header of what is read as it is, nil for a recording that has to be
// compiled.
func header(r *source.Reader, name string) (h *format.Header, k kind, err error) {
	src, err := r.Open(name)
	if err != nil {
		return nil, k, err
	}
	defer src.Close()
	if !src.Log && !src.IsLowered() {
		return nil, k, nil
	}
	if src.Log {
		k = replayed
	}
	events, err := src.Events()
	if err != nil {
		return nil, k, err
	}
	// The header of text is all that stands before the first event.
	if _, err = events.Read(make([]format.Event, 1)); err != nil && err != io.EOF {
		return nil, k, source.Named(name, err)
	}
	return events.Header(), k, nil
}

// all reports whether all files of a side are of a kind.
func (s *Sides) all(side int, k kind) bool {
	return !slices.ContainsFunc(s.kinds[side], func(other kind) bool { return other != k })
}

// names returns the names of the sides. It reads a baseline into the first one, which has a
// name of its own.
func (s *Sides) names(q *Request) ([2]string, error) {
	if q.Baseline != "" {
		b, err := experiment.OpenBaseline(s.reader.Files, q.Baseline, false)
		if err != nil {
			return q.Names, err
		}
		beside := prefixOf(s.files[1])
		if !experiment.IsName(beside) {
			beside = compare.DefaultNames[1]
		}
		s.Both[0] = *experiment.SavedSide(b, "", beside)
		if q.Names[0] != "" {
			return q.Names, nil
		}
		return [2]string{s.Both[0].Name, beside}, nil
	}
	ofReplays := s.all(0, recorded) && s.all(1, replayed)
	grouped := len(q.Applications) > 0 || slices.Contains(q.Operands, Parting)
	switch {
	case q.alone():
		return [2]string{"", prefixOf(s.files[1])}, nil
	case !grouped && len(q.Operands) > 2 && !ofReplays:
		half := (len(q.Operands) + 1) / 2
		return q.Names, &Misuse{
			fmt.Errorf("%d operands are neither a recording and logs of its replays nor two groups", len(q.Operands)),
			fmt.Sprintf("%s separates two groups: pianola compare %s %s %s", Parting, abridged(q.Operands[:half]), Parting, abridged(q.Operands[half:])),
		}
	case q.Names[0] != "":
		return q.Names, nil
	case ofReplays || len(q.Applications) > 0:
		return compare.DefaultNames, nil
	}
	return groupNames(s.files), nil
}

// abridged returns the first and the last of many words.
func abridged(words []string) string {
	if len(words) > 3 {
		words = []string{words[0], "…", words[len(words)-1]}
	}
	return strings.Join(words, " ")
}

// Alone reports whether there is nothing to compare with.
func (s *Sides) Alone() bool { return len(s.files[0]) == 0 && len(s.Both[0].Runs) == 0 }

// Read reads the runs of both sides. It compiles scripts, so that both sides hold the same kind
// of events. A side that has a run twice is an error.
func (s *Sides) Read() error {
	s.seen = [2]map[string]string{{}, {}}
	for i := range s.Both[0].Runs {
		s.seen[0][identity(&s.Both[0].Runs[i])] = s.Both[0].Name
	}
	for side, pace := range [2]format.Pace{s.pace, {}} {
		for _, name := range s.files[side] {
			run, paced, err := Run(s.reader, name, s.options, pace)
			if err != nil {
				return err
			}
			if paced != nil {
				s.paced = append(s.paced, paced.Recorded)
			}
			one := identity(&run)
			if before := s.seen[side][one]; before != "" && one != "" {
				return sameRun(before, name)
			}
			s.seen[side][one] = name
			s.Both[side].Runs = append(s.Both[side].Runs, run)
		}
	}
	return nil
}

// Compare compares the sides, which were read.
func (s *Sides) Compare() experiment.Pair {
	p := experiment.Compare(&s.Both[0], &s.Both[1])
	if s.paced != nil {
		p.Paced = &compare.Paced{Speed: s.pace.Speed, Recorded: stats.Median(s.paced)}
	}
	p.Itself = s.itself()
	return p
}
