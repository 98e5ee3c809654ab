package profile

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// sum adds up the parts that a filter lets through.
func (ps *Parts) sum(keep func(p *Part) bool) (t Total) {
	for i := range ps.List {
		if p := &ps.List[i]; keep(p) {
			t.add(&Total{Calls: p.Calls, Errors: p.Errors, Bytes: p.Bytes, Nanos: p.Nanos})
		}
	}
	return t
}

// unlinkOn returns a call of a thread on a file by name.
func unlinkOn(name string, tid int32, micro, micros, ret int64) format.Event {
	e := testkit.Event(format.OpUnlink, micro, micros, ret)
	e.TID, e.Str[0] = tid, []byte(name)
	return e
}

func TestParts(t *testing.T) {
	p := read(t,
		unlinkOn("/a", 1, 0, 1, 0),
		unlinkOn("/a", 1, 2, 1, 0),
		unlinkOn("/a", 2, 4, 100, -2),
		unlinkOn("/b", 1, 1000, 3, 0),
		testkit.Event(format.OpSync, 2000, 5, 0),
	)
	require.EqualValues(t, 1<<14, p.Parts.Nanos)
	var got []string
	for _, part := range p.Parts.List {
		file := ""
		if part.File >= 0 {
			file = p.Files[part.File].Name
		}
		got = append(got, fmt.Sprintf("%s %d %s piece %d: %d calls, %d errors, %d ns, %v from %d ns", file, part.Thread, part.Op, part.Piece,
			part.Calls, part.Errors, part.Nanos, part.Durations, DurationFrom(part.First)))
	}
	require.ElementsMatch(t, []string{
		"/a 1 unlink piece 0: 2 calls, 0 errors, 2000 ns, [2] from 512 ns",
		"/a 2 unlink piece 0: 1 calls, 1 errors, 100000 ns, [1] from 65536 ns",
		"/b 1 unlink piece 61: 1 calls, 0 errors, 3000 ns, [1] from 2048 ns",
		" 1 sync piece 122: 1 calls, 0 errors, 5000 ns, [1] from 4096 ns",
	}, got)
}

// Whatever was recorded, parts are bounded, all of them together are all calls, and
// what took the most time is told apart.
func TestPartsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name                  string
		files, threads, calls int
		step                  int64 // microseconds between two calls
	}{
		{"files", 40_000, 2, 80_000, 3},
		{"threads", 5, 12_000, 30_000, 3},
		{"both", 9_000, 9_000, 30_000, 3},
		{"time", 40, 8, 100_000, 700},
		{"more than are told apart", 70_000, 20_000, 75_000, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			col := &Collector{}
			now := int64(0)
			for i := range c.calls {
				now += c.step
				e := unlinkOn(fmt.Sprintf("/d/%d", i*7919%c.files), int32(1+i%c.threads), now, 2, 0)
				if i%4 == 0 {
					e = unlinkOn("/busy", 1, now, 2, -2)
				}
				require.NoError(t, col.Write([]format.Event{e}))
			}
			p := col.Profile()
			require.LessOrEqual(t, len(p.Parts.List), maxParts)
			require.Greater(t, len(p.Parts.List), maxParts/100)
			all := p.Parts.sum(func(*Part) bool { return true })
			require.Equal(t, p.All, all)
			busy := p.Parts.sum(func(part *Part) bool { return part.File >= 0 && p.Files[part.File].Name == "/busy" })
			require.Greater(t, busy.Calls, int64(c.calls/4*9/10))
			last := p.Parts.List[0].Piece
			for _, part := range p.Parts.List {
				last = max(last, part.Piece)
			}
			require.GreaterOrEqual(t, last, fewPieces/2-1)
		})
	}
}

func TestDurationClasses(t *testing.T) {
	for _, nanos := range []int64{0, 1, 255, 256, 511, 512, 1e6, 1e9, maxTime} {
		k := durationClass(nanos)
		require.LessOrEqual(t, DurationFrom(k), nanos)
		if k < NumDurations-1 {
			require.Greater(t, DurationFrom(k+1), nanos)
		}
	}
}
