package profile

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// made returns a profile with these milliseconds of reads, writes, syncs,
// metadata and run time, each category in one call; a negative time is unknown.
func made(t *testing.T, millis ...int64) *Profile {
	t.Helper()
	ops := [NumCategories]format.Op{format.OpRead, format.OpWrite, format.OpFsync, format.OpClose}
	var events []format.Event
	for k, ms := range millis[:NumCategories] {
		if ms != 0 {
			e := ev(ops[k], 0, ms*1000, 0)
			if ms < 0 {
				e.Dur = format.Unknown
			}
			events = append(events, e)
		}
	}
	if end := millis[NumCategories]; end > 0 {
		events = append(events, ev(format.OpExitGroup, end*1000, 0, 0))
	}
	return read(t, events...)
}

func TestCompare(t *testing.T) {
	app := read(t, ev(format.OpRead, 0, 200, 100), ev(format.OpWrite, 500, 100, 10), ev(format.OpExitGroup, 1000, 0, 0))
	replay := read(t, ev(format.OpRead, 0, 150, 90), ev(format.OpRead, 200, 150, -5), ev(format.OpFsync, 600, 50, 0), ev(format.OpExitGroup, 900, 0, 0))
	c := Compare(app, replay)
	require.Equal(t, 1, c.Replays)
	require.InDelta(t, 10e-6, c.NoiseFloor, 1e-12)
	require.Len(t, c.Rows, 5)

	row := c.Rows[Reads]
	require.Equal(t, "read", row.Name)
	require.Equal(t, Measure{Seconds: new(200e-6), Calls: 1, Bytes: 100}, row.Application)
	require.Equal(t, Measure{Seconds: new(300e-6), Calls: 2, Errors: 1, Bytes: 90}, row.Replay)
	require.InDelta(t, 1.5, *row.Ratio, 1e-12)
	require.Nil(t, row.Range)
	// The application is done at 0.2 of its time; the replay has then spent
	// half and goes on at 0.222 to the end of its reads at 0.389.
	require.InDelta(t, 0.5, row.Distance.Max, 0.001)

	row = c.Rows[Writes]
	require.Equal(t, Measure{Seconds: new(0.0)}, row.Replay)
	require.Zero(t, *row.Ratio)
	require.Nil(t, row.Distance)

	row = c.Rows[Syncs]
	require.Zero(t, *row.Application.Seconds)
	require.Nil(t, row.Ratio, "a ratio to nothing is none")

	row = c.Rows[NumCategories]
	require.Equal(t, RunTimeRow, row.Name)
	require.Equal(t, Measure{Seconds: new(1e-3), Calls: 2, Bytes: 110}, row.Application)
	require.InDelta(t, 0.9, *row.Ratio, 1e-12)
}

func TestCompareSeveralReplays(t *testing.T) {
	app := made(t, 100, 0, 0, 0, 1000)
	c := Compare(app, made(t, 130, 0, 0, 0, 1300), made(t, 100, 0, 0, 0, 1000), made(t, 105, 0, 0, 0, 900))
	require.InDelta(t, 1.05, *c.Rows[Reads].Ratio, 1e-12)
	require.Equal(t, &Range{0.1, 0.13}, c.Rows[Reads].Range)
	require.InDelta(t, 1, *c.Rows[NumCategories].Ratio, 1e-12)
	require.True(t, c.Within(0.06))
	require.False(t, c.Within(0.04))

	c = Compare(app, made(t, 130, 0, 0, 0, 1300), made(t, 100, 0, 0, 0, 1000))
	require.InDelta(t, 1.15, *c.Rows[Reads].Ratio, 1e-12, "the median of two is their mean")
}

func TestJudge(t *testing.T) {
	app := []int64{500, 200, 0, 5, 1000}
	for _, test := range []struct {
		name                    string
		app, replay             []int64
		within                  bool
		outside, noise, unknown []string
	}{
		{"equal", app, app, true, nil, []string{"metadata"}, nil},
		{"just inside", app, []int64{550, 180, 0, 5, 1100}, true, nil, []string{"metadata"}, nil},
		{"just outside", app, []int64{551, 179, 0, 5, 1101}, false, []string{"read", "write", "run_time"}, []string{"metadata"}, nil},
		{"faster is as bad as slower", app, []int64{500, 200, 0, 5, 800}, false, []string{"run_time"}, []string{"metadata"}, nil},
		{"below the floor nothing counts", app, []int64{500, 200, 9, 1, 1000}, true, nil, []string{"sync", "metadata"}, nil},
		{"above the floor it does", app, []int64{500, 200, 10, 20, 1000}, false, []string{"sync", "metadata"}, nil, nil},
		{"vanished", app, []int64{500, 0, 0, 5, 1000}, false, []string{"write"}, []string{"metadata"}, nil},
		{"times unknown", app, []int64{-1, 200, 0, 5, 1000}, true, nil, []string{"metadata"}, []string{"read"}},
		{"run time unknown", app, []int64{-1, -1, 0, -1, 0}, false, nil, nil, []string{"read", "write", "metadata", "run_time"}},
		{"nothing", []int64{0, 0, 0, 0, 0}, []int64{0, 0, 0, 0, 0}, false, nil, nil, []string{"run_time"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Compare(made(t, test.app...), made(t, test.replay...))
			v := c.Judge(0.1)
			require.Equal(t, test.within, v.Within)
			require.Equal(t, test.within, c.Within(0.1))
			require.ElementsMatch(t, test.outside, v.Outside)
			require.ElementsMatch(t, test.noise, v.Noise)
			require.ElementsMatch(t, test.unknown, v.Unknown)
		})
	}
}

func TestCompareWithoutReplays(t *testing.T) {
	c := Compare(made(t, 1, 2, 3, 4, 10))
	require.False(t, c.Within(1))
	require.Len(t, c.Judge(1).Unknown, len(c.Rows))
}

func TestReports(t *testing.T) {
	app, other := read(t, application(1, 1)...), read(t, application(2, 1.1)...)
	unknown := read(t, ev(format.OpRead, 0, 9000, 4096), ev(format.OpClose, 9500, 0, -9),
		format.Event{Op: format.OpWrite, Start: 1e7, Dur: format.Unknown, Ret: 7})
	for name, write := range map[string]func(*bytes.Buffer) error{
		"compare.txt":     func(b *bytes.Buffer) error { return Compare(app, other).WriteText(b, 0.1) },
		"compare.json":    func(b *bytes.Buffer) error { return Compare(app, other).WriteJSON(b, 0.1) },
		"replays.txt":     func(b *bytes.Buffer) error { return Compare(app, app, other).WriteText(b, 0.07) },
		"replays.json":    func(b *bytes.Buffer) error { return Compare(app, app, other).WriteJSON(b, 0.07) },
		"unknown.txt":     func(b *bytes.Buffer) error { return Compare(unknown, unknown).WriteText(b, 0.1) },
		"unknown.json":    func(b *bytes.Buffer) error { return Compare(unknown, unknown).WriteJSON(b, 0.1) },
		"nothing.txt":     func(b *bytes.Buffer) error { return Compare(app).WriteText(b, 0.1) },
		"profile.txt":     func(b *bytes.Buffer) error { return unknown.WriteText(b) },
		"profile.json":    func(b *bytes.Buffer) error { return unknown.WriteJSON(b) },
		"application.txt": func(b *bytes.Buffer) error { return app.WriteText(b) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, write(&b))
			golden(t, name, b.Bytes())
		})
	}
}

func TestReportErrors(t *testing.T) {
	p := made(t, 1, 2, 3, 4, 10)
	c := Compare(p, p)
	require.ErrorIs(t, c.WriteText(brokenWriter{}, 0.1), os.ErrClosed)
	require.ErrorIs(t, c.WriteJSON(brokenWriter{}, 0.1), os.ErrClosed)
	require.ErrorIs(t, p.WriteText(brokenWriter{}), os.ErrClosed)
	require.ErrorIs(t, p.WriteJSON(brokenWriter{}), os.ErrClosed)
}

func TestUnitFormat(t *testing.T) {
	for _, test := range []struct {
		longest, seconds float64
		want             string
	}{
		{334, 35.8, "35.800 s"},
		{334, 0, "0.000 s"},
		{334, 0.0004, "<0.001 s"},
		{0.9, 0.0358, "35.800 ms"},
		{0.0005, 0.0000004, "0.400 µs"},
		{0, 0, "0.000 µs"},
	} {
		u := unitOf(test.longest)
		require.Equal(t, test.want, u.format(test.seconds)+" "+u.name)
	}
}
