package pattern

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// follower finds out what each event of a compiled trace follows, by its
// thread and edges: per thread, one more than the newest such event.
type follower struct {
	t       *testing.T
	follows map[int32][]map[int32]int64 // by thread and event
	newest  map[int64]map[int32]int64   // by group and phase: the newest event of each thread in it
	checks  []check
	compute map[int32]int64
}

type check struct {
	group  int64
	phase  int
	follow map[int32]int64
}

// Write implements compile.Sink.
func (f *follower) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		mine := f.follows[e.TID]
		follow := map[int32]int64{}
		merge := func(m map[int32]int64) {
			for t, n := range m {
				follow[t] = max(follow[t], n)
			}
		}
		if n := len(mine); n > 0 {
			merge(mine[n-1])
		}
		follow[e.TID] = int64(len(mine))
		for _, edge := range e.Edges {
			require.Less(f.t, edge.Event, int64(len(f.follows[edge.Thread])), "an edge to an event that is not there yet")
			merge(f.follows[edge.Thread][edge.Event])
			follow[edge.Thread] = max(follow[edge.Thread], edge.Event+1)
		}
		f.follows[e.TID] = append(mine, follow)
		f.compute[e.TID] += e.Compute
		if e.Op != format.OpStat {
			continue
		}
		var group, phase int64
		_, err := fmt.Sscanf(string(e.Str[0]), "g%d.p%d", &group, &phase)
		require.NoError(f.t, err)
		key := group<<32 | phase
		if f.newest[key] == nil {
			f.newest[key] = map[int32]int64{}
		}
		f.newest[key][e.TID] = int64(len(mine)) + 1
		f.checks = append(f.checks, check{group, int(phase), follow})
	}
	return nil
}

// Close implements compile.Sink.
func (f *follower) Close(*format.Header) error { return nil }

// The events after a barrier depend on all events before it of all its threads,
// whichever thread comes last, and a barrier adds no compute.
func TestBarriers(t *testing.T) {
	const threads, phases = 12, 6
	for seed := range 20 {
		text := fmt.Sprintf("pattern: 1\nseed: %d\ngroups:\n", seed)
		for g, head := range []string{"- {processes: 2, threads: 3, steps: [", "- {threads: 6, steps: ["} {
			var steps []string
			for p := range phases {
				of := "all"
				if p%2 == 1 {
					of = "group"
				}
				steps = append(steps,
					`sleep: "choose(1: 0s, 1: 1us, 1: 0..100us)"`,
					fmt.Sprintf(`repeat: {times: 1..5, steps: [stat: "g%d.p%d"]}`, g, p),
					"barrier: "+of)
			}
			text += head + "{" + strings.Join(steps, "}, {") + "}]}\n"
		}
		p, err := Parse(strings.NewReader(text), "w.yaml")
		require.NoError(t, err)
		f := &follower{t: t, follows: map[int32][]map[int32]int64{}, newest: map[int64]map[int32]int64{}, compute: map[int32]int64{}}
		tmp, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		_, err = compile.Compile(p.Reader(), tmp, f, compile.Options{})
		require.NoError(t, err)
		require.NoError(t, tmp.Close())
		require.GreaterOrEqual(t, len(f.checks), threads*phases)
		for _, c := range f.checks {
			if c.phase == 0 {
				continue
			}
			before := maps.Clone(f.newest[c.group<<32|int64(c.phase-1)])
			if c.phase%2 == 1 { // the barrier before was one of all
				maps.Copy(before, f.newest[(1-c.group)<<32|int64(c.phase-1)])
				require.Len(t, before, threads)
			} else {
				require.Len(t, before, threads/2)
			}
			for thread, n := range before {
				require.GreaterOrEqual(t, c.follow[thread], n, "phase %d of group %d goes before thread %d", c.phase, c.group, thread)
			}
		}
		for thread, nanos := range f.compute {
			require.LessOrEqual(t, nanos, int64(phases*(100_000+threads+1)), "thread %d", thread)
		}
	}
}
