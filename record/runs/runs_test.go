package runs

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/interrupt"
	"pianola/record"
	"pianola/record/output"
)

// fake returns a Recorder of a command that ends with the statuses in turn.
func fake(t *testing.T, setup string, statuses ...int) *Recorder {
	runs := 0
	r, err := New(Options{
		Name:   "record",
		Record: record.Options{Command: []string{"true"}},
		Setup:  setup,
		Tracer: func(_ context.Context, o record.Options, s record.Sink) (r record.Result, err error) {
			if err = o.Begin(); err == nil {
				err = s.WriteHeader(&format.Header{})
			}
			r.Status = statuses[runs]
			runs++
			return r, err
		},
		Kept: output.Options{Files: new(files.Set), Console: &console.Console{Quiet: true}},
	})
	require.NoError(t, err)
	return r
}

// Recordings end with the first command that fails. Files of those that did not begin are removed.
func TestTake(t *testing.T) {
	for _, c := range []struct {
		statuses    []int
		setup       string
		took, setUp int
		err         string
	}{
		{[]int{0, 0, 0}, "echo >> setup", 3, 3, ""},
		{[]int{0, 7, 0}, "echo >> setup", 2, 2, ""},
		{[]int{0, 0, 0}, "echo >> setup; test ! -s t-1.txt", 1, 2, "--setup: echo >> setup; test ! -s t-1.txt: exit status 1"},
	} {
		t.Chdir(t.TempDir())
		r := fake(t, c.setup, c.statuses...)
		results, err := r.Take(context.Background(), output.Names("t.txt", 3))
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
		require.Len(t, results, c.took)
		for i, result := range results {
			require.Equal(t, c.statuses[i], result.Status)
		}
		there, err := filepath.Glob("t-*.txt")
		require.NoError(t, err)
		require.Len(t, there, c.took)
		setups, err := os.ReadFile("setup")
		require.NoError(t, err)
		require.Len(t, setups, c.setUp)
	}
}

// No command starts, and no file stays, where a signal comes first.
func TestTakeInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, end := context.WithCancelCause(context.Background())
	end(&interrupt.Error{Signal: 15})
	for _, setup := range []string{"", "true"} {
		r := fake(t, setup, 0)
		_, err := r.Take(ctx, []string{"t.txt"})
		e, ok := errors.AsType[*interrupt.Error](err)
		require.True(t, ok, err)
		require.Equal(t, 143, e.Status())
		require.NoFileExists(t, "t.txt")
	}
}

// An output that can't be created leaves none of the others, and inputs of the command are none.
func TestTakeClaims(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("t-2.txt", 0o700))
	_, err := fake(t, "", 0, 0).Take(context.Background(), output.Names("t.txt", 2))
	require.ErrorContains(t, err, "t-2.txt")
	require.NoFileExists(t, "t-1.txt")

	require.NoError(t, os.WriteFile("in", []byte("x"), 0o600))
	o := fake(t, "", 0).Options
	o.Record.Command = []string{"cat", "in"}
	r, err := New(o)
	require.NoError(t, err)
	_, err = r.Take(context.Background(), []string{"in"})
	_, same := errors.AsType[*files.SameFileError](err)
	require.True(t, same, err)
}

func TestAccount(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("no user nobody")
	}
	t.Setenv("HOME", "/of/the/caller")
	for _, name := range []string{"nobody", nobody.Uid} {
		a, err := lookUp(name)
		require.NoError(t, err)
		require.Equal(t, "nobody", a.Username)
		require.Contains(t, a.environment(), "HOME="+nobody.HomeDir)
		require.Contains(t, a.environment(), "USER=nobody")
		require.NotContains(t, a.environment(), "HOME=/of/the/caller")
	}
	for _, name := range []string{"", strconv.Itoa(os.Geteuid())} {
		t.Setenv("SUDO_UID", name)
		a, err := FindAccount(name)
		require.NoError(t, err)
		require.Nil(t, a, "that is the caller")
	}
	_, err = FindAccount("no such user")
	require.EqualError(t, err, "no user no such user")
}
