package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
)

// eachVia runs a test for rings of io_uring and contexts of libaio, with each backend.
func eachVia(t *testing.T, test func(t *testing.T, p player, via format.Via)) {
	for _, via := range []format.Via{format.ViaUring, format.ViaAIO} {
		t.Run(via.String(), func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) { test(t, p, via) })
		})
	}
}

// Requests have the recorded results, and what follows them by edges finds what they
// did.
func TestRingReplay(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := replaykit.New(1)
		q := r.Ring(via, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		const n = 20
		for i := range n {
			r.Add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, i*4096)
			r.Add(1, format.OpRingSubmit, 0, q, 1, 0, max(i-7, 0), 0)
		}
		r.Add(1, format.OpRingSubmit, 0, q, 0, 8, n-8, 0)
		r.Wait(ring, ring, n-1)
		for i := range n { // more than the ring has room for
			r.Add(ring, format.OpPread64, 4096, 3, 4096, 4096, i*4096)
		}
		r.Add(ring, format.OpFsync, 0, 3)
		r.Add(ring, format.OpPread64, -9, 7, 4096, 4096, 0)
		r.Add(1, format.OpRingSubmit, 0, q, n+2, 0, n, 0)
		r.Wait(1, ring, 2*n+1)
		r.Add(1, format.OpClose, 0, 3)
		dir, res := p.play(t, r)
		faultless(t, r, res)
		require.EqualValues(t, n, res.ByOp[format.OpPwrite64].Executed)
		require.EqualValues(t, n+1, res.ByOp[format.OpPread64].Executed)
		stat, err := os.Stat(filepath.Join(dir, "made"))
		require.NoError(t, err)
		require.EqualValues(t, n*4096, stat.Size())
		require.Empty(t, res.Notes)

		var flights int
		events := res.Events()
		for batch := make([]format.Event, 7); ; {
			k, err := events.Read(batch)
			for _, e := range batch[:k] {
				if e.Via != format.ViaCall {
					require.Equal(t, via, e.Via)
					require.EqualValues(t, 1, e.TID)
					flights++
				}
			}
			if err != nil {
				break
			}
		}
		require.Equal(t, 2*n+2, flights)
	})
}

// Links, registered files and registered buffers are played as they are.
func TestRingWays(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		q := r.Ring(format.ViaUring, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.Add(1, format.OpRingFiles, 0, q, "-1,3")
		r.Add(1, format.OpRingBuffers, 0, q, "4096+8192")
		link := format.How{Flags: 4 | format.ReqFixed, Slot: 1, Buf: 1}
		r.How(ring, link)
		r.Add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 0)
		r.How(ring, link)
		r.Add(ring, format.OpFdatasync, 0, 3)
		r.How(ring, format.How{Flags: format.ReqFixed, Slot: 1, Buf: 1})
		r.Add(ring, format.OpPread64, 4096, 3, 8192, 4096, 0)
		r.How(ring, format.How{Flags: format.ReqFixed, Slot: 1, Buf: 9}) // which is not registered
		r.Add(ring, format.OpPwritev, 200, 3, 4096, 2, 0, 200)
		r.Add(1, format.OpRingSubmit, 0, q, 4, 4, 0, 0)
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A thread can wait for what another one submits, and take the completions.
func TestRingOfTwoThreads(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := replaykit.New(2)
		q := r.Ring(via, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		const n = 200
		for i := range n {
			r.Add(ring, format.OpPwrite64, 512, 3, 4096, 512, i*512)
			submits := r.Add(1, format.OpRingSubmit, 0, q, 1, 0, max(i-3, 0), 0)
			r.Wait(2, 1, submits)
			r.Add(2, format.OpRingSubmit, 0, q, 0, 1, i, 0)
		}
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A process with a descriptor table of its own uses the ring of another: not in the
// kernel, because neither the ring nor the files of its requests are in that table.
func TestRingOfAnotherTable(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := replaykit.New(2)
		child := r.Child(2, 1)
		q := r.Ring(via, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.Add(1, format.OpClone, int64(child), 0)
		r.Add(ring, format.OpPwrite64, 512, 3, 4096, 512, 0)
		r.Add(child, format.OpOpenm, 4, "other", format.RDWR|format.CREAT, 0o644)
		r.Add(ring, format.OpPwrite64, 512, 4, 4096, 512, 0)
		submits := r.Add(child, format.OpRingSubmit, 0, q, 2, 2, 0, 0)
		r.Wait(2, child, submits)
		r.Add(2, format.OpRingSubmit, 0, q, 1, 1, 2, 0)
		r.Add(ring, format.OpPread64, 512, 3, 4096, 512, 0)
		dir, res := p.play(t, r)
		faultless(t, r, res)
		for _, name := range []string{"made", "other"} {
			stat, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.EqualValues(t, 512, stat.Size())
		}
	})
}

// A trace that makes no sense ends: it waits for what was never submitted, submits
// what it does not have, or uses a ring that is none.
func TestRingNonsense(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		q := r.Ring(format.ViaUring, 1)
		r.Wait(1, int32(q), 0)
		r.Add(1, format.OpRingSubmit, 0, q, 0, 5, 7, 0)
		r.Add(1, format.OpRingSubmit, 0, q, 9, 5, 7, 0)
		r.Add(1, format.OpRingSubmit, -22, 1, 1, 1, 1, 0)
		r.Add(1, format.OpRingFiles, -22, 99, "-7,1099511627776,x")
		r.Add(1, format.OpRingOpen, -22, q, 1<<40, -1, -1, -1) // it was used before
		r.Add(1, format.OpRingBuffers, 0, q, "9,x+1")
		r.Add(int32(q), format.OpPread64, -9, 3, 0, 10, 0)
		_, res := p.play(t, r)
		require.Zero(t, res.Failed)
		require.False(t, res.Interrupted)
	})
}

// A request can't be one that makes requests, or a thread.
func TestRingOfRings(t *testing.T) {
	for _, op := range []format.Op{format.OpRingSubmit, format.OpClone, format.OpExit} {
		r := replaykit.New(1)
		q := r.Ring(format.ViaUring, 1)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.Add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
		r.Add(int32(q), op, 0, q, 1, 1, 0, 0)
		_, err := run(t.Context(), r, Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}, byOpenat2)
		require.ErrorContains(t, err, "can't be a request")
	}
}

// All orders and timings play requests, and a run that is repeated or stopped ends.
func TestRingOrders(t *testing.T) {
	for _, o := range []Options{{Order: Thread}, {Order: Total}, {Timing: Schedule}, {Timing: AFAP}, {Speed: 2}} {
		r := replaykit.New(1)
		q := r.Ring(format.ViaUring, 1)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		for i := range 50 {
			r.Add(int32(q), format.OpPwrite64, 512, 3, 4096, 512, i*512)
			r.Add(1, format.OpRingSubmit, 0, q, 1, 1, i, 100)
			r.Last(1).Compute = 1000
		}
		r.Wait(1, int32(q), 49)
		r.Add(1, format.OpClose, 0, 3)
		o.Root = filepath.Join(t.TempDir(), "root")
		res, err := run(t.Context(), r, o, byOpenat2)
		require.NoError(t, err)
		faultless(t, r, res)
	}
}

// Registered buffers take no more than the memory limit. Requests of the others are
// played without.
func TestRingBuffersLimit(t *testing.T) {
	r := replaykit.New(1)
	q := r.Ring(format.ViaUring, 1)
	r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
	r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
	const limit = 1 << 20 // an arena of a half or less
	r.Add(1, format.OpRingBuffers, 0, q, "0+9999999,0+9999999,0+9999999,0+9999999,0+9999999,0+9999999")
	r.How(int32(q), format.How{Buf: 6})
	r.Add(int32(q), format.OpPwrite64, 512, 3, 4096, 512, 0)
	r.How(int32(q), format.How{Buf: 6})
	r.Add(int32(q), format.OpPread64, 512, 3, 4096, 512, 0)
	r.Add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
	r.Add(1, format.OpRingSubmit, 0, q, 1, 1, 1, 0)
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}
	o.Limits.Memory = limit
	res, err := run(t.Context(), r, o, byOpenat2)
	require.NoError(t, err)
	faultless(t, r, res)
	require.Equal(t, []string{"registered buffers beyond 1048576 bytes are replayed as normal buffers"}, res.Notes)
}

// A request with flags that is executed as a call waits for those before it, not for
// itself.
func TestRingCallInChain(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := replaykit.New(1)
		q := r.Ring(via, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.How(ring, format.How{Flags: format.ReqLink})
		r.Add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 0)
		r.How(ring, format.How{Flags: format.ReqLink})
		r.Add(ring, format.OpOpenm, 4, "other", format.RDWR|format.CREAT, 0o644)
		r.Add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 4096)
		r.Add(1, format.OpRingSubmit, 0, q, 3, 3, 0, 0)
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A thread whose creator is a ring would wait for it without an end.
func TestRingsCreateNoThreads(t *testing.T) {
	for _, by := range []Backend{Posix, Memory, Null} {
		r := replaykit.New(1)
		ring := r.Ring(format.ViaUring, 1)
		r.Add(1, format.OpMkdir, 0, "a", 0o700)
		r.Add(r.Child(1, int32(ring)), format.OpRmdir, 0, "a")
		_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Backend: by})
		require.EqualError(t, err, "thread 3: its parent, thread 2, is a ring, and rings create no threads")
	}
}

// A forked process uses the ring of its parent after the parent's exit.
func TestRingOutlivesItsOpener(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := replaykit.New(1)
		r.Head.Set(format.MetaSharing, "1") // so that all use one table in the kernel
		child := r.Child(2, 1)
		q := r.Ring(via, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.Add(1, format.OpClone, int64(child), format.CloneVM)
		r.Add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 0)
		r.Add(1, format.OpRingSubmit, 0, q, 1, 0, 0, 0)
		exit := r.Add(1, format.OpExit, format.NoResult, 0)
		r.Wait(ring, ring, 0)
		r.Wait(child, 1, exit)
		for i := range 20 {
			r.Add(ring, format.OpPread64, 4096, 3, 4096, 4096, 0)
			r.Add(child, format.OpRingSubmit, 0, q, 1, 1, i+1, 0)
		}
		_, res := p.play(t, r)
		faultless(t, r, res)
		require.Empty(t, res.Notes)
	})
}
