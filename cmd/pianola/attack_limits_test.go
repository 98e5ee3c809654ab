package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/cmd/cli"
	"pianola/format"
)

// greed is what a trace can want too much of.
type greed struct {
	name string
	make func(h *hostile)
	says string // what it ends with; if nothing, all of its events are played

	ofKernel bool     // the kernel's, of which files in memory take none
	options  []string // of the replay
}

var greedy = []greed{
	{name: "threads", make: func(h *hostile) {
		for range 10_000 {
			h.Threads = append(h.Threads, format.Thread{Process: 1})
		}
	}, says: "10001 threads exceed the limit of 64"},
	{name: "a file of a pebibyte", make: func(h *hostile) {
		h.file(format.File{Path: "f", Type: format.TypeReg, Size: 1 << 50})
	}, says: "the fileset holds more than 16777216 bytes"},
	{name: "a sparse file of a pebibyte", make: func(h *hostile) {
		h.file(format.File{Path: "f", Type: format.TypeReg, Size: 1 << 50, Sparse: true})
	}, says: "the fileset holds more than 16777216 bytes"},
	{name: "many files that hold a pebibyte", make: func(h *hostile) {
		for i := range 290 {
			h.file(format.File{Path: fmt.Sprint(i), Type: format.TypeReg, Size: 1 << 40})
		}
	}, says: "the fileset holds more than 16777216 bytes"},
	{name: "attributes", make: func(h *hostile) {
		for i := range 290 {
			h.file(format.File{Path: fmt.Sprint(i), Type: format.TypeReg, Attrs: []format.Attr{{Name: "user.a", Size: 1 << 16}}})
		}
	}, says: "the fileset holds more than 16777216 bytes"},
	{name: "a long directory", make: func(h *hostile) {
		h.file(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755, Size: 1 << 22})
	}, says: "the fileset has more than 300 files"},
	{name: "a long path", make: func(h *hostile) {
		h.file(format.File{Path: strings.Repeat("d/", 1<<20) + "f", Type: format.TypeReg})
	}, says: "longer than 4095 bytes"},
	{name: "long strings", make: func(h *hostile) {
		h.add(1, format.OpStat, 0, strings.Repeat("x", 3<<20), 0)
	}, says: "more than half of"},
	{name: "longer strings", make: func(h *hostile) {
		for i := range 3 {
			h.add(1, format.OpStat, 0, strings.Repeat(string(rune('a'+i)), 4<<20), 0)
		}
	}, says: "needs more memory than the limit of 16777216 bytes"},
	{name: "events", make: func(h *hostile) {
		for range 750_000 {
			h.add(1, format.OpSync, 0)
		}
	}, says: "the log of 750000 events takes more than 16777216 bytes"},
	{name: "many strings", make: func(h *hostile) {
		for i := range 100_000 {
			h.add(1, format.OpStat, 0, fmt.Sprint(i), 0)
		}
	}, says: "more than half of"},
	{name: "descriptors from the start", make: func(h *hostile) {
		h.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600})
		for range 20_000 {
			h.Descriptors = append(h.Descriptors, format.Descriptor{Process: 1, FD: 5, Path: "f"})
		}
	}, says: "duplicate descriptor 5 of process 1"},
	{name: "processes with many descriptors", make: func(h *hostile) { // copies of 100 take less than the kernel may hold
		for fd := range 100 {
			h.create(1, "f", fd)
		}
		for i := range 60 {
			h.Threads = append(h.Threads, format.Thread{Process: int32(i + 2), Parent: int32(i + 1)})
			h.add(int32(i+1), format.OpClone, int64(i+2), 0)
		}
	}},
	{name: "descriptors", make: func(h *hostile) {
		for fd := range 20_000 {
			h.create(1, "f", fd)
		}
	}},
	{name: "the same descriptor", make: func(h *hostile) {
		for range 20_000 {
			h.create(1, "f", 5)
		}
	}},
	{name: "a truncate", make: func(h *hostile) {
		h.create(1, "f", 5)
		h.add(1, format.OpFtruncate, 0, 5, math.MaxInt64)
	}, says: "creates a file of 9223372036854775807 bytes"},
	{name: "a truncate by name", make: func(h *hostile) {
		h.create(1, "f", 5)
		h.add(1, format.OpTruncate, 0, "f", 1<<60)
	}, says: "creates a file of 1152921504606846976 bytes"},
	{name: "a write far away", make: func(h *hostile) {
		h.create(1, "f", 5)
		h.add(1, format.OpPwrite64, 1, 5, 0, 1, 1<<40)
	}},
	{name: "an fallocate", make: func(h *hostile) {
		h.create(1, "f", 5)
		h.add(1, format.OpFallocate, 0, 5, unix.FALLOC_FL_KEEP_SIZE, 0, 1<<40)
	}, says: "writes more than 16777216 bytes"},
	{name: "many fallocates", make: func(h *hostile) {
		h.create(1, "f", 5)
		for i := range 40 {
			h.add(1, format.OpFallocate, 0, 5, unix.FALLOC_FL_KEEP_SIZE, i<<20, 1<<20)
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "a write", make: func(h *hostile) {
		h.create(1, "f", 5)
		h.add(1, format.OpWrite, 1, 5, 0, 1<<62)
	}, says: "writes more than 16777216 bytes"},
	{name: "vectors", make: func(h *hostile) {
		h.create(1, "f", 5)
		for range 40 {
			h.add(1, format.OpPwritev2, 1, 5, 0, 1024, -1, 1<<20, 0)
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "copies of itself", make: func(h *hostile) {
		h.create(1, "f", 5)
		h.add(1, format.OpWrite, 1<<20, 5, 0, 1<<20)
		for i := range 40 {
			h.add(1, format.OpCopyFileRange, 1, 5, 0, 5, 1<<(20+i), 1<<(20+i), 0)
			h.add(1, format.OpSendfile, 1, 5, 5, 0, math.MaxInt64)
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "attributes of events", make: func(h *hostile) {
		h.create(1, "f", 5)
		for i := range 500 {
			h.add(1, format.OpFsetxattr, 0, 5, fmt.Sprint("user.", i), 0, 1<<16, 0)
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "a byte in each block", make: func(h *hostile) {
		h.create(1, "f", 5)
		for i := range 20_000 {
			h.add(1, format.OpPwrite64, 1, 5, 0, 1, i<<12)
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "a byte in each block, by other means", make: func(h *hostile) {
		h.create(1, "f", 5)
		for i := range 6_000 {
			h.add(1, format.OpLseek, 1, 5, i<<13, 0)
			h.add(1, format.OpWrite, 1, 5, 0, 1)
			h.add(1, format.OpFtruncate, 1, 5, i<<13+4097)
			h.add(1, format.OpLseek, 1, 5, 0, unix.SEEK_END)
			h.add(1, format.OpWritev, 1, 5, 0, 1, 1)
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "files", make: func(h *hostile) {
		for i := range 400 {
			h.add(1, format.OpMknod, 0, fmt.Sprint(i), unix.S_IFREG|0o644, 0)
		}
	}, says: "more than 300 files"},
	{name: "links and directories", make: func(h *hostile) {
		h.create(1, "f", 5)
		for i := range 150 {
			h.add(1, format.OpLink, 0, "f", fmt.Sprint(i))
			h.add(1, format.OpSymlink, 0, strings.Repeat("x", 4000), fmt.Sprint("s", i))
			h.add(1, format.OpMkdir, 0, fmt.Sprint("d", i), 0o755)
		}
	}, says: "more than 300 files"},
	{name: "files without a name", make: func(h *hostile) {
		for i := range 400 {
			h.add(1, format.OpOpenm, int64(i%300), ".", format.RDWR|format.TMPFILE|format.DIRECTORY, 0o644)
		}
	}},
	{name: "files that come and go", make: func(h *hostile) {
		for range 400 {
			h.create(1, "f", 5)
			h.add(1, format.OpRename, 0, "f", "g")
			h.add(1, format.OpUnlink, 0, "g")
		}
	}},
	{name: "files that are there", make: func(h *hostile) {
		for range 5000 {
			h.create(1, "f", 5)
			h.add(1, format.OpClose, 0, 5)
		}
	}},
	{name: "directories within one another", make: func(h *hostile) {
		for range 280 {
			h.add(1, format.OpMkdir, 0, "new", 0)
			h.add(1, format.OpRename, 0, "d", "new/d")
			h.add(1, format.OpRename, 0, "new", "d")
		}
	}},
	{name: "places in memory", make: func(h *hostile) {
		for _, at := range []int{0, -1, 1, 4095, 1 << 20, 1<<22 - 1, 1 << 22, 1 << 40, math.MaxInt64, math.MinInt64} {
			for _, size := range []int{0, -1, 1, 4096, 1 << 22, 1 << 40, math.MaxInt64, math.MinInt64} {
				h.add(1, format.OpMmap, int64(at), 0, size, 3, format.MapPopulate|unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
				h.add(1, format.OpBrk, int64(size), at)
				h.add(1, format.OpMremap, int64(size), at, size, at, 0, 0)
				h.add(1, format.OpMremap, int64(at), at, size, at, 0, 0)
				h.add(1, format.OpMadvise, 0, at, size, format.MadvPopulateWrite)
				h.add(1, format.OpMunmap, 0, at, size)
				h.create(1, "f", 5)
				h.add(1, format.OpWrite, 0, 5, at, 4096)
				h.add(1, format.OpRead, 0, 5, at, size)
				h.add(1, format.OpRead, 0, 5, int64(at)|format.FreshBuffer, size)
				h.add(1, format.OpPreadv, 0, 5, at, size, 0, size)
				h.add(1, format.OpGetdents64, 0, 5, at, size)
				h.add(1, format.OpFgetxattr, 0, 5, "user.a", at, size)
				h.add(1, format.OpReadlink, 0, "f", at, size)
			}
		}
	}},
	{name: "a ring of waits", make: func(h *hostile) {
		h.Threads = append(h.Threads, format.Thread{Process: 1})
		h.add(1, format.OpStat, 0, "f", 0).Edges = []format.Edge{{Thread: 2, Event: 0}}
		h.add(2, format.OpStat, 0, "f", 0).Edges = []format.Edge{{Thread: 1, Event: 0}}
	}, says: "wait for each other"},
	{name: "record locks", make: func(h *hostile) { // fewer, since the kernel takes 0.3 ms to tell of each
		const files, locks = 100, 20_000
		for i := range files {
			h.create(1, fmt.Sprint(i), 5+i)
		}
		for i := range locks {
			h.add(1, format.OpFcntl, 0, 5+i%files, format.FSetlk, 0, unix.F_WRLCK, 2*(locks-i), 1)
		}
	}, says: "makes the kernel hold more than 1048576 bytes", ofKernel: true, options: []string{"--limit", "kernel=1MiB"}},
	{name: "rings", make: func(h *hostile) {
		for range 30 {
			h.add(1, format.OpRingOpen, 0, int64(h.ring(format.ViaUring)), 1<<15, 0, 1<<16, 0)
		}
	}, says: "makes the kernel hold more than 16777216 bytes", ofKernel: true},
	{name: "mappings", make: func(h *hostile) {
		h.create(1, "f", 5)
		for i := range 400_000 {
			place := format.MappedFile | int64(i)<<13
			h.add(1, format.OpMmap, place, 0, 4096, unix.PROT_READ, unix.MAP_SHARED, 5, 0)
		}
	}, says: "mappings: limit exceeded", ofKernel: true},
	{name: "names that move", make: func(h *hostile) {
		h.create(1, "f0", 5)
		for i := range 40_000 {
			h.add(1, format.OpRename, 0, fmt.Sprint("f", i%2), fmt.Sprint("f", 1-i%2))
		}
	}, says: "writes more than 16777216 bytes"},
	{name: "a lock that never comes free", make: func(h *hostile) {
		h.Threads = append(h.Threads, format.Thread{Process: 2})
		for thread := range int32(2) {
			h.create(thread+1, "f", 5)
			if thread == 1 {
				h.last.Edges = []format.Edge{{Thread: 1, Event: 2}}
			}
			h.add(thread+1, format.OpFlock, 0, 5, unix.LOCK_EX)
			h.add(thread+1, format.OpFcntl, 0, 5, format.FSetlkw, 0, unix.F_WRLCK, 0, 0)
		}
		h.add(1, format.OpStat, 0, "f", 0).Edges = []format.Edge{{Thread: 2, Event: 2}}
	}},
	{name: "an unknown operation", make: func(h *hostile) { h.add(1, format.OpChroot, 0, ".") }, says: "operation"},
	{name: "an operation that compile resolves", make: func(h *hostile) { h.add(1, format.OpOpenByHandleAt, 3, 0, 0, 0) }, says: "operation"},
	{name: "a name with a NUL", make: func(h *hostile) { h.add(1, format.OpStat, 0, "a\x00b", 0) }, says: "holds a NUL byte"},
}

// TestAttackLimits wants too much of everything. No replay takes more than its limits,
// of disk and memory, and every replay ends without help. Each one finds the files that
// the previous one left.
func TestAttackLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("short: one thread at a time")
	}
	eachWay(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		for _, g := range greedy {
			t.Run(g.name, func(t *testing.T) {
				c.greedy(t, &g, "--root", c.root, "--keep", "--memory")
				size, files := c.used(t)
				require.Less(t, size, int64(20<<20))
				require.LessOrEqual(t, files, int64(300+2)) // the one too many, and the marker
			})
		}
		o := c.replay(t, "--root", c.root, c.trace(t, "nothing.bin", newHostile(1)))
		require.Zero(t, o.status, o.said)
		_, files := c.used(t)
		require.EqualValues(t, 1, files)
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		c := newCage(t, attacker{id: os.Geteuid()})
		for _, g := range greedy {
			if !g.ofKernel {
				t.Run(g.name, func(t *testing.T) { c.greedy(t, &g, "--backend", "memory") })
			}
		}
	})
}

// greedy replays a trace that wants too much.
func (c *cage) greedy(t *testing.T, g *greed, args ...string) {
	h := newHostile(1)
	g.make(h)
	c.trace(t, "a.bin", h)
	c.forget(t)
	o := c.replay(t, slices.Concat(args, g.options, []string{"a.bin"})...)
	if g.says == "" {
		require.Equal(t, h.events, o.executed, o.said)
	} else {
		require.Contains(t, o.said, g.says)
		require.Equal(t, cli.ExitFailure, o.status)
	}
	c.unharmed(t)
}
