package cli

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
)

// The permissions of new outputs, before the umask.
const (
	private fs.FileMode = 0o600 // recordings, traces and logs, because they hold command lines and names of files
	public  fs.FileMode = 0o666
)

// output is a file that gets its name only when it is complete, so that a
// failure leaves no incomplete file. The name "-" means standard output. A nil
// output was not requested.
type output struct {
	*bufio.Writer
	asked string // the name on the command line
	name  string // "-" for what is written in place
	file  *os.File
}

// createOutput creates an output. It inherits the permissions of the file that
// it replaces.
func createOutput(name string, mode fs.FileMode) (*output, error) {
	old, err := files.output(name)
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
		mode = private // until it gets those of the old file
	}
	f, err := createBeside(name, mode)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, cause(err)) // without the path of the temporary file
	}
	o := &output{bufio.NewWriter(f), name, name, f}
	unfinished.Store(f.Name(), true)
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			o.abort()
			return nil, err
		}
	}
	return o, nil
}

// createIf is createOutput, but returns nil for an empty name.
func createIf(name string, mode fs.FileMode) (*output, error) {
	if name == "" {
		return nil, nil
	}
	return createOutput(name, mode)
}

// inPlace returns an output to an open file.
func inPlace(name string, f *os.File) *output {
	return &output{bufio.NewWriter(onScreen(f, format.TextNotation)), name, "-", f}
}

// holdsCSV marks an output as CSV before anything is written.
func (o *output) holdsCSV() { o.Reset(onScreen(o.file, format.CSVNotation)) }

// createBeside creates a file with a unique name in the directory of another.
// Unlike os.CreateTemp, it takes a mode, to which the kernel applies the umask.
func createBeside(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(besideName(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// besideName returns a name for a temporary file in the directory of another.
func besideName(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:10])
}

// cause returns the error inside an fs.PathError or an os.LinkError, without paths.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

// commit gives the file its name.
func (o *output) commit() error {
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

// abort removes what was written, unless it was committed.
func (o *output) abort() {
	if o != nil && o.name != "-" {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}

// put writes the whole output with a function, and commits it.
func (o *output) put(write func(w io.Writer) error) error {
	if o == nil {
		return nil
	}
	if err := write(o); err != nil {
		return err
	}
	return o.commit()
}

// spool returns a temporary file without a name, in the directory of the output
// if it can be written to, because there is room.
func spool(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".pianola-spool-*")
	if err != nil && dir == "" {
		return nil, &hint{err, "set TMPDIR to a directory that can be written to"}
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
