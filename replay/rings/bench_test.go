package rings

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	benchDepth = 32
	benchBlock = 4096
	benchSize  = 64 << 20
)

// benchFile opens a file of benchSize bytes in $PIANOLA_BENCH_DIR, which is made
// if it is missing and else used as it is, or in a temporary directory.
func benchFile(b *testing.B, flags int) int32 {
	path := filepath.Join(b.TempDir(), "file")
	if dir := os.Getenv("PIANOLA_BENCH_DIR"); dir != "" {
		path = filepath.Join(dir, "file")
	}
	if st, err := os.Stat(path); err != nil || st.Size() != benchSize {
		require.NoError(b, os.WriteFile(path, make([]byte, benchSize), 0o600))
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = unix.Close(fd) })
	return int32(fd)
}

// random is a cheap sequence of places in the file.
type random uint32

func (r *random) offset() int64 {
	x := *r
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	*r = x
	return int64(x) % (benchSize / benchBlock) * benchBlock
}

// benchLoop keeps 32 requests in flight, as fio does: it submits batches of so
// many, and when the queue is full it waits for as many completions.
func benchLoop(b *testing.B, q Queue, batch int, request func(r *Request)) {
	var done [benchDepth]Completion
	var r Request
	next := random(2463534242)
	buffers, err := mapAnonymous(benchDepth * benchBlock)
	require.NoError(b, err)
	defer unmap(buffers)
	require.NoError(b, q.RegisterBuffers([]unix.Iovec{iov(buffers)}))
	free := make([]uint64, 0, benchDepth)
	for i := range uint64(benchDepth) {
		free = append(free, i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0 || q.InFlight() > 0; {
		for left > 0 && len(free) > 0 {
			n := min(batch, len(free), left)
			for range n {
				i := free[len(free)-1]
				free = free[:len(free)-1]
				r = Request{Addr: addr(buffers) + uintptr(i)*benchBlock, Length: benchBlock, Offset: next.offset(), User: i}
				request(&r)
				if err := q.Prepare(&r); err != nil {
					b.Fatal(err)
				}
			}
			if got, err := q.Submit(0); got != n || err != nil {
				b.Fatal(got, err)
			}
			left -= n
		}
		if err := q.Wait(min(batch, q.InFlight())); err != nil {
			b.Fatal(err)
		}
		for _, c := range done[:q.Reap(done[:])] {
			if c.Result != 0 && c.Result != benchBlock {
				b.Fatal(c)
			}
			free = append(free, c.User)
		}
	}
}

// BenchmarkRequests measures requests on the kernel as a replay calls it. NOPs
// show what a queue itself costs; make measure ONLY=rings has reads beside fio's.
func BenchmarkRequests(b *testing.B) {
	type variant struct {
		kind    kind
		what    string
		request func(fd int32, r *Request)
		open    int // flags of the file; -1 for none
	}
	fixed := func(_ int32, r *Request) { r.Op, r.Flags, r.FD = OpReadFixed, FixedFile, 0 }
	read := func(fd int32, r *Request) { r.Op, r.FD = OpRead, fd }
	nop := func(_ int32, r *Request) { r.Op = OpNop }
	ring, context, threads := kinds[0], kinds[4], kinds[5]
	ring.flags = CQSize | CoopTaskrun | SingleIssuer | DeferTaskrun // as fio 3.33 has them
	for _, v := range []variant{
		{ring, "nop", nop, -1},
		{ring, "cached", read, 0},
		{ring, "cached-fixed", fixed, 0},
		{ring, "direct", read, unix.O_DIRECT},
		{ring, "direct-fixed", fixed, unix.O_DIRECT},
		{context, "cached", read, 0},
		{context, "direct", read, unix.O_DIRECT},
		{threads, "nop", nop, -1},
		{threads, "cached", read, 0},
		{threads, "direct", read, unix.O_DIRECT},
	} {
		for _, batch := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%s/batch=%d", v.kind.name, v.what, batch), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				var fd int32
				if v.open >= 0 {
					fd = benchFile(b, v.open)
				}
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(benchDepth + 4))
				q, err := v.kind.open(Config{Entries: benchDepth, Flags: v.kind.flags})
				require.NoError(b, err)
				require.Empty(b, q.Notes())
				require.NoError(b, q.RegisterFiles([]int32{fd}))
				benchLoop(b, q, batch, func(r *Request) { v.request(fd, r) })
				b.StopTimer()
				require.NoError(b, q.Close())
			})
		}
	}
}
