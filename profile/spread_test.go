package profile

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/testkit"
)

// atOnce is the slow way to find a concurrency: nanosecond by nanosecond.
func atOnce(calls [][2]int64, runTime int64) []int64 {
	level := make([]int, runTime)
	for _, c := range calls {
		for i := c[0]; i < c[1]; i++ {
			level[i]++
		}
	}
	var nanos []int64
	for _, n := range level {
		for len(nanos) <= n {
			nanos = append(nanos, 0)
		}
		nanos[n]++
	}
	return nanos
}

// script returns calls of some threads in the order of their ends.
func script(rnd *rand.Rand, threads, n int) (calls [][2]int64) {
	now := make([]int64, threads)
	next := make([][2]int64, threads)
	advance := func(i int) {
		start := now[i] + rnd.Int64N(30)
		next[i] = [2]int64{start, start + 1 + rnd.Int64N(40)}
		now[i] = next[i][1]
	}
	for i := range threads {
		advance(i)
	}
	for range n {
		first := 0
		for i := range next {
			if next[i][1] < next[first][1] {
				first = i
			}
		}
		calls = append(calls, next[first])
		advance(first)
	}
	return calls
}

func TestConcurrency(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, test := range []struct{ threads, calls int }{{1, 100}, {2, 1000}, {8, 3000}, {5, 40_000}} {
		var c concurrency
		calls := script(rnd, test.threads, test.calls)
		var runTime int64
		for _, one := range calls {
			c.add(one[0], one[1], test.threads)
			runTime = max(runTime, one[1])
		}
		require.Equal(t, atOnce(calls, runTime), c.nanos(runTime), "%d threads", test.threads)
	}
}

// A call that was there all the time is known at the end.
func TestConcurrencyOfACallThatEndsLast(t *testing.T) {
	var c concurrency
	var runTime int64
	const calls = 1_000_000
	for i := range int64(calls) {
		c.add(10*i+5, 10*i+9, 2)
		runTime = 10*i + 9
	}
	c.add(0, runTime, 2)
	require.Equal(t, []int64{0, runTime - 4*calls, 4 * calls}, c.nanos(runTime))
	require.LessOrEqual(t, len(c.past), maxStretches)
	require.LessOrEqual(t, cap(c.steps), maxSteps+2)
}

// A thread that begins within a forgotten stretch is exact except for that stretch.
func TestConcurrencyIsNearlyExact(t *testing.T) {
	var c concurrency
	const calls = 100_000
	for i := range int64(calls) {
		c.add(10*i, 10*i+4, 2)
	}
	c.add(123_456, 10*calls, 2)
	got := c.nanos(10 * calls)
	require.InDelta(t, 4*(calls-12_345), got[2], 4)
	require.EqualValues(t, 10*calls, got[0]+got[1]+got[2])
}

func TestConcurrencyOfMany(t *testing.T) {
	var c concurrency
	for range 3 * maxAtOnce {
		c.add(0, 10, 3*maxAtOnce)
	}
	got := c.nanos(10)
	require.Len(t, got, maxAtOnce+1)
	require.EqualValues(t, 10, got[maxAtOnce])
}

// For any input in any order, no time is lost or invented.
func FuzzConcurrency(f *testing.F) {
	f.Add(uint64(1), 5000)
	f.Add(uint64(2), 100)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var c concurrency
		var runTime, spent int64
		for range min(max(n, 0), 20_000) {
			start := rnd.Int64N(1 << (1 + rnd.IntN(40)))
			end := start + 1 + rnd.Int64N(1<<(1+rnd.IntN(30)))
			c.add(start, end, 1<<20)
			runTime = max(runTime, end)
			spent += end - start
		}
		var sum int64
		for _, v := range c.nanos(runTime) {
			require.GreaterOrEqual(t, v, int64(0))
			sum += v
		}
		if spent > 0 {
			require.Equal(t, runTime, sum)
		}
	})
}

func TestIntervals(t *testing.T) {
	c := Collector{Interval: 10e3}
	require.NoError(t, c.Write([]format.Event{
		on(format.OpOpenat, 1, 0, 1, 3, "/a", format.AtFDCWD),
		on(format.OpRead, 1, 5, 20, 100, "", 3),
		on(format.OpRead, 1, 26, 4, 50, "", 3),
		on(format.OpOpenat, 1, 30, 0, 4, "/b", format.AtFDCWD),
		on(format.OpWrite, 1, 41, 2, 7, "", 4),
		on(format.OpBrk, 1, 44, 6, 0, ""),
	}))
	p := c.Profile()
	require.EqualValues(t, 10e3, p.Intervals.Nanos)
	type row struct {
		start, calls, read, written, reading, writing int64
		files                                         []int
	}
	var rows []row
	for i := range p.Intervals.List {
		v := &p.Intervals.List[i]
		rows = append(rows, row{v.Start, v.IO().Calls, v.Categories[Reads].Bytes, v.Categories[Writes].Bytes, v.Categories[Reads].Nanos, v.Categories[Writes].Nanos, v.Files})
	}
	require.Equal(t, []row{
		{0, 2, 100, 0, 5e3, 0, []int{0}},
		{10e3, 0, 0, 0, 10e3, 0, nil},
		{20e3, 1, 50, 0, 9e3, 0, []int{0}},
		{30e3, 1, 0, 0, 0, 0, []int{1}},
		{40e3, 1, 0, 7, 0, 2e3, []int{1}},
	}, rows)
}

// For any length of the run, there are few intervals, of a round length, and they add up.
func TestIntervalsAddUp(t *testing.T) {
	for _, scale := range []int64{1, 30, 1000, 1e6} {
		events := testkit.Application(3, 1)
		for i := range events {
			events[i].Start *= scale
		}
		for _, interval := range []int64{0, 1e6} {
			c := Collector{Interval: interval}
			require.NoError(t, c.Write(events))
			p := c.Profile()
			require.LessOrEqual(t, len(p.Intervals.List), maxSlices)
			if interval == 0 {
				require.LessOrEqual(t, len(p.Intervals.List), defaultIntervals)
				require.Greater(t, len(p.Intervals.List), defaultIntervals/3)
			}
			require.Equal(t, roundUp125(p.Intervals.Nanos), p.Intervals.Nanos)
			var sum Categories
			for i := range p.Intervals.List {
				for k := range sum {
					sum[k].add(&p.Intervals.List[i].Categories[k])
				}
			}
			require.Equal(t, p.Categories, sum)
		}
	}
}

func TestHeatAddsUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h heat
	h.reset(0)
	var sum [2]int64
	for range 10_000 {
		k := Category(rnd.IntN(2))
		begin, n := rnd.Int64N(1<<(20+rnd.IntN(20))), 1+rnd.Int64N(1<<rnd.IntN(30))
		h.add(k, rnd.Int64N(1<<(1+rnd.IntN(40))), begin, begin+n)
		sum[k] += n
	}
	s := h.snapshot()
	require.Len(t, s.Read, s.Columns*s.Rows)
	for k, cells := range [][]int64{s.Read, s.Written} {
		var got int64
		for _, n := range cells {
			require.GreaterOrEqual(t, n, int64(0))
			got += n
		}
		require.Equal(t, sum[k], got)
	}
}

// The maps are those of the files that take the most time, whenever they come.
func TestHeatMapsOfTheBusiest(t *testing.T) {
	var c Collector
	now := int64(0)
	use := func(name string, times int) {
		require.NoError(t, c.Write([]format.Event{on(format.OpOpenat, 1, now, 1, 3, name, format.AtFDCWD)}))
		for range times {
			now += 10
			require.NoError(t, c.Write([]format.Event{on(format.OpRead, 1, now, 5, 10, "", 3)}))
		}
	}
	for i := range 10 * maxHeats {
		use(string(rune('A'+i)), 1+i%3)
	}
	use("/late", 10_000)
	p := c.Profile()
	require.Equal(t, "/late", p.Files[0].Name)
	require.NotNil(t, p.Files[0].Heat)
	require.Less(t, p.Files[0].Heat.Missed, int64(100e3))
	maps := 0
	for i := range p.Files {
		if p.Files[i].Heat != nil {
			maps++
		}
	}
	require.LessOrEqual(t, maps, maxHeats)
}

func TestLatency(t *testing.T) {
	var l stats.Histogram
	for i := range int64(1000) {
		l.Add((i + 1) * 1000)
	}
	l.Add(1 << 50)
	d := distribution(&l)
	require.EqualValues(t, 1001, d.Calls)
	require.EqualValues(t, 1000, d.Min)
	require.EqualValues(t, 1<<50, d.Max)
	require.InEpsilon(t, 501e3, d.P50, 0.01)
	require.InEpsilon(t, 991e3, d.P99, 0.01)
	var calls int64
	for i, b := range d.Bars {
		calls += b.Calls
		require.LessOrEqual(t, b.From, b.To)
		if i > 0 {
			require.Greater(t, b.From, d.Bars[i-1].To)
		}
	}
	require.EqualValues(t, 1001, calls)
	require.EqualValues(t, 1000, d.Tail[0])
	require.InEpsilon(t, 901e3, d.Tail[12], 0.01, "a tenth takes longer")
	require.EqualValues(t, 1<<50, d.Tail[len(d.Tail)-1])
	require.IsNonDecreasing(t, d.Tail)
	require.Nil(t, distribution(new(stats.Histogram)))
}

func TestSizes(t *testing.T) {
	var s sizes
	for _, n := range []int64{0, 1, 4095, 4096, 8191, 1 << 62} {
		s.count(n, &Total{Calls: 1, Bytes: n})
	}
	classes := s.classes()
	require.Len(t, classes, 64)
	require.Equal(t, SizeClass{0, 1, Total{Calls: 1}}, classes[0])
	require.Equal(t, SizeClass{4096, 8192, Total{Calls: 2, Bytes: 12287}}, classes[13])
	require.EqualValues(t, 1<<63-1, classes[63].To)
	require.Empty(t, new(sizes).classes())
}

func TestFrequent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var f frequent
	const n = 10_000
	for i := range n {
		if i%2 == 0 {
			f.add(4096)
		} else {
			f.add(rnd.Int64N(1e6))
		}
	}
	list := f.list()
	require.EqualValues(t, 4096, list[0].Value)
	require.InDelta(t, n/2, list[0].Calls, n/4)
	var sum int64
	for _, v := range list {
		sum += v.Calls
	}
	require.EqualValues(t, n, sum)
}
