package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// output is a file that appears under its name only when it is complete, so
// that a failure leaves nothing half-written behind. The name "-" stands for
// standard output.
type output struct {
	*bufio.Writer
	name string
	file *os.File
}

func createOutput(name string) (*output, error) {
	if name == "-" {
		return &output{bufio.NewWriter(os.Stdout), name, os.Stdout}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		// A device or a pipe is written to in place; nothing can replace it.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &output{bufio.NewWriter(f), "-", f}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err // its path is that of a temporary file
		}
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	o := &output{bufio.NewWriter(f), name, f}
	unfinished.Store(f.Name(), true)
	return o, nil
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
	if err := o.file.Chmod(0o644); err != nil {
		return err
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	return os.Rename(o.file.Name(), o.name)
}

// abort removes what was written, unless it was committed.
func (o *output) abort() {
	if o.name != "-" {
		o.file.Close()
		os.Remove(o.file.Name())
	}
}

// writeOutput writes a whole file by a function.
func writeOutput(name string, write func(o *output) error) error {
	o, err := createOutput(name)
	if err != nil {
		return err
	}
	defer o.abort()
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
