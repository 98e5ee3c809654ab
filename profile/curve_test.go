package profile

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// checkCurve checks what every curve promises.
func checkCurve(t *testing.T, p *Profile, k Category) {
	t.Helper()
	c, total := p.Curves[k], p.Categories[k].Nanos
	if total == 0 {
		require.Empty(t, c)
		return
	}
	require.Equal(t, Point{}, c[0])
	require.Equal(t, Point{p.RunTime, total}, c[len(c)-1])
	require.LessOrEqual(t, len(c), numBins+2)
	for i := range c[1:] {
		// A plain test, for the fuzzer gets here often.
		if a, b := c[i], c[i+1]; a.Elapsed >= b.Elapsed || a.Spent > b.Spent {
			t.Fatalf("%v: %v is followed by %v", k, a, b)
		}
	}
}

// spent adds up, event by event, the time spent in reads until t.
func spent(events []format.Event, t int64) (sum int64) {
	for _, e := range events {
		sum += min(max(t-e.Start, 0), e.Dur)
	}
	return sum
}

func TestCurvePointsAreExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, span := range []int64{1, 100, 5000, 1e6, 1e15} {
		var events []format.Event
		for range 200 {
			// Threads overlap, and some calls are long.
			events = append(events, format.Event{Op: format.OpRead, Start: rnd.Int64N(span), Dur: rnd.Int64N(1 + rnd.Int64N(span))})
		}
		p := read(t, events...)
		checkCurve(t, p, Reads)
		for i, point := range p.Curves[Reads] {
			require.Equal(t, spent(events, point.Elapsed), point.Spent, "span %d, point %d", span, i)
		}
	}
}

func TestCurveResolution(t *testing.T) {
	p := read(t, testkit.Application(1, 1)...)
	for k := range NumCalls {
		checkCurve(t, p, k)
		c := p.Curves[k]
		require.Greater(t, len(c), numBins/2)
		for i := range c[1:] {
			require.LessOrEqual(t, c[i+1].Elapsed-c[i].Elapsed, p.RunTime/2048)
		}
	}
}

func TestCurveOfOneLongCallIsStraight(t *testing.T) {
	p := read(t, format.Event{Op: format.OpFsync, Dur: 1e9})
	for _, point := range p.Curves[Syncs] {
		require.Equal(t, point.Elapsed, point.Spent)
	}
}

func TestThin(t *testing.T) {
	c := read(t, testkit.Application(1, 1)...).Curves[Writes]
	for _, n := range []int{3, 4, 10, 1000, len(c) - 1} {
		got := thin(c, n)
		require.Len(t, got, n)
		require.Equal(t, c[0], got[0])
		require.Equal(t, c[len(c)-1], got[n-1])
		require.Subset(t, c, got)
		for i := range got[1:] {
			require.Less(t, got[i].Elapsed, got[i+1].Elapsed)
			require.LessOrEqual(t, got[i].Spent, got[i+1].Spent)
		}
	}
	require.Equal(t, c, thin(c, len(c)))
}

func TestThinKeepsCorners(t *testing.T) {
	// One step among 200 points. Its two corners lie in one group, which
	// keeps the one that sticks out further.
	var c Curve
	for i := range int64(200) {
		p := Point{Elapsed: i}
		if i > 91 {
			p.Spent = 50
		}
		c = append(c, p)
	}
	got := thin(c, 12)
	require.Contains(t, got, Point{92, 50})
}
