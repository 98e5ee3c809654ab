package cli

import (
	"fmt"
	"os"
	"strings"

	"pianola/compile"
	"pianola/format"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/page"
	"pianola/profile"
)

// sideNames are the sides of a comparison.
var sideNames = [2]string{"application", "replay"}

// readSides reads the recordings of both sides of a comparison. It compiles
// scripts, so that both sides hold the same kind of events. Scripts come last,
// because their paths are mapped in the same way as those of the traces and
// logs on the other side.
func readSides(names [2][]string) (runs [2][]page.Run, renamed originals, err error) {
	paths := compile.Tree
	for side := range names {
		runs[side] = make([]page.Run, len(names[side]))
	}
	for _, scripts := range []bool{false, true} {
		for side := range names {
			for i, name := range names[side] {
				s, err := isScript(name)
				if err != nil {
					return runs, nil, err
				}
				if s != scripts {
					continue
				}
				if s && renamed == nil {
					renamed = originals{}
				}
				if runs[side][i], err = readRun(sideNames[side], name, paths, renamed); err != nil {
					return runs, nil, err
				}
				h := format.Header{Meta: runs[side][i].Meta}
				if v, _ := h.Value(format.MetaPaths); v == format.PathsFlat {
					paths = compile.Flat
				}
			}
		}
	}
	return runs, renamed, nil
}

// readRun reads one recording of a side.
func readRun(side, name string, paths compile.Paths, renamed originals) (run page.Run, err error) {
	r, done, err := openRecording(name, paths, renamed)
	if err != nil {
		return run, err
	}
	defer done()
	p, err := profile.Read(r)
	if err != nil {
		return run, err
	}
	return page.Run{Name: side, Meta: r.Header().Meta, Profile: p}, nil
}

// isScript reports whether a recording has to be compiled. Compiled traces,
// intermediate scripts and logs of replays do not.
func isScript(name string) (bool, error) {
	f, err := openInput(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if isTrace(f) {
		return false, nil
	}
	src, err := inspect(importer.Options{}, name)
	if err != nil {
		return false, err
	}
	defer src.Close()
	return !src.Log && src.Dialect != script.Intermediate, nil
}

// openRecording opens a recording, a trace or a log for a comparison. If it
// compiles a script, it calls renamed with the names of files. The caller calls
// close after the last use of the reader.
func openRecording(name string, paths compile.Paths, renamed originals) (r format.Reader, close func() error, err error) {
	f, err := openInput(name)
	if err != nil {
		return nil, nil, err
	}
	if isTrace(f) {
		return eventsOf(f, name)
	}
	f.Close()
	src, err := inspect(importer.Options{}, name)
	if err != nil {
		return nil, nil, err
	}
	if src.Log || src.Dialect == script.Intermediate {
		r, err := src.open()
		return r, src.Close, err
	}
	defer src.Close()
	events, err := src.open()
	if err != nil {
		return nil, nil, err
	}
	tmp, err := spool("")
	if err != nil {
		return nil, nil, err
	}
	report, err := compileTo(tmp, events, compile.Options{Compensate: true, Paths: paths})
	if err != nil {
		tmp.Close()
		return nil, nil, compileHint(named(name, err))
	}
	if report.Endless || report.Lost > 0 {
		warn("%s: warning: the recording is incomplete; pianola compile shows why", name)
	}
	renamed.add(report.Substitutions)
	return eventsOf(tmp, name)
}

// eventsOf returns the events of a compiled trace. On an error it closes the
// trace.
func eventsOf(f *os.File, name string) (r format.Reader, close func() error, err error) {
	t, err := traceOf(f)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return t.Events(), f.Close, nil
}

// originals maps names of files in a trace to their absolute paths in the
// application, if they differ by more than the root.
type originals map[string]string

// add adds the names of a recording. The first recording that has a name
// counts.
func (o originals) add(list []compile.Substitution) {
	for _, s := range list {
		if _, ok := o[s.Mapped]; !ok {
			o[s.Mapped] = s.Original
		}
	}
}

// of returns the application's absolute path of a name in a trace. It replaces
// the longest known prefix. The result is empty if no recording was compiled.
func (o originals) of(name string) string {
	if o == nil {
		return ""
	}
	for dir := name; dir != ""; dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)] {
		if original, ok := o[dir]; ok {
			return original + name[len(dir):]
		}
	}
	return "/" + strings.TrimPrefix(name, ".")
}
