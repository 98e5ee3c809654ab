package ebpf

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

// atCall is a record.Sink that runs f once, when it sees a call with that string.
func atCall(name string, f func()) record.Sink {
	var once sync.Once
	return recordkit.SinkFunc(func(events []format.Event) error {
		for i := range events {
			if string(events[i].Str[0]) == name {
				once.Do(f)
			}
		}
		return nil
	})
}

func TestSignals(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	self := func(s unix.Signal) func() { return func() { _ = unix.Kill(os.Getpid(), s) } }
	// The command says with "ready" that it waits, by reading from a pipe
	// that stays empty.
	waiting := func(t *testing.T, script string) record.Options {
		o := recordkit.Shell(script)
		o.Dir = t.TempDir()
		in, out, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { in.Close(); out.Close() })
		o.Stdin = in
		return o
	}
	t.Run("terminate is passed on", func(t *testing.T) {
		r, err := Run(context.Background(), waiting(t, "trap 'exit 5' TERM; : > ready; while :; do read x; done"), atCall("ready", self(unix.SIGTERM)))
		require.NoError(t, err)
		require.Equal(t, 5, r.Status)
	})
	t.Run("an interrupt is left to the command", func(t *testing.T) {
		o := waiting(t, ": > ready; read x < gate; exit 4")
		gate := filepath.Join(o.Dir, "gate")
		require.NoError(t, mkfifo(gate))
		r, err := Run(context.Background(), o, atCall("ready", func() {
			self(unix.SIGINT)()
			// Opening waits for the reader; closing ends its read.
			if f, err := os.OpenFile(gate, os.O_WRONLY, 0); err == nil {
				f.Close()
			}
		}))
		require.NoError(t, err)
		require.Equal(t, 4, r.Status)
	})
	t.Run("what outlives the command is left alone", func(t *testing.T) {
		// Signals go on until the recording ends: one that comes before the
		// command is known to have ended is passed on to it.
		caught, done := make(chan os.Signal, 1), make(chan struct{})
		signal.Notify(caught, unix.SIGTERM) // those that come late must not end the test
		defer signal.Stop(caught)
		var sender sync.WaitGroup
		send := func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					self(unix.SIGTERM)()
				}
			}
		}
		o := waiting(t, "(read x < gate; echo $x > answer) & exit 6")
		gate, answer := filepath.Join(o.Dir, "gate"), filepath.Join(o.Dir, "answer")
		require.NoError(t, mkfifo(gate))
		require.NoError(t, mkfifo(answer))
		r, err := Run(context.Background(), o, recordkit.SinkFunc(func(events []format.Event) error {
			for i := range events {
				if e := &events[i]; e.Op == format.OpExitGroup && e.Args[0] == 6 {
					sender.Go(send)
				}
			}
			return nil
		}))
		close(done)
		sender.Wait()
		require.NoError(t, err)
		require.Equal(t, 6, r.Status)

		f, err := os.OpenFile(gate, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString("alive\n")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, "alive\n", readFile(t, answer))
	})
}
