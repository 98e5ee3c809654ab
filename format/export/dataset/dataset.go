// Package dataset keeps traces as tables of Parquet files in a directory.
package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pianola/format"
	"pianola/format/export"
	"pianola/internal/console"
	"pianola/internal/files"
)

// Is reports whether a name of an output is that of a dataset, and not of one file of all
// events.
func Is(out string) bool {
	if out == "-" || strings.HasSuffix(out, ".parquet") {
		return false
	}
	info, err := os.Stat(out)
	return err != nil || info.IsDir() || info.Mode().IsRegular()
}

// Dataset is several traces in a directory:
//
//	DIR/TABLE/trace=NAME/rank=0/part-0.parquet
//
// Only one process at a time may add to it.
type Dataset struct {
	Name  string     // of the directory, which is made if it is missing
	Files *files.Set // creates the files
}

// Input is a trace, a recording or a log that a Dataset takes in.
type Input interface {
	format.Reader
	io.Closer
	Named(err error) error // makes an error that comes of its events name it
}

// Names returns the name of each operand in a dataset: its last component, or all
// of it where that would be the name of two.
func Names(operands []string) ([]string, error) {
	times := make(map[string]int)
	for _, name := range operands {
		times[filepath.Base(name)]++
	}
	names, seen := make([]string, len(operands)), make(map[string]bool)
	for i, name := range operands {
		if names[i] = filepath.Base(name); times[names[i]] > 1 {
			names[i] = filepath.Clean(name)
		}
		if seen[names[i]] {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		seen[names[i]] = true
	}
	return names, nil
}

// partition returns "trace=NAME" with the escapes that Hive uses in names of directories.
func partition(name string) string {
	b := []byte("trace=")
	for _, c := range []byte(name) {
		if c > ' ' && c < 0x7f && strings.IndexByte("\"#%'*/:=?\\{}[]^", c) < 0 {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
}

// partFile is the file of a rank in a table.
const partFile = "part-0.parquet"

// rankDir returns the name of the directory of a rank. Where there are no ranks, the program
// is rank 0; otherwise engines read the name of Hive for a process without a rank as NULL.
func rankDir(rank int32, ranked bool) string {
	switch {
	case rank != export.NoRank:
		return fmt.Sprintf("rank=%d", rank)
	case ranked:
		return "rank=__HIVE_DEFAULT_PARTITION__"
	}
	return "rank=0"
}

// Add adds a trace, which replaces what the dataset has of that name. It opens the trace for
// each pass. The tables are written into a temporary directory, and moved once they are
// complete.
func (d *Dataset) Add(name string, open func() (Input, error)) (err error) {
	dir, made := d.Name, partition(name)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return console.WithHint(fmt.Errorf("%s: not a directory, as a dataset is", dir), "one file of all events has a name that ends in .parquet")
	}
	tmp := files.Beside(filepath.Join(dir, made))
	_, missing := os.Stat(dir)
	d.Files.Unfinished(tmp)
	defer func() {
		if gone := os.RemoveAll(tmp); err == nil {
			err = gone
		}
		if err != nil && missing != nil {
			_ = os.Remove(dir) // fails if there is something in it
		}
	}()
	for pass, passes := 0, 1; pass < passes; pass++ {
		if passes, err = d.writeTables(tmp, pass, open); err != nil {
			return err
		}
	}
	for _, table := range export.Tables {
		if err := checkTrace(filepath.Join(dir, table, made)); err != nil {
			return err
		}
	}
	for _, table := range export.Tables {
		to := filepath.Join(dir, table, made)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(tmp, table), to); err != nil {
			return fmt.Errorf("rename to %s: %w", to, files.Cause(err))
		}
	}
	return nil
}

// writeTables writes the tables of the ranks of one pass below a directory, and returns how
// many passes there are.
func (d *Dataset) writeTables(dir string, pass int, open func() (Input, error)) (passes int, _ error) {
	src, err := open()
	if err != nil {
		return 0, err
	}
	defer src.Close()
	var outputs []*files.Output
	defer func() {
		for _, o := range outputs {
			o.Abort()
			d.Files.Release(o.Name()) // another file can get its inode
		}
	}()
	h := src.Header()
	ranked := len(h.Ranks) > 0
	passes = export.Passes(h)
	tables, err := export.NewDataset(h, pass, func(table string, rank int32) (io.Writer, error) {
		at := filepath.Join(dir, table, rankDir(rank, ranked))
		if err := os.MkdirAll(at, 0o777); err != nil {
			return nil, err
		}
		o, err := d.Files.Create(filepath.Join(at, partFile), files.Public)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, o)
		return o, nil
	})
	if err != nil {
		return 0, err
	}
	if err := format.Copy(tables, src); err != nil {
		return 0, src.Named(err)
	}
	if err := tables.Close(); err != nil {
		return 0, err
	}
	for _, o := range outputs {
		if err := o.Commit(); err != nil {
			return 0, err
		}
	}
	return passes, nil
}

// checkTrace returns an error if the directory of a trace in a table holds anything else
// than a dataset has there, because it is about to be replaced.
func checkTrace(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if known, _ := filepath.Match("rank=*/part-*.parquet", name); !known {
			return fmt.Errorf("%s: not of a dataset, so %s is not replaced", path, dir)
		}
		return nil
	})
}
