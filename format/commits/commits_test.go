package commits_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/commits"
	"pianola/format/commits/commitskit"
)

// forPrograms runs a test with the plans of random programs of all kinds.
func forPrograms(t *testing.T, test func(t *testing.T, r *rand.Rand, p *commitskit.Program, plan *commits.Plan)) {
	for seed := range uint64(60) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			p := commitskit.Random(seed, 3+r.IntN(6), 12+r.IntN(30))
			plan, err := commits.Find(p, p.Process, p.AllWaits())
			require.NoError(t, err)
			require.NotNil(t, plan)
			test(t, r, p, plan)
		})
	}
}

// The commits of a trace are found, in the groups of the recording.
func TestFind(t *testing.T) {
	forPrograms(t, func(t *testing.T, _ *rand.Rand, p *commitskit.Program, plan *commits.Plan) {
		require.Len(t, plan.Logs, 1)
		l := plan.Logs[0]
		require.Len(t, l.Groups, int(p.Groups))
		sum := int64(0)
		for i, all := range plan.Threads {
			for k, c := range all {
				sum++
				require.Same(t, l, c.Group.Log)
				require.NotNil(t, c.Like)
				require.Equal(t, c.Leads, c.Group.Thread == int32(i+1))
				require.Equal(t, p.Process(c.Like.Thread), p.Process(int32(i+1)), "it can make the calls")
				require.GreaterOrEqual(t, c.Delay, int64(0))
				require.True(t, k == 0 || all[k-1].Event <= c.Event)
				if c.Leads {
					for n := range c.Group.Events {
						require.Same(t, c.Group, plan.At(int32(i+1), c.Event+n))
					}
				}
			}
		}
		require.Equal(t, l.Commits, sum)
		require.LessOrEqual(t, sum, p.Commits)
		if p.Process(1) == p.Process(2) && everyoneLeads(plan) {
			require.Equal(t, p.Commits, sum)
		}
		require.Nil(t, plan.At(1, p.Len(1)-1), "the exit")
	})
}

// everyoneLeads reports whether all threads have commits: those that never lead have none.
func everyoneLeads(plan *commits.Plan) bool {
	return !slices.ContainsFunc(plan.Threads, func(all []commits.Commit) bool { return len(all) == 0 })
}

// A commit is durable only when its bytes were written after it was wanted, and a sync that
// began after that has ended; in whatever groups. Each commit is durable once. Writes leave no
// hole and overlap by a block at most, and the log has its size in the end.
func TestDurability(t *testing.T) {
	forPrograms(t, func(t *testing.T, r *rand.Rand, p *commitskit.Program, plan *commits.Plan) {
		l := plan.Logs[0]
		q := commits.NewQueue(l, len(plan.Threads))
		next, wanted := make([]int, len(plan.Threads)), make([]int64, len(plan.Threads))
		now, end, written, made := int64(0), int64(0), int64(0), int64(0)
		add := func(thread int, at, before int64) {
			if next[thread] < len(plan.Threads[thread]) {
				wanted[thread] = at
				next[thread]++
				q.Add(commits.Member{Thread: int32(thread + 1), Wanted: at, Before: before})
			}
		}
		for i := range next {
			add(i, r.Int64N(100_000), 0)
		}
		for {
			leader, at, ok := q.Next(l.Turn)
			if !ok {
				break
			}
			require.GreaterOrEqual(t, at, now, "a group does not begin before the sync before has ended")
			members, w := q.Take(at)
			require.Equal(t, leader, members[0].Thread)
			require.NotNil(t, w.Of)
			if w.Size > 0 {
				call := w.Make(l.Groups[0])
				require.Equal(t, w.Size, call.Ret)
				require.Equal(t, w.Size, call.Args[2])
				if p.Placed {
					require.Equal(t, w.Offset, call.Args[3])
					require.Zero(t, w.Offset%commitskit.Block)
					require.LessOrEqual(t, w.Offset, end, "a hole")
					require.GreaterOrEqual(t, w.Offset, end-2*commitskit.Block)
				}
				end = max(end, w.Offset+w.Size)
				written += w.Size
			}
			now = at + 1 + r.Int64N(1_000_000) // the sync begins after the write, and ends now
			q.Synced(now)
			made += int64(len(members))
			require.Equal(t, made, q.Durable())
			for i, m := range append([]commits.Member(nil), members...) {
				thread := int(m.Thread - 1)
				require.LessOrEqual(t, wanted[thread], at, "its bytes are in the write")
				require.Equal(t, wanted[thread], m.Wanted)
				require.False(t, q.Waits(m.Thread))
				before := now
				if i == 0 {
					before = 0
				}
				add(thread, now+r.Int64N(300_000), before)
			}
		}
		require.Equal(t, l.Commits, made)
		if p.Placed {
			require.Equal(t, p.Size, end)
		} else {
			require.Equal(t, p.Written, written)
		}
	})
}

// At the times of the recording, the groups are those of the recording.
func TestSameGroups(t *testing.T) {
	forPrograms(t, func(t *testing.T, _ *rand.Rand, p *commitskit.Program, plan *commits.Plan) {
		if !p.Synced {
			return // the groups are those of the syncs
		}
		if p.Process(1) != p.Process(2) || !everyoneLeads(plan) {
			return // threads that have yet to lead are left out
		}
		l := plan.Logs[0]
		q := commits.NewQueue(l, len(plan.Threads))
		next := make([]int, len(plan.Threads))
		add := func(thread int, end, before int64) {
			if all := plan.Threads[thread]; next[thread] < len(all) {
				q.Add(commits.Member{Thread: int32(thread + 1), Wanted: end + all[next[thread]].Delay, Before: before})
				next[thread]++
			}
		}
		for i := range next {
			add(i, 0, 0)
		}
		for _, g := range l.Groups {
			leader, at, ok := q.Next(10_000)
			require.True(t, ok)
			require.Equal(t, g.Thread, leader)
			members, w := q.Take(at)
			require.Len(t, members, int(g.Members))
			require.Same(t, g, w.Of)
			require.Equal(t, g.Write.Ret, w.Size)
			end := at + g.Wrote + g.Between + g.Synced
			q.Synced(end)
			for i, m := range append([]commits.Member(nil), members...) {
				before := end
				if i == 0 {
					before = 0
				}
				add(int(m.Thread-1), end, before)
			}
		}
	})
}

// A group that is not understood is left to the recording: here a leader reads, or a write is
// short. Those around it are not.
func TestNotUnderstood(t *testing.T) {
	for what, change := range map[string]func(g *format.Record){
		"another operation": func(r *format.Record) { r.Op = format.OpRead },
		"short":             func(r *format.Record) { r.Ret-- },
		"a hole":            func(r *format.Record) { r.Args[3] += 1 << 20 },
		"another file":      func(r *format.Record) { r.Args[0]++ },
	} {
		t.Run(what, func(t *testing.T) {
			p := commitskit.Random(2, 6, 60)
			plan, err := commits.Find(p, p.Process, p.AllWaits())
			require.NoError(t, err)
			l := plan.Logs[0]
			odd := len(l.Groups) / 2
			g := l.Groups[odd]
			change(p.Record(g.Thread, g.Event))
			plan, err = commits.Find(p, p.Process, p.AllWaits())
			require.NoError(t, err)
			require.Nil(t, plan.At(g.Thread, g.Event), "it stays as recorded")
			require.Len(t, plan.Logs, 2)
			for i, k := range []int{odd - 1, odd + 1} { // the groups around it are in a log each
				require.Same(t, plan.Logs[i], plan.At(l.Groups[k].Thread, l.Groups[k].Event).Log)
			}
		})
	}
}

// Edges can be wrong.
func FuzzFind(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, seed uint64, changes []byte) {
		p := commitskit.Random(seed, 3, 20)
		waits := p.AllWaits()
		for i := 0; i+2 < len(changes); i += 3 {
			all := waits[int(changes[i])%len(waits)]
			w := &all[int(changes[i+1])%len(all)]
			switch n := int64(changes[i+2]); n % 3 {
			case 0:
				w.For.Thread, w.For.Event = int32(n/3)%4, n/12
			case 1:
				w.For.Kind = format.EdgeWake + format.EdgeKind(n/3)%(format.NumEdgeKinds-format.EdgeWake)
			default:
				w.Event = n / 3
			}
			slices.SortStableFunc(all, func(a, b format.Wait) int { return cmp.Compare(a.Event, b.Event) })
		}
		plan, err := commits.Find(p, p.Process, waits)
		require.NoError(t, err)
		if plan == nil {
			return
		}
		for _, l := range plan.Logs {
			q, made := commits.NewQueue(l, len(waits)), int64(0)
			for i, all := range plan.Threads {
				for _, c := range all {
					if c.Group.Log == l {
						q.Add(commits.Member{Thread: int32(i + 1), Wanted: c.Delay})
					}
				}
			}
			for now := int64(0); ; now += 1000 {
				_, at, ok := q.Next(l.Turn)
				if !ok {
					break
				}
				members, w := q.Take(max(at, now))
				require.GreaterOrEqual(t, w.Size, int64(0))
				require.GreaterOrEqual(t, w.Offset, int64(0))
				made += int64(len(members))
				q.Synced(now)
			}
			require.Equal(t, l.Commits, made)
		}
	})
}

// The time between the write of a group and its sync in which the leader waited, such as for a processor,
// is no compute.
func TestBetween(t *testing.T) {
	p := commitskit.Random(0, 4, 20)
	find := func(waits [][]format.Wait) *commits.Group {
		plan, err := commits.Find(p, p.Process, waits)
		require.NoError(t, err)
		return plan.Logs[0].Groups[3]
	}
	waits := slices.Clone(p.AllWaits())
	g := find(waits)
	require.EqualValues(t, 2_000, g.Between)
	own := &waits[g.Thread-1]
	at := slices.IndexFunc(*own, func(w format.Wait) bool { return w.Event > g.Event })
	*own = slices.Insert(slices.Clone(*own), at, format.Wait{Event: g.Event + 1, Held: 1_500})
	require.EqualValues(t, 500, find(waits).Between)
}

// A leader begins later where threads of the group before have the processors, unless the calls of that took
// much longer than recorded.
func TestTurnAfter(t *testing.T) {
	l := commits.Log{Turn: 20, Busy: 60, Took: 100}
	for took, want := range map[int64]int64{0: 80, 100: 80, 150: 50, 200: 20, 1 << 60: 20} {
		require.Equal(t, want, l.TurnAfter(took), took)
	}
	l.Took = 0
	require.EqualValues(t, 20, l.TurnAfter(100), "durations were not recorded")
}

// Turns that took longer than those that found a free processor count on average.
func TestTurn(t *testing.T) {
	p := commitskit.Random(0, 4, 20)
	find := func() *commits.Log {
		plan, err := commits.Find(p, p.Process, p.AllWaits())
		require.NoError(t, err)
		return plan.Logs[0]
	}
	l := find()
	require.Positive(t, l.Took)
	turn, n := l.Turn, 0
	require.Zero(t, l.Busy)
	for _, all := range p.AllWaits() {
		for i := range all {
			if all[i].For.Kind.Wakes() {
				if n++; n%2 == 0 {
					all[i].For.Delay += 1000
				}
			}
		}
	}
	l = find()
	require.Equal(t, turn, l.Turn)
	require.InDelta(t, 500, l.Busy, 200)
}
