package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// A single trace and several at once don't share a root, or each would remove
// what the other has left.
func TestSharedRoot(t *testing.T) {
	r := newRoll(1)
	r.add(1, format.OpMkdir, 0, "d", 0o700)
	several := []Part{{"a", r}, {"b", r}}
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Keep: true}
	_, err := RunAll(t.Context(), several, o)
	require.NoError(t, err)
	_, err = Run(t.Context(), r, o)
	require.ErrorIs(t, err, sandbox.ErrShared)
	require.DirExists(t, filepath.Join(o.Root, "a/d"))
	require.DirExists(t, filepath.Join(o.Root, "b/d"))
	_, err = Run(t.Context(), r, Options{Root: filepath.Join(o.Root, "a")})
	require.ErrorIs(t, err, sandbox.ErrShared)
	_, err = RunAll(t.Context(), several, o)
	require.NoError(t, err)
	require.NoError(t, sandbox.Clear(o.Root))

	_, err = Run(t.Context(), r, o)
	require.NoError(t, err)
	_, err = RunAll(t.Context(), several, o)
	require.ErrorIs(t, err, sandbox.ErrShared)
	require.DirExists(t, filepath.Join(o.Root, "d"))
}

// A directory that another process moves out of the root leads nowhere from
// there, though a replay's paths start in it.
func TestMovedOut(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base, secret := roottest.Outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		path := filepath.Join(base, "outer/root")
		require.NoError(t, os.MkdirAll(filepath.Join(path, "d/below"), 0o755))
		dir, err := os.Open(path)
		require.NoError(t, err)
		defer dir.Close()
		e := bare(Options{Backend: Posix})
		e.guard.Root = dir.Fd()
		defer e.guard.Close()
		for _, text := range []string{"d//../../secret", "d//../secret", "d//../../new", "d/below//../../../secret", "d//below"} {
			e.texts = append(e.texts, text)
			e.names = append(e.names, sandbox.NewName(text))
		}
		var got []int64
		require.NoError(t, sandbox.OnThread(func() error {
			if err := bind(&e.guard); err != nil {
				return err
			}
			e.openStartDirs()
			if err := moved(filepath.Join(path, "d"), filepath.Join(base, "outer/d2")); err != nil {
				return err
			}
			for i := range e.names {
				fd := e.guard.Open(&e.names[i], unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, 0o600)
				if got = append(got, fd); fd >= 0 {
					e.guard.Shut(fd)
				}
			}
			e.closeStartDirs()
			return nil
		}))
		for i, fd := range got[:4] {
			require.Equal(t, -int64(unix.ENOENT), fd, e.texts[i])
		}
		roottest.Unharmed(t, base, info)
		require.NoFileExists(t, filepath.Join(base, "new"))
	})
}

// moved renames as another thread does, which sees all directories.
func moved(from, to string) error {
	done := make(chan error)
	go func() { done <- os.Rename(from, to) }()
	return <-done
}

// A process of the trace can have as many descriptors as the limit says, whatever the
// replay needs for itself.
func TestAllDescriptors(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	const n = 300
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: before.Cur, Max: before.Max + 1}) != nil {
		t.Skip("the hard limit can't be raised")
	}
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}))
	r := newRoll(1)
	for fd := 3; fd < n; fd++ {
		r.add(1, format.OpOpen, int64(fd), "f", format.RDWR|format.CREAT, 0o600)
	}
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Descriptors: n}})
	require.NoError(t, err)
	faultless(t, r, res)
}
