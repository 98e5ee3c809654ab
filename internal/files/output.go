package files

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"pianola/format"
	"pianola/internal/console"
)

// The permissions of new outputs, before the umask.
const (
	Private fs.FileMode = 0o600 // recordings, traces and logs, because they hold command lines and names of files
	Public  fs.FileMode = 0o666
)

// Output is a file that gets its name only when it is complete, so that a
// failure leaves no incomplete file. The name "-" means standard output. A nil
// output was not requested.
type Output struct {
	*bufio.Writer
	asked string // the name on the command line
	name  string // "-" for what is written in place
	file  *os.File
}

// Create creates an output. It inherits the permissions of the file that
// it replaces.
func (s *Set) Create(name string, mode fs.FileMode) (*Output, error) {
	old, err := s.ClaimOutput(name)
	switch {
	case err != nil:
		return nil, err
	case name == "-":
		return inPlace(name, os.Stdout), nil
	case old != nil && !old.Mode().IsRegular():
		// A device or a pipe is written in place; it can't be replaced.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return inPlace(name, f), nil
	case old != nil:
		mode = Private // until it gets those of the old file
	}
	f, err := createBeside(name, mode)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, Cause(err)) // without the path of the temporary file
	}
	o := &Output{bufio.NewWriter(f), name, name, f}
	s.unfinished.Store(f.Name(), true)
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			o.Abort()
			return nil, err
		}
	}
	return o, nil
}

// CreateIf is Create, but returns nil for an empty name.
func (s *Set) CreateIf(name string, mode fs.FileMode) (*Output, error) {
	if name == "" {
		return nil, nil
	}
	return s.Create(name, mode)
}

// inPlace returns an output to an open file.
func inPlace(name string, f *os.File) *Output {
	return &Output{bufio.NewWriter(console.OnScreen(f, format.TextNotation)), name, "-", f}
}

// HoldsCSV marks an output as CSV before anything is written.
func (o *Output) HoldsCSV() { o.Reset(console.OnScreen(o.file, format.CSVNotation)) }

// createBeside creates a file with a unique name in the directory of another.
// Unlike os.CreateTemp, it takes a mode, to which the kernel applies the umask.
func createBeside(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(Beside(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// Beside returns a name for a temporary file in the directory of another.
func Beside(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:10])
}

// Name returns the name on the command line.
func (o *Output) Name() string { return o.asked }

// File returns the file that is written, which can be read as well unless it is in place.
func (o *Output) File() *os.File { return o.file }

// InPlace reports whether the output is standard output, or something else that can't be
// replaced.
func (o *Output) InPlace() bool { return o.name == "-" }

// Cause returns the error inside an fs.PathError or an os.LinkError, without paths.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

// Commit gives the file its name.
func (o *Output) Commit() error {
	if err := o.Flush(); err != nil {
		return err
	}
	if o.name == "-" {
		return nil
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	return os.Rename(o.file.Name(), o.name)
}

// Abort removes what was written, unless it was committed.
func (o *Output) Abort() {
	if o != nil && o.name != "-" {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}

// Put writes the whole output with a function, and commits it.
func (o *Output) Put(write func(w io.Writer) error) error {
	if o == nil {
		return nil
	}
	if err := write(o); err != nil {
		return err
	}
	return o.Commit()
}

// Put creates a file, writes it with a function, and gives it its name. It does nothing for an
// empty name.
func (s *Set) Put(name string, mode fs.FileMode, write func(w io.Writer) error) error {
	o, err := s.CreateIf(name, mode)
	if err != nil {
		return err
	}
	defer o.Abort()
	return o.Put(write)
}

// Spool returns a temporary file without a name in a directory, "" for that of the system.
func Spool(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".pianola-spool-*")
	if err != nil && dir == "" {
		return nil, console.WithHint(err, "set TMPDIR to a directory that can be written to")
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Unfinished notes a temporary file or directory that RemoveUnfinished removes.
func (s *Set) Unfinished(name string) { s.unfinished.Store(name, true) }

// RemoveUnfinished removes what is not complete: at the end of a command, or of a program that ends
// early.
func (s *Set) RemoveUnfinished() {
	s.unfinished.Range(func(name, _ any) bool {
		_ = os.RemoveAll(name.(string))
		return true
	})
}

// Open opens a file that is read more than once, so it must be a regular file.
func (s *Set) Open(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	if err := s.Claim(name, info); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a small file, which may be a pipe.
func (s *Set) Read(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil {
		if err := s.Claim(name, info); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(name)
}
