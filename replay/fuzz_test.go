package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
)

// fuzzStrings are the strings of fuzzed records. The last one is also a link's target.
var fuzzStrings = []string{"a", "d/b", "d", "..", "../secret", "d/../../secret", "l", "l/secret", "/", "", "/proc/self/fd/0", "../../../../../.."}

// onMapped turns the arguments of a call on memory into pages of mapped files.
func onMapped(r *format.Record) {
	if !r.Op.Valid() {
		return
	}
	page := func(n *int64) { *n = *n*pageSize | format.MappedFile }
	switch r.Op.Info().Effect {
	case format.EffectMap:
		page(&r.Ret)
	case format.EffectRemap:
		page(&r.Ret)
		page(&r.Args[0])
		r.Args[2] *= pageSize
	case format.EffectUnmap, format.EffectProtect, format.EffectSyncMapped, format.EffectFault:
		page(&r.Args[0])
	default:
		return
	}
	r.Args[1] *= pageSize
}

// FuzzRun replays any records of three threads. Nothing outside the root
// changes, no descriptor stays open, and it comes to an end.
//
// A record is its operation, its result, and a byte for each argument.
func FuzzRun(f *testing.F) {
	shareClock(f)
	f.Add([]byte{byte(format.OpOpenm), 3, 0, 36, 255, 0, 0, 0, byte(format.OpWrite), 1, 3, 0, 1, 0, 0, 0})
	f.Add([]byte{byte(format.OpClone), 2, 0, 0, 0, 0, 0, 0, byte(format.OpSymlink), 0, 11, 1, 0, 0, 0, 0, byte(format.OpRename), 0, 4, 0, 0, 0, 0, 0})
	f.Add([]byte{byte(format.OpFcntl), 0, 3, 7, 0, 1, 0, 0, byte(format.OpUnlink), 0, 5, 0, 0, 0, 0, 0, byte(format.OpExecve), 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{byte(format.OpSync), 0, 0, 0, 0, 0, 0, 0, byte(format.OpSync), 0, 0, 0, 0, 0, 0, 1, byte(format.OpSync), 0, 0, 0, 0, 0, 0, 0x13, byte(format.OpSync), 0, 0, 0, 0, 0, 0, 0x26,
		byte(format.OpSync), 0, 0, 0, 0, 0, 0, 0x3b, byte(format.OpSync), 0, 0, 0, 0, 0, 0, 0xff})
	f.Add(bytes.Join([][]byte{ // each of the three threads makes every third call
		{byte(format.OpOpenm), 3, 0, 36, 127, 0, 0, 0}, {byte(format.OpOpenm), 4, 1, 36, 127, 0, 0, 0}, {byte(format.OpOpenm), 5, 0, 36, 127, 0, 0, 0},
		{byte(format.OpMmap), 1, 0, 8, 3, 1, 3, 0}, {byte(format.OpMmap), 1, 0, 8, 3, 2, 4, 0}, {byte(format.OpMmap), 2, 0, 8, 1, 1, 5, 0},
		{byte(format.OpFtruncate), 0, 3, 127, 0, 0, 0, 0}, {byte(format.OpMapWrite), 1, 1, 1, 0, 0, 0, 0}, {byte(format.OpMapRead), 1, 2, 8, 0, 0, 0, 0},
		{byte(format.OpMapWrite), 1, 1, 1, 0, 0, 0, 0}, {byte(format.OpMremap), 1, 4, 8, 16, 1, 0, 0}, {byte(format.OpMsync), 0, 2, 8, 4, 0, 0, 0},
		{byte(format.OpFtruncate), 0, 3, 0, 0, 0, 0, 0}, {byte(format.OpMprotect), 0, 2, 8, 7, 0, 0, 0}, {byte(format.OpMunmap), 0, 2, 127, 0, 0, 0, 0},
		{byte(format.OpMapWrite), 1, 1, 1, 0, 0, 0, 0}, {byte(format.OpMadvise), 0, 1, 8, 23, 0, 0, 0}, {byte(format.OpMapRead), 1, 127, 255, 0, 0, 0, 0},
	}, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		base := t.TempDir()
		secret := filepath.Join(base, "secret")
		require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o600))
		r := replaykit.New(1)
		r.Child(2, 1)
		r.Child(1, 2)
		r.Texts = fuzzStrings
		r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
		r.File(format.File{Path: "l", Type: format.TypeLnk, Target: base})
		n := 0
		for ; len(data) >= 8 && n < 1000; n++ {
			word := binary.LittleEndian.Uint64(data)
			rec := format.Record{Op: format.Op(word & 0xff), Ret: int64(int8(word >> 8))}
			for i := range rec.Args {
				rec.Args[i] = int64(int8(word >> (16 + 8*i)))
			}
			onMapped(&rec)
			p := &r.Threads[n%3]
			at := int64(len(p.Records))
			wait := format.Wait{Event: at, Held: int64(word >> 58 & 1), Expired: int64(word >> 59 & 1)}
			switch of := word >> 56 & 3; {
			case of == 3 && at > 0 && n%3 > 0:
				wait.For = format.Edge{Thread: 1, Event: at - 1, Delay: int64(word >> 60)}
			case of == 2 && at > 0:
				wait.For = format.Edge{Thread: int32(n%3 + 1), Event: at - 1, Kind: format.EdgeReply, Delay: int64(word >> 60)}
			case of == 1:
				wait.For = format.Edge{Kind: format.EdgeArrival + format.EdgeKind(word>>58&1), Delay: math.MaxInt64 >> (word >> 60)}
			}
			if word>>56&3 != 0 {
				p.Waits = append(p.Waits, wait)
				rec.Compute = wait.Held + wait.Expired
			}
			p.Records = append(p.Records, rec)
			p.Durations = append(p.Durations, 0)
			data = data[8:]
		}
		before := roottest.OpenFiles(t)
		root := filepath.Join(base, "root")
		o := Options{Root: root, Timing: Timing(n % 3), Order: Order(n / 3 % 3), Memory: true, Limits: Limits{Bytes: 1 << 20}}
		res, err := run(t.Context(), r, o, byOpenat2)
		if err == nil {
			require.False(t, res.Interrupted)
		} else if !errors.Is(err, ErrLimit) {
			require.Regexp(t, "can't be replayed|creates a process that shares descriptors|wait for each other", err.Error())
		}
		_, err = Run(t.Context(), r, Options{Backend: Simulated, Timing: o.Timing, Order: o.Order})
		if err != nil && !errors.Is(err, ErrLimit) {
			require.Regexp(t, "can't be replayed|creates a process that shares descriptors|wait for each other", err.Error())
		}
		require.LessOrEqual(t, roottest.OpenFiles(t), before)
		got, err := os.ReadFile(secret)
		require.NoError(t, err)
		require.Equal(t, "canary", string(got))
		left, err := os.ReadDir(base)
		require.NoError(t, err)
		require.Len(t, left, 1)
	})
}
