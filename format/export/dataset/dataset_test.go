package dataset

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/export"
	"pianola/internal/console"
	"pianola/internal/files"
)

func TestNames(t *testing.T) {
	names, err := Names([]string{"a/run.bin", "b//run.bin", "c/other.bin"})
	require.NoError(t, err)
	require.Equal(t, []string{"a/run.bin", "b/run.bin", "other.bin"}, names)
	_, err = Names([]string{"a/run.bin", "./a/run.bin"})
	require.EqualError(t, err, "./a/run.bin is given twice")
	require.Equal(t, "trace=a%2Frun%20%C3%A9.bin", partition("a/run é.bin"))
}

func TestIs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, want := range map[string]bool{"-": false, "one.parquet": false, "none": true, dir: true, file: true, os.DevNull: false} {
		require.Equal(t, want, Is(name), name)
	}
}

// input is a recording of one event and of a rank, if it has one.
type input struct {
	header format.Header
	fault  error // instead of the event
	done   bool
}

func (i *input) Header() *format.Header { return &i.header }
func (i *input) Close() error           { return nil }
func (i *input) Named(err error) error  { return &os.PathError{Op: "read", Path: "input", Err: err} }
func (i *input) Read(events []format.Event) (int, error) {
	if i.done || i.fault != nil {
		if i.fault != nil {
			return 0, i.fault
		}
		return 0, io.EOF
	}
	i.done = true
	events[0] = format.Event{Op: format.OpFsync, TID: 1, Dur: 1000}
	return 1, nil
}

func TestAdd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	d := &Dataset{Name: dir, Files: new(files.Set)}
	fault := errors.New("broken")
	add := func(name string, fault error) error {
		return d.Add(name, func() (Input, error) { return &input{fault: fault}, nil })
	}
	err := add("run", fault)
	require.ErrorIs(t, err, fault)
	require.ErrorContains(t, err, "input", "the error names it")
	require.NoDirExists(t, dir, "nothing is left of a failure")

	there := func() (all []string) {
		all, err := filepath.Glob(filepath.Join(dir, "*", "trace=run", "*", "*"))
		require.NoError(t, err)
		return all
	}
	for range 2 { // the second replaces the first
		require.NoError(t, add("run", nil))
		require.Len(t, there(), len(export.Tables))
		require.FileExists(t, filepath.Join(dir, "events", "trace=run", "rank=0", "part-0.parquet"))
	}
	require.ErrorIs(t, add("run", fault), fault)
	require.Len(t, there(), len(export.Tables), "a failure leaves what was there")
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, hidden)

	// Add replaces nothing that is not of a dataset.
	strange := filepath.Join(dir, "spans", "trace=run", "mine")
	require.NoError(t, os.WriteFile(strange, nil, 0o600))
	require.ErrorContains(t, add("run", nil), "not of a dataset")
	require.FileExists(t, strange)

	d.Name = strange
	err = add("run", nil)
	var hint *console.Hint
	require.ErrorAs(t, err, &hint)
	require.ErrorContains(t, err, "not a directory, as a dataset is")
}
