package record

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// byNature lists operations that two runs need not have alike: results that
// are process ids, and waits that a signal can interrupt.
var byNature = map[format.Op]bool{
	format.OpClone: true, format.OpClone3: true, format.OpFork: true, format.OpVfork: true, format.OpWait4: true,
}

// threadsOf returns what each thread did, "operation = result", threads in the
// order in which they were made.
func threadsOf(events []format.Event) [][]string {
	calls := map[int32][]string{}
	order := []int32{events[0].TID}
	for i := range events {
		e := &events[i]
		if e.Op.Info().Effect == format.EffectFork && e.Ret > 0 {
			order = append(order, int32(e.Ret))
		}
		if !byNature[e.Op] {
			calls[e.TID] = append(calls[e.TID], fmt.Sprintf("%s %s = %d", e.Op, e.Str, e.Ret))
		}
	}
	threads := make([][]string, len(order))
	for i, tid := range order {
		threads[i] = calls[tid]
	}
	return threads
}

func readScript(t *testing.T, path string) (events []format.Event) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r := script.NewReader(f, path)
	batch := make([]format.Event, 100)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			events = append(events, batch[i].Clone())
		}
		if err == io.EOF {
			return events
		}
		require.NoError(t, err)
	}
}

func TestSameAsStrace(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace")
	}
	for _, command := range []string{
		"ls / | wc -l",
		"mkdir d; echo text > d/f; mv d/f d/g; ln -s g d/h; cat d/h nosuch; rm -r d",
		"dd if=/dev/zero of=f bs=4096 count=20 conv=fsync status=none; cp f g; truncate -s 7 g; stat g",
	} {
		t.Run(command, func(t *testing.T) {
			o := shell(command)
			var err error
			o.Stdin, err = os.Open(os.DevNull)
			require.NoError(t, err)
			defer o.Stdin.Close()
			o.Stderr, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			require.NoError(t, err)
			defer o.Stderr.Close()
			o.Dir = filepath.Join(t.TempDir(), "work")
			require.NoError(t, os.Mkdir(o.Dir, 0o700))
			var c collect
			record(t, o, &c)
			require.NoError(t, os.RemoveAll(o.Dir))
			require.NoError(t, os.Mkdir(o.Dir, 0o700))

			log := filepath.Join(t.TempDir(), "strace")
			cmd := exec.Command(strace, append([]string{"-f", "-r", "-T", "-s", "4096", "-o", log}, o.Command...)...)
			cmd.Dir, cmd.Stdin = o.Dir, o.Stdin
			// The same kind of output, for programs look at what they write to.
			cmd.Stdout, err = os.Create(filepath.Join(t.TempDir(), "stdout"))
			require.NoError(t, err)
			require.NoError(t, ignoreExit(cmd.Run()))

			other := readScript(t, log)
			require.Equal(t, format.OpExecve, other[0].Op)
			require.Equal(t, threadsOf(other[1:]), threadsOf(c.events), "all but the first execve, which starts the command")
		})
	}
}

// ignoreExit drops the error of a command that ran and failed.
func ignoreExit(err error) error {
	if _, ok := err.(*exec.ExitError); ok {
		return nil
	}
	return err
}
