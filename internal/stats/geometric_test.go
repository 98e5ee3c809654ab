package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStudentQuantile(t *testing.T) {
	for _, test := range []struct{ p, freedom, want, off float64 }{
		{0.975, 2, 4.303, 0.04}, {0.975, 4, 2.776, 0.005}, {0.975, 10, 2.228, 0.001}, {0.975, 30, 2.042, 0.001}, {0.995, 10, 3.169, 0.001}, {0.975, 1e9, 1.960, 0.001},
	} {
		require.InEpsilon(t, test.want, studentQuantile(test.p, test.freedom), test.off)
	}
}

func TestGeometricRatio(t *testing.T) {
	ratio, _, ok := GeometricRatio(nil, 0.05)
	require.True(t, math.IsNaN(ratio))
	require.False(t, ok)
	ratio, _, ok = GeometricRatio([]Pair{{[]float64{1}, []float64{2}}, {[]float64{10}, []float64{80}}}, 0.05)
	require.InEpsilon(t, 4, ratio, 1e-12)
	require.False(t, ok, "one run of each")
	ratio, _, ok = GeometricRatio([]Pair{{[]float64{1, 1}, []float64{2, 2}}}, 0.05)
	require.InEpsilon(t, 2, ratio, 1e-12)
	require.False(t, ok, "runs that do not vary tell nothing of how they do")
	ratio, i, ok := GeometricRatio([]Pair{{[]float64{1, 4}, []float64{2, 8}}}, 0.05)
	require.True(t, ok)
	require.InEpsilon(t, 2, ratio, 1e-12)
	// The logarithms have a variance of ln(4)²/2 on both sides, and two degrees of freedom.
	require.InEpsilon(t, math.Exp(math.Log(2)+studentQuantile(0.975, 2)*math.Log(4)/math.Sqrt2), i.High, 1e-9)
	require.InEpsilon(t, 4, i.Low*i.High, 1e-9)
	require.InEpsilon(t, 4, GeometricMean([]float64{2, 8}), 1e-12)
}

// Intervals of three runs of a dozen workloads miss the ratio at most as often as
// allowed, and not much less often. Welch's degrees of freedom err to the safe side.
func TestGeometricRatioCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const experiments = 4000
	missed := 0
	for range experiments {
		var pairs []Pair
		for k := range 12 {
			var p Pair
			spread := 0.01 * float64(1+k) // workloads differ in how much they vary
			for range 3 {
				p.Base = append(p.Base, math.Exp(r.NormFloat64()*spread))
				p.Other = append(p.Other, 2*math.Exp(r.NormFloat64()*spread))
			}
			pairs = append(pairs, p)
		}
		_, i, ok := GeometricRatio(pairs, 0.05)
		require.True(t, ok)
		if i.Low > 2 || i.High < 2 {
			missed++
		}
	}
	rate := float64(missed) / experiments
	require.LessOrEqual(t, rate, 0.05)
	require.GreaterOrEqual(t, rate, 0.025)
}
