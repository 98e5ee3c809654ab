package posix

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
)

const own = 3 // PROT_READ|PROT_WRITE

// newMapper returns a worker of a process with replayed memory, in a space in the
// middle of a region, and that region.
func newMapper(t *testing.T) (*worker, region) {
	t.Helper()
	e := bare(Options{Memory: true, Limits: Limits{Memory: 8 << 20}})
	p := &process{}
	var err error
	p.memory, err = e.newMemory(1 << 20)
	require.NoError(t, err)
	whole := p.space
	_ = unix.Madvise(whole, unix.MADV_NOHUGEPAGE) // fails where there are none
	p.space = whole[1<<20:][:1<<20]
	p.arena = p.space
	t.Cleanup(func() {
		require.NoError(t, e.Free())
	})
	return &worker{Worker: &engine.Worker{}, e: e, slotState: &slotState{}, process: p, touchNanos: firstTouch}, whole
}

// do plays one memory call.
func (w *worker) do(op format.Op, ret int64, args ...int64) int64 {
	r := &format.Record{Op: op, Ret: ret}
	copy(r.Args[:], args)
	return calls[op](w, r)
}

// touchAll touches pages without a time limit.
func (w *worker) touchAll() { w.touch(w.e.Now(), math.MaxInt64) }

// has wants memory in these pages of the space and in no others: from the first
// page named to before the second, and so on.
func has(t *testing.T, w *worker, spans ...int) {
	t.Helper()
	want := make([]bool, len(w.process.space)/pageSize)
	for i := 0; i < len(spans); i += 2 {
		for k := spans[i]; k < spans[i+1]; k++ {
			want[k] = true
		}
	}
	require.Equal(t, want, resident(t, w.process.space, len(want)))
}

func TestBrk(t *testing.T) {
	w, _ := newMapper(t)
	at := int64(2 * pageSize)
	require.Equal(t, at, w.do(format.OpBrk, at, 0), "what it was before is not known")
	require.Equal(t, at+5000, w.do(format.OpBrk, at+5000, at))
	w.touchAll()
	has(t, w, 2, 4)
	require.Equal(t, at+5*pageSize, w.do(format.OpBrk, at+5*pageSize, at+5000))
	has(t, w, 2, 4)
	w.touchAll()
	has(t, w, 2, 7)
	require.Equal(t, at+pageSize, w.do(format.OpBrk, at+pageSize, at+5*pageSize))
	has(t, w, 2, 3)
	require.Equal(t, at+pageSize, w.do(format.OpBrk, at+pageSize, at+pageSize))
	require.Zero(t, w.do(format.OpBrk, 0, at+pageSize), "outside the layout")
	w.touchAll()
	has(t, w, 2, 3)
}

// Whatever a trace says, nothing happens but in the space, and the space stays
// whole.
func TestForgedMemory(t *testing.T) {
	w, whole := newMapper(t)
	for i := range whole {
		whole[i] = 0xaa
	}
	places := []int64{math.MinInt64, -1, 0, 1, pageSize - 1, pageSize, pageSize + 1, 1<<20 - pageSize, 1<<20 - 1, 1 << 20, 1<<20 + 1,
		1 << 40, format.FreshBuffer, format.FreshBuffer | pageSize, math.MaxInt64 - pageSize, math.MaxInt64}
	for _, a := range places {
		for _, size := range places {
			for _, b := range places {
				w.do(format.OpMmap, a, b, size, own, 0x22)
				w.do(format.OpMmap, a, b, size, 0, 0x22)
				w.do(format.OpMunmap, 0, a, size)
				w.do(format.OpBrk, a, b)
				w.do(format.OpMremap, a, b, size, a, 1)
				w.do(format.OpMremap, a, a, size, b, 1)
				w.do(format.OpMadvise, 0, a, size, b)
				for advice := range int64(len(adviceTable)) {
					w.do(format.OpMadvise, 0, a, size, advice)
				}
			}
		}
	}
	w.touchAll()
	require.NoError(t, w.e.Err())
	same := bytes.Repeat([]byte{0xaa}, 1<<20)
	require.Equal(t, same, []byte(whole[:1<<20]))
	require.Equal(t, same, []byte(whole[2<<20:3<<20]))
	for i := range w.process.space {
		w.process.space[i]++ // faults if it is not memory
	}
}

func TestMadvise(t *testing.T) {
	w, _ := newMapper(t)
	a := int64(2 * pageSize)
	w.do(format.OpMmap, a, 0, 6*pageSize, own, 0x22)
	w.touchAll()
	require.Zero(t, w.do(format.OpMadvise, 0, a, pageSize, format.MadvDontneed))
	w.touchAll()
	has(t, w, 3, 8)
	for _, ignored := range []int64{9 /* REMOVE */, 10 /* DONTFORK */, 14 /* HUGEPAGE */, 21 /* PAGEOUT */, 100, -1, math.MinInt64} {
		require.Zero(t, w.do(format.OpMadvise, 0, a, 6*pageSize, ignored))
	}
	has(t, w, 3, 8)
	require.Equal(t, int64(-22), w.do(format.OpMadvise, -22, a, pageSize, format.MadvDontneed))
}

func TestMmap(t *testing.T) {
	w, _ := newMapper(t)
	at := int64(4 * pageSize)
	require.Equal(t, at, w.do(format.OpMmap, at, 0, 3*pageSize, own, 0x22))
	has(t, w)
	w.touchAll()
	has(t, w, 4, 7)
	require.Equal(t, int64(3), w.e.touchedPages.Load())

	require.Zero(t, w.do(format.OpMunmap, 0, at+pageSize, pageSize))
	w.touchAll()
	has(t, w, 4, 5, 6, 7)

	require.Equal(t, at, w.do(format.OpMmap, at, at, 3*pageSize, own, 0x32), "over what was there")
	has(t, w)
	require.Equal(t, at, w.do(format.OpMmap, at, at, pageSize, own, 0x32|format.MapPopulate))
	has(t, w, 4, 5)
	w.touchAll()
	has(t, w, 4, 7)
	require.Equal(t, at, w.do(format.OpMmap, at, at, 2*pageSize, 0, 0x32), "of which nothing can be used")
	w.touchAll()
	has(t, w, 6, 7)
	require.Equal(t, int64(-12), w.do(format.OpMmap, -12, 0, pageSize, own, 0x22), "an error stays one")
	require.Equal(t, int64(3), w.maxTouched)
	require.Equal(t, int64(1), w.e.touchedPages.Load())
}

func TestMremap(t *testing.T) {
	w, _ := newMapper(t)
	a, b := int64(2*pageSize), int64(20*pageSize)
	w.do(format.OpMmap, a, 0, 2*pageSize, own, 0x22)
	w.touchAll()
	require.Equal(t, a, w.do(format.OpMremap, a, a, 2*pageSize, 4*pageSize, 1))
	has(t, w, 2, 4)
	w.touchAll()
	has(t, w, 2, 6)
	require.Equal(t, a, w.do(format.OpMremap, a, a, 4*pageSize, 3*pageSize, 1))
	has(t, w, 2, 5)
	require.Equal(t, b, w.do(format.OpMremap, b, a, 3*pageSize, 8*pageSize, 1))
	has(t, w)
	w.touchAll()
	has(t, w, 20, 28)
}

// The state that a read recorded overrides pages touched by guess.
func TestReadsAndTouches(t *testing.T) {
	w, _ := newMapper(t)
	a := int64(2 * pageSize)
	read := func(place, size int64) {
		w.readyPages(&format.Record{Op: format.OpRead, Args: [format.MaxArgs]int64{3, place, size}})
	}
	w.do(format.OpMmap, a, 0, 4*pageSize, own, 0x22)
	w.touchAll()
	read(a|format.FreshBuffer, 2*pageSize)
	has(t, w, 4, 6)
	w.touchAll()
	has(t, w, 4, 6) // the read touches them itself
	w.do(format.OpMmap, a, a, 4*pageSize, own, 0x32)
	read(a, pageSize)
	has(t, w, 2, 3)
	require.Equal(t, int64(1), w.e.touchedPages.Load())
	w.touchAll()
	has(t, w, 2, 6)
	require.Equal(t, int64(4), w.e.touchedPages.Load())
}

// The touching ends where the bound is.
func TestTouchedBounded(t *testing.T) {
	w, _ := newMapper(t)
	w.e.Limits.Memory = 2 * 5 * pageSize
	w.do(format.OpMmap, pageSize, 0, 16*pageSize, own, 0x22)
	w.touchAll()
	has(t, w, 1, 6)
	w.do(format.OpMunmap, 0, pageSize, 2*pageSize)
	w.touchAll()
	has(t, w, 3, 8)
}

// Memory is touched in the time until an event is due.
func TestTouchedWhileIdle(t *testing.T) {
	w, _ := newMapper(t)
	w.do(format.OpMmap, pageSize, 0, 16*pageSize, own, 0x22)
	for w.process.footprint.done.Load() == 0 {
		now := w.e.Now()
		require.GreaterOrEqual(t, w.Idle(now, now+int64(time.Millisecond)), now)
	}
	has(t, w, 1, 17)
}
