package replay

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
)

// ringFuzzOps are what fuzzed requests ask for: what rings do, what is executed as a
// call, and what can't be a request.
var ringFuzzOps = []format.Op{
	format.OpPread64, format.OpPwrite64, format.OpRead, format.OpWrite, format.OpPreadv, format.OpPwritev, format.OpFsync, format.OpFdatasync,
	format.OpSyncFileRange, format.OpFadvise64, format.OpOpenm, format.OpClose, format.OpStatx, format.OpFtruncate, format.OpRename,
	format.OpRingSubmit, format.OpExitGroup, format.OpClone,
}

// ringFuzzArgs are descriptors, addresses, sizes and offsets of fuzzed events.
var ringFuzzArgs = []int64{3, 3, 3, 4, 7, -1, 0, 1, 2, 512, 4096, 5000, 1 << 20, 1 << 33, -4096, 1<<63 - 1}

// ringFuzz makes a trace of bytes: two threads of one process and one of another, with
// a ring and a context, of which the bytes say what they do. Each step takes 8 bytes.
func ringFuzz(data []byte) *replaykit.Trace {
	r := replaykit.New(2)
	r.Child(2, 1)
	rings := [...]int{r.Ring(format.ViaUring, 1), r.Ring(format.ViaAIO, 2)}
	r.Texts = append([]string{"made", "other"}, fuzzStrings...)
	r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
	r.Add(1, format.OpOpenm, 4, "other", format.RDWR|format.CREAT|format.DIRECT, 0o644)
	r.Add(1, format.OpRingOpen, 0, rings[0], 8, 0, 16, 0)
	r.Add(1, format.OpRingFiles, 0, rings[0], "3,-1,4,9")
	r.Add(1, format.OpRingBuffers, 0, rings[0], "4096+8192,-5+0,16384+4096")
	r.Wait(2, 1, 1)
	r.Add(2, format.OpRingOpen, 0, rings[1], 4, 0, 0, 0)
	arg := func(b byte) int64 { return ringFuzzArgs[int(b)%len(ringFuzzArgs)] }
	var pending [2]int
	for n := 0; len(data) >= 8 && n < 300; n++ {
		b := data[:8]
		data = data[8:]
		thread := int32(b[1]&1 + 1)
		if b[1] == 0xff {
			thread = 3
		}
		which := int(b[1] >> 1 & 1)
		ring := int32(rings[which])
		var to int32
		var rec format.Record
		switch b[0] & 3 {
		case 0, 1: // a request
			to = ring
			rec = format.Record{Op: ringFuzzOps[int(b[2])%len(ringFuzzOps)], Ret: arg(b[3])}
			rec.Args = [format.MaxArgs]int64{arg(b[4]), int64(b[5]&7) * 4096, arg(b[5] >> 4), arg(b[6]), arg(b[6] >> 4), 0}
			if b[0]&4 != 0 {
				r.How(to, format.How{Flags: int64(b[7] & 0x1f), RW: int64(b[7] >> 5), Slot: int64(b[0] >> 4), Buf: int64(b[0] >> 6)})
			}
			pending[which]++
		case 2: // a call that submits and waits
			to = thread
			rec = format.Record{Op: format.OpRingSubmit}
			submit := pending[which]
			if b[0]&4 != 0 {
				submit = int(b[2])
			}
			at := len(r.Threads[ring-1].Records)
			rec.Args = [format.MaxArgs]int64{int64(ring), int64(submit), int64(b[3] & 15), int64(max(at-int(b[4]), 0)), int64(b[5])}
			if b[0]&8 != 0 {
				rec.Args[0], rec.Args[2], rec.Args[3] = arg(b[2]), arg(b[3]), arg(b[4])
			}
			pending[which] = 0
		case 3: // another call
			to = thread
			rec = format.Record{Op: ringFuzzOps[int(b[2])%len(ringFuzzOps)], Ret: arg(b[3]), Args: [format.MaxArgs]int64{arg(b[4]), arg(b[5]), arg(b[6]), arg(b[7])}}
			if b[0]&4 != 0 {
				rec.Op = format.Op(b[2])
			}
		}
		if b[0]&0x10 != 0 && b[7] != 0 {
			other := int32(int(b[7])%len(r.Threads) + 1)
			if at := r.Len(other) - 1 - int64(b[7]>>5); at >= 0 && (other != to || other >= int32(rings[0])) {
				r.Wait(to, other, at)
			}
		}
		p := &r.Threads[to-1]
		p.Records = append(p.Records, rec)
		p.Durations = append(p.Durations, 0)
	}
	return r
}

// FuzzRings replays requests on the kernel, in memory and as no-ops. Nothing outside the
// root changes, no descriptor stays open, and it comes to an end.
func FuzzRings(f *testing.F) {
	shareClock(f)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 1+8*30)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		base := t.TempDir()
		secret := filepath.Join(base, "secret")
		require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o600))
		before := roottest.OpenFiles(t)
		o := Options{
			Root: filepath.Join(base, "root"), Backend: []Backend{Posix, Memory, Null}[data[0]%3], Timing: Timing(data[0] / 3 % 3), Order: Order(data[0] / 9 % 3),
			Memory: true, Limits: Limits{Bytes: 1 << 20},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // far beyond what any of them takes, on a busy machine too
		defer cancel()
		_, err := run(ctx, ringFuzz(data[1:]), o, byOpenat2)
		require.NoError(t, ctx.Err(), "it hangs")
		if err != nil && !errors.Is(err, ErrLimit) { // a trace need not submit all requests
			require.Regexp(t, "can't be replayed|can't be a request|creates a process that shares descriptors|wait for each other", err.Error())
		}
		require.LessOrEqual(t, roottest.OpenFiles(t), before)
		got, err := os.ReadFile(secret)
		require.NoError(t, err)
		require.Equal(t, "canary", string(got))
	})
}
