package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	return &output{bufio.NewWriter(f), name, f}, nil
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
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
