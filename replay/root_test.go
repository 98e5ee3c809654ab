package replay

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// A single trace and several at once don't share a root, or each would remove
// what the other has left.
func TestSharedRoot(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpMkdir, 0, "d", 0o700)
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
	r := replaykit.New(1)
	for fd := 3; fd < n; fd++ {
		r.Add(1, format.OpOpen, int64(fd), "f", format.RDWR|format.CREAT, 0o600)
	}
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Descriptors: n}})
	require.NoError(t, err)
	faultless(t, r, res)
}
