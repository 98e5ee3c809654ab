// Package source opens whatever was recorded, as events or as a compiled trace: a compiled
// trace, a recording, an intermediate script, the log of a replay, a directory with the
// recordings of nodes, what a program prints, or what an importer reads. Files may be
// compressed. Memory is bounded whatever is in them.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pianola/compile"
	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/available"
	"pianola/internal/console"
	"pianola/internal/files"
)

// Reader opens recordings and traces by their names. It is not changed while one of its
// sources is open. Its methods may be called concurrently.
type Reader struct {
	Console    *console.Console  // shows the progress of reading
	Files      *files.Set        // claims the files that are opened
	Limits     Limits            // of what the files may turn into
	Importers  []importer.Format // tried before those of package importer
	Transforms transform.Set     // those that Source.Compile applies
}

// Limits bounds what inputs may turn into: a small file can be a compressed endless text.
type Limits struct {
	Text   int64 // bytes of text that a compressed file may hold, 0 for a multiple of its size
	Memory int64 // bytes of memory that a recording, trace or profile may take, 0 for what is available
}

// The default for the text of a compressed file. A recording is compressed to a
// twentieth.
const (
	minText   = 1 << 30 // bytes, for any file
	textRatio = 100     // bytes for each of the file
)

// text returns how many bytes of text a compressed file of a size may hold.
func (l *Limits) text(size int64) int64 { return cmp.Or(l.Text, max(minText, size*textRatio)) }

// Reading returns how many bytes of memory a trace or a profile may take in a command that
// replays nothing. The default is half of what is available, since garbage takes as much
// again, and at most as much as a trace may take anywhere.
func (l *Limits) Reading() int64 {
	if l.Memory > 0 {
		return l.Memory
	}
	free, err := available.Memory()
	if err != nil {
		free = math.MaxInt64
	}
	return min(bin.DefaultLimit, max(free/2, 1<<20))
}

// Open opens anything that was recorded. The caller closes the Source.
func (r *Reader) Open(name string) (*Source, error) {
	return r.open(importer.Options{}, Operand{Name: name})
}

// Operand is a recording: a file, or what a program prints.
type Operand struct {
	Name     string
	Generate func(w io.Writer) error // writes what a program prints; nil for a file
}

// OpenAll opens recordings as one, or a single compiled trace. It runs programs. The log of a
// replay is an error. The caller closes the Source.
func (r *Reader) OpenAll(o importer.Options, operands ...Operand) (*Source, error) {
	s, err := r.open(o, operands...)
	if err == nil && s.Log {
		s.Close()
		return nil, errLog(s.name)
	}
	return s, err
}

func errLog(name string) error { return fmt.Errorf("%s: the log of a replay, not a recording", name) }

func (r *Reader) open(o importer.Options, operands ...Operand) (*Source, error) {
	s := r.source(operands[0].Name)
	var all []importer.File
	for _, of := range operands {
		if of.Generate != nil {
			f, err := s.generated(of)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
			continue
		}
		if len(operands) == 1 && isDir(of.Name) {
			return r.inspectNodes(o, of.Name)
		}
		f, err := r.Files.Open(of.Name)
		if err != nil {
			return nil, err
		}
		trace := isTrace(f)
		if trace && len(operands) == 1 {
			s.Recording, s.trace = &importer.Recording{}, f
			return s, nil
		}
		f.Close()
		if trace {
			return nil, ErrCompiled(of.Name)
		}
		all = append(all, s.file(of.Name))
	}
	return s.look(o, all)
}

// ErrCompiled returns the error for a compiled trace in place of a recording.
func ErrCompiled(name string) error {
	return console.WithHint(fmt.Errorf("%s: already compiled", name), "pianola convert shows it as text; --with and --filter change one trace")
}

// source returns a Source whose recording or trace is not known yet.
func (r *Reader) source(name string) *Source {
	return &Source{reader: r, name: name, shown: r.Console.Bytes("reading")}
}

// isDir reports whether a name is that of a directory.
func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isTrace reports whether a file is a compiled trace.
func isTrace(f *os.File) bool {
	var prefix [16]byte
	n, _ := f.ReadAt(prefix[:], 0)
	return bin.IsTrace(prefix[:n])
}

// recordingsIn returns the names of the recordings in a directory that record --ranks has
// written.
func recordingsIn(dir string) (all []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(strings.TrimSuffix(e.Name(), ".zst"), ".txt") {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	if len(all) == 0 {
		return nil, console.WithHint(fmt.Errorf("%s: no recordings in this directory", dir), "pianola record --ranks -o DIR writes a file NODE.txt for each node")
	}
	return all, nil
}

// Named prefixes an error with the name of the file, unless it is nil or has its own
// position.
func Named(name string, err error) error {
	if _, ok := errors.AsType[*script.SyntaxError](err); ok || err == nil {
		return err
	}
	if limit, ok := errors.AsType[*compile.LimitError](err); ok && limit.Line > 0 {
		return fmt.Errorf("%s:%d: %w", name, limit.Line, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// WithHint adds to an error of reading or of a compilation what to do about it.
func WithHint(err error) error {
	_, isLimit := errors.AsType[*compile.LimitError](err)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return console.WithHint(err, "set TMPDIR to a directory on another file system")
	case isLimit || errors.Is(err, bin.ErrLimit):
		return console.WithHint(err, "pianola compile --limit memory=SIZE allows more")
	}
	return err
}

// chooser returns, for the header of a trace, which of its threads are read.
type chooser = func(*format.Header) func(thread int32) bool

// OpenTrace opens a compiled trace, or compiles a recording in passing. It reads threads
// that choose selects, all for nil, into at most limit bytes of memory. The caller closes
// the trace after its last use.
func (r *Reader) OpenTrace(name string, limit int64, choose chooser) (*Trace, error) {
	s, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.Log {
		return nil, console.WithHint(errLog(name), `replay the trace that the line "# options" of the log names`)
	}
	if !s.IsLowered() {
		r.Console.Say("replay: %s: compiled first", name)
	}
	return s.part(s.Options(), limit, choose)
}
