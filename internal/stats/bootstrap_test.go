package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowError is that of the intervals of a comparison with five rows.
const rowError = 0.01

// everyResample calls f with each of the n^n samples that can be drawn from v.
func everyResample(v []float64, f func([]float64)) {
	pick, sample := make([]int, len(v)), make([]float64, len(v))
	for {
		for i, k := range pick {
			sample[i] = v[k]
		}
		f(sample)
		i := 0
		for ; i < len(pick); i++ {
			if pick[i]++; pick[i] < len(v) {
				break
			}
			pick[i] = 0
		}
		if i == len(pick) {
			return
		}
	}
}

func TestResampledMediansAreThoseOfAllSamples(t *testing.T) {
	for _, v := range [][]float64{{3}, {1, 2}, {1, 2, 7}, {1, 2, 7, 30}, {1, 2, 7, 30, 31}, {2, 2, 7, 7, 31}, {1, 2, 7, 30, 31, 99}} {
		want, total := map[float64]float64{}, 0.0
		everyResample(v, func(s []float64) {
			want[Median(slices.Clone(s))]++
			total++
		})
		got := map[float64]float64{}
		medians := resampledMedians(v)
		for i, m := range medians {
			got[m.value] += m.probability
			require.True(t, i == 0 || medians[i-1].value <= m.value)
		}
		require.Len(t, got, len(want), "%v", v)
		for value, n := range want {
			require.InDelta(t, n/total, got[value], 1e-12, "%v: %v", v, value)
		}
	}
}

func TestResampledMediansAddUpToOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 400; n += 1 + n/10 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rnd.Float64()
		}
		slices.Sort(v)
		sum := 0.0
		for _, m := range resampledMedians(v) {
			require.GreaterOrEqual(t, m.probability, 0.0)
			sum += m.probability
		}
		require.InDelta(t, 1, sum, 1e-9, "%d runs", n)
	}
}

// allMedians is resampledMedians with nothing left out.
func allMedians(v []float64) (medians []outcome) {
	n := len(v)
	half := (n + 1) / 2
	upTo := func(m int) (p float64) { // the probability that at least half of the sample are among the first m
		if m == 0 || m == n {
			return float64(m / n)
		}
		in, out := math.Log(float64(m)/float64(n)), math.Log(float64(n-m)/float64(n))
		for i := half; i <= n; i++ {
			p += math.Exp(logFactorial(n) - logFactorial(i) - logFactorial(n-i) + float64(i)*in + float64(n-i)*out)
		}
		return p
	}
	middle := math.Exp(logFactorial(n) - 2*logFactorial(half))
	power := func(k int) float64 { return math.Pow(float64(k)/float64(n), float64(half)) }
	for i := range n {
		p := upTo(i+1) - upTo(i)
		if n%2 == 0 {
			low := middle * (power(i+1) - power(i))
			for j := i + 1; j < n; j++ {
				medians = append(medians, outcome{v[i] + (v[j]-v[i])/2, low * (power(n-j) - power(n-j-1))})
			}
			p -= low * power(n-i-1)
		}
		medians = append(medians, outcome{v[i], max(p, 0)})
	}
	slices.SortFunc(medians, func(a, b outcome) int { return cmp.Compare(a.value, b.value) })
	return medians
}

// The medians that are left out change no interval, and are nearly all medians of many
// runs.
func TestNegligibleMedians(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	ratio := func(app, replay float64) float64 { return replay / app }
	sample := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = 1 + 0.1*rnd.ExpFloat64()
		}
		slices.Sort(v)
		return v
	}
	for _, n := range [][2]int{{1, 2}, {6, 6}, {7, 10}, {50, 51}, {100, 100}, {333, 400}, {MaxRuns - 1, 6}, {MaxRuns, 1}, {6, MaxRuns}} {
		app, replay := sample(n[0]), sample(n[1])
		a, r := allMedians(app), allMedians(replay)
		got := RatioInterval(app, replay, rowError)
		require.InEpsilon(t, quantile(a, r, rowError/2, ratio), got.Low, 1e-12, "%d and %d runs", n[0], n[1])
		require.InEpsilon(t, quantile(a, r, 1-rowError/2, ratio), got.High, 1e-12, "%d and %d runs", n[0], n[1])
	}
	require.Less(t, len(resampledMedians(sample(MaxRuns))), 20*MaxRuns)
}

// The interval equals that of endless random resampling.
func TestRatioIntervalIsThatOfDrawing(t *testing.T) {
	app, replay := []float64{8, 9, 10, 10.5, 11, 14}, []float64{10, 11, 12, 12.5, 13}
	rnd := rand.New(rand.NewPCG(5, 6))
	draw := func(v []float64) float64 {
		s := make([]float64, len(v))
		for i := range s {
			s[i] = v[rnd.IntN(len(v))]
		}
		return Median(s)
	}
	got := RatioInterval(app, replay, 0.1)
	const draws = 40000
	low, high := 0, 0
	for range draws {
		r := draw(replay) / draw(app)
		if r < got.Low {
			low++
		}
		if r > got.High {
			high++
		}
	}
	require.LessOrEqual(t, float64(low)/draws, 0.055)
	require.LessOrEqual(t, float64(high)/draws, 0.055)
	require.Greater(t, float64(low)/draws, 0.01)
	require.Greater(t, float64(high)/draws, 0.01)
}

func TestRatioInterval(t *testing.T) {
	for _, test := range []struct {
		name        string
		app, replay []float64
		want        Interval
	}{
		{"one run of each", []float64{2}, []float64{3}, Interval{1.5, 1.5}},
		{"all the same", []float64{2, 2, 2, 2, 2}, []float64{3, 3, 3, 3, 3}, Interval{1.5, 1.5}},
		{"two of each reach from end to end", []float64{2, 4}, []float64{4, 6}, Interval{1, 3}},
		{"one recording", []float64{2}, []float64{1, 2, 3, 4, 5}, Interval{0.5, 2.5}},
		{"nothing done in a replay", []float64{2}, []float64{0, 2}, Interval{0, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, RatioInterval(test.app, test.replay, rowError))
		})
	}
}

// Comparisons of a machine with itself find a difference no more often than promised,
// for any kind of noise, and an interval of more runs is narrower.
func TestRatioIntervalKeepsItsPromise(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many samples")
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	const draws = 20000 // runs a side, of all comparisons together
	for _, test := range []struct {
		name  string
		noise func() float64
	}{
		{"even", func() float64 { return math.Exp(0.02 * rnd.NormFloat64()) }},
		{"skewed", func() float64 { return 1 + 0.1*rnd.ExpFloat64() }},
		{"two speeds", func() float64 { return math.Exp(0.01*rnd.NormFloat64()) * float64(5+rnd.IntN(2)) }},
		{"slow at times", func() float64 {
			if rnd.IntN(10) == 0 {
				return 1.5
			}
			return 1 + 0.05*rnd.Float64()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			sample := func(n int) []float64 {
				v := make([]float64, n)
				for i := range v {
					v[i] = test.noise()
				}
				slices.Sort(v)
				return v
			}
			width := math.Inf(1)
			for _, n := range []int{MinRuns, 10, 20} {
				missed, sum := 0, 0.0
				for range draws / n {
					i := RatioInterval(sample(n), sample(n), rowError)
					sum += (i.High - i.Low) / (draws / float64(n))
					if i.Low > 1 || i.High < 1 {
						missed++
					}
				}
				allowed := rowError * draws / float64(n)
				require.LessOrEqual(t, float64(missed), allowed+3*math.Sqrt(allowed), "%d runs", n)
				require.Less(t, sum, width)
				width = sum
			}
		})
	}
}

// One end of an interval has half of the error rate, down to what the documentation
// of checks promises: 0.5 % with six runs, 0.1 % with seven.
func TestOneEndKeepsItsPromise(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many samples")
	}
	rnd := rand.New(rand.NewPCG(11, 12))
	const draws = 6000
	for _, test := range []struct {
		runs  int
		error float64
	}{{6, 0.05}, {6, 0.005}, {7, 0.005}, {7, 0.001}, {10, 0.05}} {
		above, over := 0, 0 // of a ratio, and of a median
		for range draws {
			sample := func() []float64 {
				v := make([]float64, test.runs)
				for i := range v {
					v[i] = math.Exp(0.1 * rnd.NormFloat64())
				}
				slices.Sort(v)
				return v
			}
			if RatioInterval(sample(), sample(), 2*test.error).Low > 1 {
				above++
			}
			if test.runs >= MedianRuns(2*test.error) && MedianInterval(sample(), 2*test.error).Low > 1 {
				over++
			}
		}
		allowed := test.error * draws
		require.LessOrEqual(t, float64(max(above, over)), allowed+3*math.Sqrt(allowed), "%d runs, %v", test.runs, test.error)
		if allowed > 100 {
			require.Greater(t, float64(min(above, over)), allowed/10, "it tells something")
		}
	}
}

func TestMedianInterval(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, test := range []struct {
		values []float64
		error  float64
		want   Interval
	}{
		{[]float64{3}, 0.1, Interval{3, 3}},
		{ten, 0.1, Interval{2, 9}}, // 11/1024 at each end; the third has 56/1024
		{ten, 0.02, Interval{1, 10}},
		{ten[:6], 0.1, Interval{1, 6}}, // 1/64 at each end
		{ten[:5], 0.4, Interval{2, 4}}, // 6/32
	} {
		require.Equal(t, test.want, MedianInterval(test.values, test.error))
	}
	require.Equal(t, 5, MedianRuns(0.1))
	require.Equal(t, 6, MedianRuns(0.04))
}

// The interval of a difference is that of the ratio where all values of one side are 1, and
// it moves with the values, also below 0.
func TestDifferenceInterval(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 50 {
		ones, values, lower := []float64{1, 1, 1, 1, 1, 1}, make([]float64, 6), make([]float64, 6)
		for i := range values {
			values[i] = float64(rnd.IntN(20))
		}
		slices.Sort(values)
		for i := range values {
			lower[i] = values[i] - 64
		}
		ratio, got := RatioInterval(ones, values, rowError), DifferenceInterval(ones, values, rowError)
		require.Equal(t, Interval{ratio.Low - 1, ratio.High - 1}, got)
		below := DifferenceInterval(ones, lower, rowError)
		require.Equal(t, Interval{got.Low - 64, got.High - 64}, below)
		turned := DifferenceInterval(lower, ones, rowError)
		require.InDelta(t, -below.High, turned.Low, 12, "between the same values")
	}
}

func TestFloatPositions(t *testing.T) {
	list := []float64{math.Inf(-1), -3, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 3, math.Inf(1)}
	for i, v := range list {
		require.Equal(t, v, floatAt(position(v)))
		require.True(t, i == 0 || position(list[i-1]) < position(v))
	}
}

// The chances are those of drawing: two equal values and a higher one, and one above 19.
func TestChances(t *testing.T) {
	require.InDelta(t, 1./20, RankChance(19, 1), 1e-12)
	require.InDelta(t, 1./924, RankChance(6, 6), 1e-12)
	require.InDelta(t, 1./7, UnseenChance(1, 6), 1e-3)
	require.InDelta(t, 0.05666, UnseenChance(6, 1), 1e-4)
	rnd := rand.New(rand.NewPCG(13, 14))
	hits := 0
	const draws = 200_000
	for range draws {
		first, second, later := geometric(rnd), geometric(rnd), geometric(rnd)
		if first == second && later > first {
			hits++
		}
	}
	require.InDelta(t, UnseenChance(2, 1), float64(hits)/draws, 0.004)
}

// geometric draws from the distribution for which UnseenChance(2, 1) is likeliest.
func geometric(rnd *rand.Rand) (n int) {
	for rnd.Float64() > 0.64 {
		n++
	}
	return n
}
