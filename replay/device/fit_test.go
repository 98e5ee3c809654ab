package device

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// jobsOn returns the jobs that fio would measure on a device with the model.
func jobsOn(f *Fitted) (list []Sample) {
	add := func(j Job) {
		j.seconds = 5
		j.read.calls, j.write.calls, j.sync.calls = 0, 0, 0
		read, write, sync := j.play(f)
		const n = 1000
		if read > 0 {
			j.read = measured{calls: n, mean: read}
		}
		if write > 0 {
			j.write = measured{calls: n, mean: write}
		}
		if sync > 0 {
			j.sync = measured{calls: n, mean: sync}
		}
		list = append(list, &j)
	}
	for _, share := range []float64{0, 1} {
		for _, depth := range []int{1, 32} {
			for _, sequential := range []bool{false, true} {
				add(Job{name: "small", depth: depth, size: 4096, readShare: share, sequential: sequential, direct: true})
				add(Job{name: "large", depth: depth, size: 1 << 20, readShare: share, sequential: sequential, direct: true})
			}
		}
	}
	add(Job{name: "mixed", depth: 16, size: 4096, readShare: 0.5, direct: true})
	add(Job{name: "bursts", depth: 1, size: 4096, direct: true, think: 300 * ms, thinkEvery: 64})
	add(Job{name: "in place", depth: 1, size: 4096, syncEvery: 1})
	add(Job{name: "many in place", depth: 1, size: 4096, syncEvery: 16})
	add(Job{name: "grows", depth: 1, size: 4096, sequential: true, syncEvery: 1, commits: 3})
	add(Job{name: "set aside", depth: 1, size: 4096, sequential: true, syncEvery: 1, commits: 1})
	add(Job{name: "four grow", depth: 4, size: 4096, sequential: true, syncEvery: 1, commits: 3})
	return list
}

// A fit to a device with a known model finds it: the predictions for other loads are
// near the truth.
func TestFitJobs(t *testing.T) {
	slow := disk()
	slow.Read, slow.Write = Direction{Access{0, 1500}, Access{0, 1500}, 20e6}, Direction{Access{0, 400}, Access{0, 400}, 10e6}
	slow.Burst, slow.Sync = 50e-3, Sync{0, 1, 0, 2, 1}
	flash := disk()
	flash.Read, flash.Write = Direction{Access{80e-6, 400e3}, Access{20e-6, 500e3}, 3e9}, Direction{Access{15e-6, 200e3}, Access{15e-6, 200e3}, 1e9}
	flash.Sync, flash.Shared = Sync{Flush: 600e-6, Commit: 1500e-6, CommitFixed: 2, CommitBlock: 1}, true
	for name, truth := range map[string]*Fitted{"slow": slow, "flash": flash} {
		t.Run(name, func(t *testing.T) {
			f, err := Fit(t.Context(), jobsOn(truth), Cache{})
			require.NoError(t, err)
			for _, j := range []Job{
				{name: "read", depth: 8, size: 16384, readShare: 1, direct: true},
				{name: "write", depth: 2, size: 65536, direct: true, sequential: true},
				{name: "sync", depth: 1, size: 8192, syncEvery: 4},
				{name: "grow", depth: 2, size: 65536, sequential: true, syncEvery: 1, commits: 3},
			} {
				j.seconds = 5
				r, w, s := j.play(truth)
				fr, fw, fs := j.play(f)
				require.InDelta(t, r, fr, 0.1*r, j.name)
				require.InDelta(t, w, fw, 0.1*w, j.name)
				require.InDelta(t, s, fs, 0.1*s, j.name)
			}
		})
	}
}

// recordingOf returns calls of a program on a device with the model, with noise.
func recordingOf(f *Fitted, name string, seed uint64, n int) *Recording {
	rnd := rand.New(rand.NewPCG(seed, 1))
	d := f.start()
	s := &Recording{name: name}
	at := int64(1e9)
	for range n {
		q := Demand{Work: SyncWork, Requests: 1 + rnd.Int32N(8), Commit: rnd.IntN(2) == 0, Blocks: 1 + rnd.Int32N(5)}
		if rnd.IntN(3) == 0 {
			q = Demand{Work: ReadWork, Requests: 1}
		}
		q.Bytes = int64(q.Requests) << (12 + rnd.IntN(6))
		took := int64(float64(d.end(&q, at)-at) * (0.8 + 0.4*rnd.Float64()))
		s.calls = append(s.calls, timed{q, 1, at, took})
		at += took + int64(rnd.IntN(ms))
	}
	return s
}

func TestFitRecordings(t *testing.T) {
	truth := disk()
	calls := 1500
	if testing.Short() {
		calls = 500
	}
	samples := []Sample{recordingOf(truth, "a", 1, calls), recordingOf(truth, "b", 2, calls), recordingOf(truth, "c", 3, calls)}
	all, err := HoldOut(t.Context(), samples, Cache{Readahead: 4096})
	require.NoError(t, err)
	require.Len(t, all, 6)
	for _, h := range all {
		require.InDelta(t, 0, h.Error(), 0.1, "%s of %s", h.Class, h.Name)
	}
	f, err := Fit(t.Context(), samples, Cache{Readahead: 4096})
	require.NoError(t, err)
	require.Equal(t, f.Read.Random, f.Read.Sequential, "none was sequential")
	require.EqualValues(t, 4096, f.Cache.Readahead)
	require.Len(t, f.Spread.Sync, len(spreadAt))
	require.Empty(t, f.Spread.Write)

	first, second := recordingOf(truth, "a", 1, 101).Halves()
	require.Equal(t, 50, first.Len())
	require.Equal(t, 51, second.Len())
}

func TestNothingToFit(t *testing.T) {
	_, err := Fit(t.Context(), nil, Cache{})
	require.ErrorContains(t, err, "nothing to fit")
	_, err = HoldOut(t.Context(), []Sample{recordingOf(disk(), "a", 1, 10)}, Cache{})
	require.ErrorContains(t, err, "nothing can be held out")
}
