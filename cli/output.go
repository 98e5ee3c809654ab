package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"pianola/format"
)

// The permissions of outputs that replace nothing, from which the umask takes
// away.
const (
	private fs.FileMode = 0o600 // recordings, traces and logs: they hold command lines and the names of files
	public  fs.FileMode = 0o666
)

// output is a file that appears under its name only when it is complete, so
// that a failure leaves nothing half-written behind. The name "-" stands for
// standard output. An output that the command line does not ask for is nil.
type output struct {
	*bufio.Writer
	asked string // the name that was asked for
	name  string // "-" for what is written in place
	file  *os.File
}

// createOutput begins an output. What it replaces passes its permissions on to it.
func createOutput(name string, mode fs.FileMode) (*output, error) {
	old, err := files.output(name)
	switch {
	case err != nil:
		return nil, err
	case name == "-":
		return inPlace(name, os.Stdout), nil
	case old != nil && !old.Mode().IsRegular():
		// A device or a pipe is written to in place; nothing can replace it.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return inPlace(name, f), nil
	case old != nil:
		mode = private // until it has those of old
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

// createIf begins an output that may not be asked for, by an empty name.
func createIf(name string, mode fs.FileMode) (*output, error) {
	if name == "" {
		return nil, nil
	}
	return createOutput(name, mode)
}

// inPlace returns the output that a file is already.
func inPlace(name string, f *os.File) *output {
	return &output{bufio.NewWriter(onScreen(f, format.TextNotation)), name, "-", f}
}

// holdsCSV says of an output of which nothing is written yet that it is CSV.
func (o *output) holdsCSV() { o.Reset(onScreen(o.file, format.CSVNotation)) }

// createBeside makes a file with a name of its own in the directory of another.
// The kernel applies the umask, which os.CreateTemp leaves no choice of mode for.
func createBeside(name string, mode fs.FileMode) (*os.File, error) {
	temporary := "." + filepath.Base(name) + "." + rand.Text()[:10]
	return os.OpenFile(filepath.Join(filepath.Dir(name), temporary), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// cause returns what is wrong, without the path that an error names.
func cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// unfinished holds the names of files that have not appeared yet.
var unfinished sync.Map

// endOn ends the program, as an interrupt does without a handler, once ctx is
// done and no plug-in runs, and removes what is half-written. It is for commands
// that only read and write files; what it returns is to be called at their end.
func endOn(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() {
		running.Lock()
		unfinished.Range(func(name, _ any) bool {
			_ = os.Remove(name.(string))
			return true
		})
		os.Exit(exitInterrupted)
	})
}

// commit makes the file appear.
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

// put writes the whole output by a function, and makes it appear.
func (o *output) put(write func(w io.Writer) error) error {
	if o == nil {
		return nil
	}
	if err := write(o); err != nil {
		return err
	}
	return o.commit()
}

// spool returns a temporary file without a name, for a directory where there
// is room for the output as well.
func spool(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".pianola-spool-*")
	if err != nil && dir == "" {
		return nil, &hint{err, "TMPDIR names a directory to write to"}
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
