package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compare"
	"pianola/compile"
	"pianola/compile/source"
	"pianola/format"
	"pianola/internal/console"
	"pianola/page"
)

// sides are the files that a comparison compares, and the names of their sides.
type sides struct {
	names   [2]string
	files   [2][]string
	kinds   [2][]kind
	options compile.Options      // with which scripts are compiled
	saved   []page.Run           // of a baseline, instead of the first files
	pacing  pacing               // of the replays
	shared  string               // a file that is on both sides, "" for none
	seen    [2]map[string]string // the file of each run, by its identity
}

// kind says what a comparison takes a file for.
type kind uint8

const (
	recorded kind = iota // a recording, or a compiled trace
	replayed             // the log of a replay
)

// sidesOf returns the sides that a command line of compare names:
//
//	A… -- B…                     two groups
//	--application A… B…          recordings of an application, and replays
//	A B                          two files
//	RECORDING LOG…               a recording and logs of its replays
//	--baseline FILE B…           runs that were saved, and others
//	--save FILE B…               runs to be saved: a second side without a first
func sidesOf(c *cli.Context) (s sides, err error) {
	operands, applications := c.Args().Slice(), c.StringSlice("application")
	parted := slices.Index(operands, parting)
	file := c.String("baseline")
	alone := parted < 0 && len(applications) == 0 && (file != "" || c.String("save") != "") // no files are a first side
	switch {
	case file != "" && !alone:
		return s, usage(c, "--baseline is the first side, and excludes --application and two groups")
	case alone:
		s.files[1] = operands
	case parted >= 0 && len(applications) > 0:
		return s, usage(c, "--application and two groups exclude each other")
	case parted >= 0:
		s.files = [2][]string{operands[:parted], operands[parted+1:]}
	case len(applications) > 0:
		s.files = [2][]string{applications, operands}
	case len(operands) > 0:
		s.files = [2][]string{operands[:1], operands[1:]}
	}
	switch {
	case parted >= 0 && len(s.files[1]) == 0:
		return s, usage(c, "want files of the second group after %s", parting)
	case len(s.files[1]) == 0 && alone:
		return s, usage(c, "want runs to be compared or saved")
	case len(s.files[1]) == 0:
		return s, usage(c, "want a recording of the application and at least one replay")
	case slices.Contains(s.files[1], parting):
		return s, usage(c, "want two groups of files, got more than one %s between files", parting)
	}
	if n := max(len(s.files[0]), len(s.files[1])); n > compare.MaxRuns {
		return s, usage(c, "%d runs of one side are more than %d", n, compare.MaxRuns)
	}
	if c.IsSet("names") {
		if s.names, err = parseNames(c.String("names")); err != nil {
			return s, usage(c, "--names: %v", err)
		}
	}
	if err := s.look(); err != nil {
		return s, err
	}
	if err := s.checkRepeated(); err != nil {
		return s, err
	}
	if err := s.checkSave(c); err != nil {
		return s, err
	}
	if file != "" {
		return s, s.loadBaseline(c, file)
	}
	if alone {
		s.names[1] = nameOf(s.files[1])
		return s, nil
	}
	ofReplays := s.all(0, recorded) && s.all(1, replayed)
	if parted < 0 && len(applications) == 0 && len(operands) > 2 && !ofReplays {
		return s, ungrouped(c, operands)
	}
	switch {
	case c.IsSet("names"):
	case ofReplays || len(applications) > 0:
		s.names = compare.DefaultNames
	default:
		s.names = groupNames(s.files)
	}
	return s, nil
}

// ungrouped returns the error for many operands that are no recording with logs of
// its replays.
func ungrouped(c *cli.Context, operands []string) error {
	wrong := usage(c, "%d operands are neither a recording and logs of its replays nor two groups", len(operands))
	if h, ok := errors.AsType[*console.Hint](wrong); ok {
		half := (len(operands) + 1) / 2
		h.Text = fmt.Sprintf("%s parts two groups: pianola compare %s %s %s", parting, abridged(operands[:half]), parting, abridged(operands[half:]))
	}
	return wrong
}

// abridged returns the first and the last of many words.
func abridged(words []string) string {
	if len(words) > 3 {
		words = []string{words[0], "…", words[len(words)-1]}
	}
	return strings.Join(words, " ")
}

// all reports whether all files of a side are of a kind.
func (s *sides) all(side int, k kind) bool {
	return !slices.ContainsFunc(s.kinds[side], func(other kind) bool { return other != k })
}

// look reads the beginning of each file, and sets the kinds and the options. Files
// have the application's names. Where a trace or a log does not have these, all
// files have those below the root, and scripts are compiled with the same mapping.
func (s *sides) look() error {
	o := compile.Options{Compensate: true, Names: true}
	for side, names := range s.files {
		for _, name := range names {
			h, kind, err := headerOf(name)
			if err != nil {
				return err
			}
			s.kinds[side] = append(s.kinds[side], kind)
			s.pacing.look(side, name, h, kind)
			if h == nil {
				continue
			}
			if v, _ := h.Value(format.MetaPaths); v == format.PathsFlat {
				o.Paths = compile.Flat
			}
			o.Names = o.Names && len(h.Names) > 0
		}
	}
	s.options = o
	return s.pacing.check()
}

// read reads the recordings of both sides. It compiles scripts, so that both sides
// hold the same kind of events. A side that has a run twice is an error.
func (s *sides) read() (runs [2][]page.Run, err error) {
	s.seen = [2]map[string]string{{}, {}}
	runs[0] = s.saved
	for i := range s.saved {
		s.seen[0][identity(&s.saved[i])] = s.names[0]
	}
	for side, names := range s.files {
		read := readRun
		if side == 0 {
			read = s.pacing.readRun
		}
		for _, name := range names {
			run, err := read(s.names[side], name, s.options)
			if err != nil {
				return runs, err
			}
			runs[side] = append(runs[side], run)
			one := identity(&run)
			if before := s.seen[side][one]; before != "" && one != "" {
				return runs, sameRun(before, name)
			}
			s.seen[side][one] = name
		}
	}
	return runs, nil
}

// readRun reads one recording of a side.
func readRun(side, name string, o compile.Options) (run page.Run, err error) {
	r, done, err := openRecording(name, o)
	if err != nil {
		return run, err
	}
	defer done()
	if !o.Names {
		r = format.WithoutNames(r)
	}
	p, err := profileWithin(r, recordings.Limits.Reading())
	if err != nil {
		return run, source.Named(name, err)
	}
	return page.Run{Name: side, Meta: r.Header().Meta, Profile: p}, nil
}

// isCompiled reports whether a source is compared as it is: a trace, an intermediate script,
// or the log of a replay.
func isCompiled(s *source.Source) bool { return s.Log || s.IsLowered() }

// headerOf returns the header of a compiled trace, of an intermediate script or of
// the log of a replay, nil for a recording that has to be compiled.
func headerOf(name string) (h *format.Header, k kind, err error) {
	src, err := recordings.Open(name)
	if err != nil {
		return nil, k, err
	}
	defer src.Close()
	if !isCompiled(src) {
		return nil, k, nil
	}
	if src.Log {
		k = replayed
	}
	r, err := src.Events()
	if err == nil && !src.IsTrace() {
		_, err = r.Read(make([]format.Event, 1)) // what stands before the first event is the header
	}
	if err != nil && err != io.EOF {
		return nil, k, err
	}
	return r.Header(), k, nil
}

// openRecording opens a recording, a trace or a log for a comparison. It compiles a
// script with the options. The caller calls close after the last use of the
// reader.
func openRecording(name string, o compile.Options) (r format.Reader, close func() error, err error) {
	src, err := recordings.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if isCompiled(src) {
		r, err := src.Events()
		return r, src.Close, err
	}
	defer src.Close()
	t, err := src.Trace(o)
	if err != nil {
		return nil, nil, err
	}
	return t.Events(), t.Close, nil
}
