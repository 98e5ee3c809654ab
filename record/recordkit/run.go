package recordkit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// Recorded records a command, in a new directory unless the options name one.
type Recorded func(t *testing.T, o record.Options, s record.Sink) record.Result

// ExitStatus requires that a recording ends with the exit status of its command, and
// with an event that holds it.
func ExitStatus(t *testing.T, run Recorded) {
	for _, test := range []struct {
		name, script string
		status       int
		last         string // note of the last event
	}{
		{"success", "exit 0", 0, ""},
		{"failure", "exit 7", 7, ""},
		{"killed", "kill -KILL $$", 137, "signal=SIGKILL"},
		{"terminated", "kill -TERM $$", 143, "signal=SIGTERM"},
		{"caught", "trap 'exit 3' TERM; kill -TERM $$", 3, ""},
		{"ignored", "trap '' TERM; kill -TERM $$; exit 4", 4, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Collect
			r := run(t, Shell(test.script), &c)
			require.Equal(t, test.status, r.Status)
			require.Zero(t, r.Lost, r.LostByOp)
			require.Equal(t, int64(len(c.Events)), r.Events)
			last := c.Events[len(c.Events)-1]
			require.Contains(t, []format.Op{format.OpExit, format.OpExitGroup}, last.Op)
			require.Equal(t, int64(format.NoResult), last.Ret)
			require.Equal(t, test.last, Notes(last))
			if test.last == "" {
				require.Equal(t, int64(test.status), last.Args[0])
			}
		})
	}
}

// StartError requires a descriptive error with the status of a shell if a command
// cannot be started.
func StartError(t *testing.T, run record.Recorder) {
	dir := t.TempDir()
	plain, garbage, lost := filepath.Join(dir, "plain"), filepath.Join(dir, "garbage"), filepath.Join(dir, "lost")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	require.NoError(t, os.WriteFile(garbage, []byte("neither ELF nor script"), 0o700))
	require.NoError(t, os.WriteFile(lost, []byte("#!/no/such/interpreter\n"), 0o700))
	for _, test := range []struct {
		name, command string
		status        int
		message       string
	}{
		{"no such name", "no-such-command", 127, "start no-such-command: executable file not found in $PATH"},
		{"no such path", "/no/such/command", 127, "start /no/such/command: no such file or directory"},
		{"not executable", plain, 126, "start " + plain + ": permission denied"},
		{"a directory", dir, 126, "start " + dir + ": is a directory"},
		{"no program", garbage, 126, "start " + garbage + ": exec format error"},
		{"no interpreter", lost, 127, "start " + lost + ": no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := run(t.Context(), record.Options{Command: []string{test.command}}, &Collect{})
			var e *record.StartError
			require.ErrorAs(t, err, &e)
			require.Equal(t, test.status, e.Status)
			require.EqualError(t, err, test.message)
			require.NotErrorIs(t, err, record.ErrPermission)
		})
	}
}

// Begin requires that a command which may not begin is not started, that nothing is written of it,
// and that a signal from then on is the command's.
func Begin(t *testing.T, run record.Recorder) {
	o := Shell(": >ran")
	o.Dir = t.TempDir()
	refused := errors.New("refused")
	o.Begin = func() error { return refused }
	var c Collect
	_, err := run(t.Context(), o, &c)
	require.ErrorIs(t, err, refused)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Begin = nil
	_, err = run(ctx, o, &c)
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, filepath.Join(o.Dir, "ran"))
	require.Empty(t, c.Headers)

	in, out, err := os.Pipe() // an input that stays empty
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	o = record.Options{Command: []string{"/bin/cat"}, Stdin: in, Begin: func() error { return unix.Kill(os.Getpid(), unix.SIGTERM) }}
	r, err := run(t.Context(), o, &c)
	require.NoError(t, err)
	require.Equal(t, 128+int(unix.SIGTERM), r.Status)
}

// KilledThread requires that a thread which ends with its process has an exit event.
func KilledThread(t *testing.T, run Recorded) {
	var c Collect
	run(t, Python(t, "import os, threading",
		"r, w = os.pipe()",
		"threading.Thread(target=os.read, args=(r, 1), daemon=True).start()",
		"os._exit(5)"), &c)
	exits := c.Of(format.OpExit)
	require.Len(t, exits, 1)
	require.Equal(t, "killed", Notes(exits[0]))
	require.Equal(t, int64(5), exits[0].Args[0])
}

// ThreadExecs requires that a thread that calls execve gets the id of its process.
func ThreadExecs(t *testing.T, run Recorded) {
	var c Collect
	run(t, Python(t, "import os, threading",
		"threading.Thread(target=os.execv, args=('/bin/true', ['true'])).start()",
		"threading.Event().wait()"), &c)
	e := c.One(t, format.OpExecve, "/bin/true")
	require.Equal(t, c.Events[0].TID, e.TID)
	require.NotEqual(t, "-", Note(e, "was"))
}
