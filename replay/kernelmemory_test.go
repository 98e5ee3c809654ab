package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// greedyForKernel are traces that make the kernel hold more than a mebibyte, each
// with one that makes the same calls but releases the memory.
var greedyForKernel = map[string]struct{ takes, gives func(r *replaykit.Trace) }{
	"locks": {
		func(r *replaykit.Trace) {
			for i := range 20_000 {
				r.Add(1, format.OpFcntl, 0, 3, format.FSetlk, 0, unix.F_WRLCK, 2*i, 1)
			}
		},
		func(r *replaykit.Trace) {
			for i := range 20_000 {
				r.Add(1, format.OpFcntl, 0, 3, format.FSetlk, 0, unix.F_WRLCK, 2*i, 1)
				r.Add(1, format.OpFcntl, 0, 3, format.FSetlk, 0, unix.F_UNLCK, 2*i, 1)
			}
		},
	},
	"locks of open files": {
		func(r *replaykit.Trace) {
			for i := range 20_000 {
				r.Add(1, format.OpFcntl, 0, 3, format.FOfdSetlk, 0, unix.F_WRLCK, 2*i, 1)
			}
		},
		func(r *replaykit.Trace) {
			for i := range 5000 {
				r.Add(1, format.OpOpen, 4, "f", format.RDWR)
				r.Add(1, format.OpFcntl, 0, 4, format.FOfdSetlk, 0, unix.F_WRLCK, 2*i, 1)
				r.Add(1, format.OpClose, 0, 4)
			}
		},
	},
	"open files": {
		func(r *replaykit.Trace) {
			for i := range 1000 {
				r.Add(1, format.OpOpen, int64(4+i), "f", format.RDONLY)
			}
		},
		func(r *replaykit.Trace) {
			for range 5000 {
				r.Add(1, format.OpOpen, 4, "f", format.RDONLY)
				r.Add(1, format.OpClose, 0, 4)
			}
		},
	},
	"files without a name": {
		func(r *replaykit.Trace) {
			for i := range 1000 {
				r.Add(1, format.OpOpenm, int64(4+i), "g", format.RDWR|format.CREAT, 0o600)
				r.Add(1, format.OpUnlink, 0, "g")
			}
		},
		func(r *replaykit.Trace) {
			for range 1000 {
				r.Add(1, format.OpOpenm, 4, "g", format.RDWR|format.CREAT, 0o600)
				r.Add(1, format.OpUnlink, 0, "g")
				r.Add(1, format.OpClose, 0, 4)
			}
		},
	},
	"duplicates": {
		func(r *replaykit.Trace) {
			for i := range 1000 {
				r.Add(1, format.OpDup, int64(4+i), 3)
			}
		},
		func(r *replaykit.Trace) {
			for range 5000 {
				r.Add(1, format.OpDup2, 4, 3, 4)
			}
		},
	},
	"mappings": {
		func(r *replaykit.Trace) {
			for i := range 5000 {
				r.Add(1, format.OpMmap, int64(on(1+2*i)), 0, 4096, read, shared, 3, 0)
			}
		},
		func(r *replaykit.Trace) {
			for i := range 5000 {
				r.Add(1, format.OpMmap, int64(on(1+2*i)), 0, 4096, read, shared, 3, 0)
				r.Add(1, format.OpMunmap, 0, on(1+2*i), 4096)
			}
		},
	},
	"page tables": {
		func(r *replaykit.Trace) {
			r.Add(1, format.OpFtruncate, 0, 3, 1<<30)
			r.Add(1, format.OpMmap, int64(on(512)), 0, 1<<30, read, shared, 3, 0)
			for i := range 500 {
				r.Add(1, format.OpMapRead, 4096, on(512*(1+i)), 4096, 0)
			}
		},
		func(r *replaykit.Trace) {
			r.Add(1, format.OpFtruncate, 0, 3, 1<<30)
			for i := range 500 {
				r.Add(1, format.OpMmap, int64(on(512*(1+i))), 0, 4096, read, shared, 3, 0)
				r.Add(1, format.OpMapRead, 4096, on(512*(1+i)), 4096, 0)
				r.Add(1, format.OpMunmap, 0, on(512*(1+i)), 4096)
			}
		},
	},
	"faults of one page": {nil, func(r *replaykit.Trace) {
		r.Add(1, format.OpMmap, int64(on(1)), 0, 4096, read, shared, 3, 0)
		for range 5000 {
			r.Add(1, format.OpMapRead, 4096, on(1), 4096, 0)
		}
	}},
	"forks": {
		func(r *replaykit.Trace) {
			for i := range 20 {
				r.Add(1, format.OpOpen, int64(4+i), "f", format.RDONLY)
			}
			var children []int32
			for i := range 50 {
				children = append(children, r.Child(int32(i+2), 1))
				r.Add(1, format.OpClone, int64(children[i]), 0)
			}
			last := r.Add(1, format.OpStat, 0, "f", 0)
			for _, child := range children {
				r.Wait(child, 1, last)
				r.Add(child, format.OpStat, 0, "f", 0)
			}
		},
		func(r *replaykit.Trace) {
			for i := range 20 {
				r.Add(1, format.OpOpen, int64(4+i), "f", format.RDONLY)
			}
			for i := range 100 {
				child := r.Child(int32(i+2), int32(i+1))
				r.Add(int32(i+1), format.OpClone, int64(child), 0)
			}
		},
	},
	"rings": {
		func(r *replaykit.Trace) {
			for range 4 {
				r.Add(1, format.OpRingOpen, 0, r.Ring(format.ViaUring, 1), 4096, 0, 8192, 0)
			}
		},
		func(r *replaykit.Trace) {
			r.Add(1, format.OpRingOpen, 0, r.Ring(format.ViaUring, 1), 8, 0, 16, 0)
		},
	},
	"registered files": {func(r *replaykit.Trace) {
		q := r.Ring(format.ViaUring, 1)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.Add(1, format.OpRingFiles, 0, q, strings.Repeat("3,", 1000)+"3")
	}, nil},
}

// The kernel memory of a trace is bounded. Released memory does not count.
func TestKernelMemory(t *testing.T) {
	for name, test := range greedyForKernel {
		play := func(events func(r *replaykit.Trace)) error {
			r := replaykit.New(1)
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 4096, Cached: -1})
			r.Add(1, format.OpOpen, 3, "f", format.RDWR)
			events(r)
			_, err := Run(t.Context(), r, Options{Root: diskDir(t), Timing: AFAP, Limits: Limits{Kernel: 1 << 20}})
			return err
		}
		t.Run(name, func(t *testing.T) {
			if test.takes != nil {
				err := play(test.takes)
				require.ErrorContains(t, err, "makes the kernel hold more than 1048576 bytes: limit exceeded")
				limit, _ := errors.AsType[*LimitError](err)
				require.Equal(t, "kernel", limit.Name)
			}
			if test.gives != nil {
				require.NoError(t, play(test.gives))
			}
		})
	}
}

// diskDir returns a directory whose names don't count as held by the kernel.
func diskDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var s unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &s))
	if s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC {
		t.Skip("temporary files are in memory")
	}
	return dir
}

// Names in a file system in memory are held by the kernel until they are removed.
func TestNamesInMemory(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "pianola-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	play := func(remove bool) error {
		r := replaykit.New(1)
		for i := range 2000 {
			r.Add(1, format.OpMknod, 0, fmt.Sprint(i), unix.S_IFREG|0o600, 0)
			if remove {
				r.Add(1, format.OpUnlink, 0, fmt.Sprint(i))
			}
		}
		_, err := Run(t.Context(), r, Options{Root: filepath.Join(dir, "root"), Timing: AFAP, Limits: Limits{Kernel: 1 << 20}})
		return err
	}
	require.ErrorContains(t, play(false), "makes the kernel hold more than")
	require.NoError(t, play(true))
}

// Names take space of their directory, which ext4 keeps when they are removed.
func TestNamesTakeSpace(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, events := range map[string]func(r *replaykit.Trace, i int){
		"made": func(r *replaykit.Trace, i int) {
			r.Add(1, format.OpMknod, 0, fmt.Sprint(i, long), unix.S_IFREG|0o600, 0)
			r.Add(1, format.OpUnlink, 0, fmt.Sprint(i, long))
		},
		"moved": func(r *replaykit.Trace, i int) {
			r.Add(1, format.OpRename, 0, "f", fmt.Sprint("d/", i, long))
			r.Add(1, format.OpRename, 0, fmt.Sprint("d/", i, long), "f")
		},
		"directories":    func(r *replaykit.Trace, i int) { r.Add(1, format.OpMkdir, 0, fmt.Sprint(i), 0o700) },
		"symbolic links": func(r *replaykit.Trace, i int) { r.Add(1, format.OpSymlink, 0, long, fmt.Sprint(i)) },
		"attributes without a value": func(r *replaykit.Trace, i int) {
			r.Add(1, format.OpSetxattr, 0, "f", fmt.Sprint("user.", i), 0, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := replaykit.New(1)
			r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
			for i := range 3000 {
				events(r, i)
			}
			_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Bytes: 1 << 20}})
			require.ErrorContains(t, err, "writes more than 1048576 bytes")
		})
	}
}

// Without a limit of bytes, events may take a share of the free space. Overwriting
// takes none.
func TestShareOfFreeSpace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	dir := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"))
	// A thread that had its root there can take a moment to end.
	defer func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	play := func(step int) error {
		r := replaykit.New(1)
		r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
		for i := range 1000 {
			r.Add(1, format.OpPwrite64, 1<<16, 3, 0, 1<<16, i*step)
		}
		_, err := Run(t.Context(), r, Options{Root: filepath.Join(dir, "root"), Timing: AFAP})
		return err
	}
	require.NoError(t, play(0))
	err := play(1 << 16)
	require.ErrorIs(t, err, ErrLimit)
	require.ErrorContains(t, err, "the limit for the free space")
}
