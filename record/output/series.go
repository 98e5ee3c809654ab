package output

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/glob"
	"pianola/internal/table"
	"pianola/record/parts"
)

// series is the scripts of a recording in parts: trace.txt becomes trace.000001.txt and so on.
// Numbers go on where an earlier recording left off.
type series struct {
	*Options
	before, after string   // the number
	names         []string // of the scripts that are there, the oldest first
	number        int      // of the last one
	opened        int
	written       int64 // bytes of all that were opened
}

func (o *Options) series(name string) *series {
	s := &series{Options: o}
	base := filepath.Base(name)
	at := strings.IndexByte(base[1:], '.') + 1
	if at == 0 {
		at = len(base)
	}
	at += len(name) - len(base)
	s.before, s.after = name[:at], name[at:]
	there, _ := filepath.Glob(glob.EscapePath(s.before) + ".[0-9][0-9][0-9][0-9][0-9][0-9]" + glob.EscapePath(s.after))
	slices.Sort(there)
	if s.names = there; len(there) > 0 {
		fmt.Sscanf(strings.TrimPrefix(there[len(there)-1], s.before+"."), "%06d", &s.number)
	}
	return s
}

// open opens the next script.
func (s *series) open() (*recording, error) {
	s.number++
	name := fmt.Sprintf("%s.%06d%s", s.before, s.number, s.after)
	r, err := s.create(name)
	if err != nil {
		return nil, err
	}
	r.file.total = &s.written
	s.opened++
	s.names = append(s.names, name)
	return r, nil
}

// prune removes the oldest scripts.
func (s *series) prune() {
	for len(s.names) > s.Scripts {
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

// String implements Output.
func (s *series) String() string {
	if s.opened == 0 {
		return "no script"
	}
	return fmt.Sprintf("%s in %s, the last one %s", table.Bytes(float64(s.written)), table.Plural(s.opened, "script"), s.names[len(s.names)-1])
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
	err := w.Finish(ok)
	if ok && err == nil {
		s.prune()
		return nil
	}
	if named {
		os.Remove(w.Name())
	}
	s.names, s.opened, s.written = s.names[:len(s.names)-1], s.opened-1, s.written-w.file.written
	return err
}
