package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Library is runs of several workloads on one system, as pianola bench --workload saves them. Its
// file holds a baseline for each workload:
//
//	{"pianola_suite_baseline": 1, "name": "nvme", "workloads": {
//	"git":
//	{"pianola_baseline": 1, …},
//	…
type Library struct {
	Name      string
	Workloads map[string][]Run
}

// maxWorkloads bounds the workloads of a file.
const maxWorkloads = 1 << 10

// ErrLibrary is the error for a file that is no Library.
var ErrLibrary = errors.New("not a baseline written by pianola bench --workload --save")

// WriteLibrary writes runs as a file. The same runs give the same bytes.
func WriteLibrary(w io.Writer, l *Library) error {
	var b bytes.Buffer
	b.WriteString(`{"pianola_suite_baseline": `)
	put(&b, version)
	b.WriteString(`, "name": `)
	put(&b, l.Name)
	b.WriteString(`, "workloads": {`)
	for i, name := range slices.Sorted(maps.Keys(l.Workloads)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		put(&b, name)
		b.WriteString(":\n")
		if err := Write(&b, name, l.Workloads[name]); err != nil {
			return err
		}
	}
	b.WriteString("}}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// ReadLibrary reads a file, at most 64 MiB. Errors of the file are an *Error.
func ReadLibrary(r io.Reader) (*Library, error) {
	l := &Library{}
	if err := readWhole(r, l.read); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Library) read(d *decoder) error {
	versioned := false
	err := d.object(func(key string) error {
		if !versioned && key != "pianola_suite_baseline" {
			return ErrLibrary // the version comes first
		}
		switch key {
		case "pianola_suite_baseline":
			versioned = true
			return d.version()
		case "name":
			return d.value(&l.Name)
		case "workloads":
			l.Workloads = map[string][]Run{}
			return d.object(func(name string) error {
				if len(l.Workloads) == maxWorkloads {
					return fmt.Errorf("more than %d workloads", maxWorkloads)
				}
				b, err := d.baseline()
				if err == nil {
					l.Workloads[name] = b.Runs
				}
				return err
			})
		}
		return d.skip()
	})
	switch {
	case err != nil && !versioned:
		return &Error{0, ErrLibrary}
	case err == nil && len(l.Workloads) == 0:
		return errors.New("the baseline has no workloads")
	}
	return err
}
