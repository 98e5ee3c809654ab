package stats

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistogram(t *testing.T) {
	for _, test := range []struct {
		digits int
		off    float64
	}{{0, 0.01}, {2, 0.01}, {1, 0.07}} {
		h, other := Histogram{Digits: test.digits}, Histogram{Digits: test.digits}
		require.Equal(t, Quantiles{}, h.Quantiles())
		h.Merge(&other)
		require.Zero(t, h.Count())
		for i := int64(-5); i <= 100_000; i++ {
			if i%2 == 0 {
				h.Add(i)
			} else {
				other.Add(i)
			}
		}
		h.Merge(&other)
		q := h.Quantiles()
		for i, want := range []float64{50_000, 90_000, 99_000, 99_900} {
			got := float64(q.List()[i])
			require.GreaterOrEqual(t, got, want-5, QuantileNames[i])
			require.LessOrEqual(t, got, want*(1+test.off), QuantileNames[i])
		}
		require.EqualValues(t, 100_000, q.Max)
		require.Zero(t, h.Min())
		var counted int64
		h.Each(func(_, n int64) { counted += n })
		require.EqualValues(t, 100_006, counted)
		require.Equal(t, counted, h.Count())
		h.Add(1<<63 - 1)
		require.EqualValues(t, 1<<63-1, h.Quantiles().Max)
	}
}

// No quantile is above the longest duration or below the shortest, although buckets are
// wider than that, also in histograms that are brought together.
func TestQuantilesAreWithinTheirBounds(t *testing.T) {
	for _, digits := range []int{1, 2} {
		h, other := Histogram{Digits: digits}, Histogram{Digits: digits}
		for nanos := int64(1); nanos < 1<<44; nanos += nanos/7 + 1 {
			h = Histogram{Digits: digits}
			h.Add(nanos)
			other = Histogram{Digits: digits}
			other.AddCount(nanos, 1000)
			other.Merge(&h)
			for _, q := range []Quantiles{h.Quantiles(), other.Quantiles()} {
				require.Equal(t, Quantiles{nanos, nanos, nanos, nanos, nanos}, q)
			}
		}
	}
}

func TestCounts(t *testing.T) {
	var h Histogram
	require.Equal(t, Counts{}, h.Counts())
	for _, nanos := range []int64{0, 3, 3, 3, 255, 256, 1_000_000, 1<<62 + 5} {
		h.Add(nanos)
	}
	c := h.Counts()
	text, err := c.Buckets.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "0 3:3 252 1 1524 2828", string(text))

	var read Buckets
	require.NoError(t, read.UnmarshalText(text))
	back, err := (&Counts{c.Min, c.Max, read}).Histogram()
	require.NoError(t, err)
	require.Equal(t, h.Quantiles(), back.Quantiles())
	require.Equal(t, h.Below(1, 20, 80), back.Below(1, 20, 80))
	require.EqualValues(t, 8, back.Count())
	require.Equal(t, c, back.Counts())

	back, err = new(Counts).Histogram()
	require.NoError(t, err)
	require.Zero(t, back.Count())
}

func TestCountsThatNothingHas(t *testing.T) {
	for _, test := range []struct {
		min, max int64
		text     string
		want     string
	}{
		{1, 0, "", "durations without buckets"},
		{3, 3, "3 0", "bucket 1 out of range"},
		{3, 3, "-1", "bucket 0 out of range"},
		{3, 3, "3 99999999", "bucket 1 out of range"},
		{3, 3, "3:0", "count of bucket 0 out of range"},
		{3, 4, "3:9007199254740992 1", "count of bucket 1 out of range"},
		{4, 4, "3", "the shortest or longest duration is in no bucket"},
		{3, 5, "3 1", "the shortest or longest duration is in no bucket"},
		{-3, 3, "3", "the shortest or longest duration is in no bucket"},
		{1001, 1000, "506", "the shortest or longest duration is in no bucket"},
	} {
		var b Buckets
		require.NoError(t, b.UnmarshalText([]byte(test.text)))
		_, err := (&Counts{test.min, test.max, b}).Histogram()
		require.EqualError(t, err, test.want, "%q", test.text)
	}
	var b Buckets
	require.EqualError(t, b.UnmarshalText([]byte("1:2 3x")), `bucket 1: expected GAP:COUNT, not "3x"`)
	require.Error(t, b.UnmarshalText([]byte("1:")))
	require.EqualError(t, b.UnmarshalText(bytes.Repeat([]byte("1 "), 9000)), "more than 8192 buckets")
}

func TestAddCount(t *testing.T) {
	var one, other Histogram
	for range 100 {
		one.Add(1000)
	}
	one.Add(5_000_000)
	one.Each(func(nanos, count int64) { other.AddCount(nanos, count) })
	other.AddCount(5_000_000, 0)
	require.Equal(t, one.Count(), other.Count())
	require.Equal(t, one.Quantiles().Max, other.Quantiles().Max)
	require.InEpsilon(t, one.Quantiles().P50, other.Quantiles().P50, 0.01)
}
