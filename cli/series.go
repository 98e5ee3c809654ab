package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/record/parts"
)

// series is the scripts of a recording in parts: trace.txt becomes trace.000001.txt and so on.
// Numbers go on where an earlier recording left off.
type series struct {
	before, after string   // the number
	who           *account // that the scripts are for
	keep          int      // scripts at most; the oldest are removed
	names         []string
	number        int
	opened        int
	written       int64      // bytes of the scripts before the last one
	last          *recording // nil before the first, and after one that was given up
}

func newSeries(name string, keep int, who *account) *series {
	s := &series{keep: keep, who: who}
	base := filepath.Base(name)
	at := strings.IndexByte(base[1:], '.') + 1
	if at == 0 {
		at = len(base)
	}
	at += len(name) - len(base)
	s.before, s.after = name[:at], name[at:]
	there, _ := filepath.Glob(escapeGlob(s.before) + ".[0-9][0-9][0-9][0-9][0-9][0-9]" + escapeGlob(s.after))
	slices.Sort(there)
	if s.names = there; len(there) > 0 {
		fmt.Sscanf(strings.TrimPrefix(there[len(there)-1], s.before+"."), "%06d", &s.number)
	}
	return s
}

// escapeGlob makes a pattern of a name that matches only that.
func escapeGlob(name string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[").Replace(name)
}

// open opens the next script.
func (s *series) open() (*recording, error) {
	s.written = s.bytes()
	s.number++
	name := fmt.Sprintf("%s.%06d%s", s.before, s.number, s.after)
	r, err := createRecording(name, s.who)
	if err != nil {
		return nil, err
	}
	s.last = r
	s.opened++
	s.names = append(s.names, name)
	return r, nil
}

// prune removes the oldest scripts.
func (s *series) prune() {
	for len(s.names) > s.keep {
		if err := os.Remove(s.names[0]); err != nil && !os.IsNotExist(err) {
			console.Warn("record: %v", files.Cause(err))
		}
		s.names = s.names[1:]
	}
}

// next opens the next script of a rotation.
func (s *series) next() (parts.Script, error) {
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	s.prune()
	return r, nil
}

// bytes returns how many bytes were written.
func (s *series) bytes() int64 {
	if s.last == nil {
		return s.written
	}
	return s.written + s.last.file.written
}

// window is a script of a flight recorder. Older ones are removed when it is complete.
type window struct {
	*recording
	series *series
}

// window opens the next script of a flight recorder.
func (s *series) window() (parts.Script, error) {
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	r.file.quiet = true
	return &window{r, s}, nil
}

// Close implements parts.Script. A script that can't be completed is removed: on a full disk it
// would be in the way of all others.
func (w *window) Close() error {
	s, ok, named := w.series, !w.file.failed, w.file.named()
	err := w.finish(ok)
	if ok && err == nil {
		s.prune()
		return nil
	}
	if named {
		os.Remove(w.Name())
	}
	s.names, s.opened, s.last = s.names[:len(s.names)-1], s.opened-1, nil
	return err
}
