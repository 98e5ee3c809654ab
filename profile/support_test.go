package profile

import (
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

var update = flag.Bool("update", false, "write the golden files")

// reader gives events in batches of at most step, and then err.
type reader struct {
	events []format.Event
	step   int
	err    error
}

func (r *reader) Read(events []format.Event) (int, error) {
	if len(r.events) == 0 {
		return 0, r.err
	}
	n := copy(events[:min(r.step, len(events))], r.events)
	r.events = r.events[n:]
	return n, nil
}

func (r *reader) Header() *format.Header { return &format.Header{} }

func read(t testing.TB, events ...format.Event) *Profile {
	t.Helper()
	p, err := Read(&reader{events, 3, io.EOF})
	require.NoError(t, err)
	return p
}

// ev is an event of microseconds.
func ev(op format.Op, start, dur, ret int64) format.Event {
	return format.Event{Op: op, TID: 1, Start: start * 1000, Dur: dur * 1000, Ret: ret}
}

// application returns the events of a made-up program that reads its input,
// computes, and writes and syncs a checkpoint every fifth second. slow scales
// the times of calls, and with them the run.
func application(seed uint64, slow float64) (events []format.Event) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var now int64
	call := func(op format.Op, nanos float64, ret, compute int64) {
		dur := int64(nanos * slow * (0.5 + rnd.Float64()))
		events = append(events, format.Event{Op: op, TID: 1, Start: now, Dur: dur, Ret: ret})
		now += dur + compute
	}
	call(format.OpOpenat, 40e3, 3, 1e6)
	for range 3000 {
		call(format.OpRead, 900e3, 1<<20, 200e3)
	}
	for range 6 {
		for range 1500 {
			call(format.OpNewfstatat, 90e3, 0, 2e6)
			call(format.OpPread64, 60e3, 4096, 1e6)
		}
		for range 400 {
			call(format.OpWrite, 600e3, 1<<20, 10e3)
		}
		call(format.OpFsync, 180e6, 0, 0)
		call(format.OpClose, 9e3, 0, 0)
	}
	return events
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
