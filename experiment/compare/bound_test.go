package compare

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// replayOf returns a replay that takes so many milliseconds, with a floor in nanoseconds.
func replayOf(t *testing.T, ms int64, floor format.Floor) *profile.Profile {
	p := made(t, 1, 0, 0, 0, ms)
	p.Floor = &floor
	return p
}

// A replay that is as long as its floor says nothing about storage, and the answer begins
// with that.
func TestBound(t *testing.T) {
	app := []*profile.Profile{made(t, 1, 0, 0, 0, 2000)}
	waits := format.Floor{Total: 1_760e6, Timers: 1_000e6, Clients: 700e6}
	fast, slow := []*profile.Profile{replayOf(t, 1776, waits)}, []*profile.Profile{replayOf(t, 1777, waits)}
	computes := []*profile.Profile{replayOf(t, 1000, format.Floor{Total: 950e6, Waits: 1})}
	for _, test := range []struct {
		name         string
		app, replays []*profile.Profile
		names        [2]string
		want         string
	}{
		{"a replay", app, fast, DefaultNames, "timers and clients that were not recorded bind the replay (1.760 s of its 1.776 s), so its run time does not show how fast the storage is; the replay takes 11.2 % less time than the application, one run of each: not judged"},
		{"two storages", fast, slow, [2]string{"tmpfs", "hdd"}, "timers and clients that were not recorded bind tmpfs (1.760 s of its 1.776 s) and hdd (1.760 s of its 1.777 s), so the run times do not show how fast the storage is; hdd takes 0.1 % longer than tmpfs, one run of each"},
		{"compute", app, computes, DefaultNames, "compute binds the replay (0.950 s of its 1.000 s), so its run time does not show how fast the storage is; the replay takes 50.0 % less time than the application, one run of each: outside 10 % in run time"},
		{"a schedule", app, []*profile.Profile{replayOf(t, 1998, format.Floor{Total: 1990e6, Of: format.FloorOfSchedule})}, DefaultNames, "the recorded schedule binds the replay (1.990 s of its 1.998 s), so its run time does not show how fast the storage is; the replay takes 0.1 % less time than the application, one run of each: not judged"},
		{"processors", app, []*profile.Profile{replayOf(t, 1998, format.Floor{Total: 1990e6, Of: format.FloorOfProcessors})}, DefaultNames, "the processors of the server bind the replay (1.990 s of its 1.998 s), so its run time does not show how fast the storage is; the replay takes 0.1 % less time than the application, one run of each: within 10 %"},
		{"later than its schedule", app, []*profile.Profile{replayOf(t, 4000, format.Floor{Total: 1990e6, Of: format.FloorOfSchedule})}, DefaultNames, "the replay takes"},
		{"longer than the floor", app, []*profile.Profile{replayOf(t, 1000, format.Floor{Total: 949e6})}, DefaultNames, "the replay takes"},
		{"unknown floor", app, app, DefaultNames, "the replay takes"},
		{"an empty run", app, []*profile.Profile{replayOf(t, 10, format.Floor{})}, DefaultNames, "the replay takes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Profiles(test.app, test.replays)
			c.Names = test.names
			v := c.Judge(0.1)
			require.Regexp(t, "^"+regexp.QuoteMeta(test.want), c.Answer(&v))
			require.Equal(t, c.Answer(&v), c.Document(0.1).(*comparisonDocument).Answer)
			require.Len(t, c.Document(0.1).(*comparisonDocument).Bounds, len(c.Bounds()))
		})
	}
}

// A replay whose calls fail does not do the application's work, and its time says nothing.
func TestFailingReplay(t *testing.T) {
	app, replay := made(t, 1, 0, 0, 0, 2000), made(t, 1, 0, 0, 0, 1950)
	app.Categories[profile.Syncs] = profile.Total{Calls: 1000, Errors: 5}
	for _, test := range []struct {
		errors int64
		want   string
	}{
		{14, ""},
		{644, "64.4 % of the sync calls failed in the replay, and 0.5 % in the application"},
	} {
		replay.Categories[profile.Syncs] = profile.Total{Calls: 1000, Errors: test.errors}
		c := Profiles([]*profile.Profile{app}, []*profile.Profile{replay})
		v := c.Judge(0.1)
		require.Equal(t, test.want, v.Withheld)
		c.Names = [2]string{"before", "after"} // each side is an application
		require.Empty(t, c.withholding())
	}
}

// Group commits are remarked on. Where fewer syncs would make the replay much shorter, the
// remark says by how much.
func TestGroupCommitRemark(t *testing.T) {
	app := []*profile.Profile{made(t, 1, 0, 0, 0, 2000)}
	for _, test := range []struct {
		syncs int64 // milliseconds in two calls
		want  string
	}{
		{600, "group commit: 4 threads made 8 commits with 4 syncs, and may need only 2 on slower storage: the replay would take between 0.400 and 1.000 s"},
		{40, "group commit: 4 threads made 8 commits with 4 syncs; on other storage the groups differ"},
		{0, ""},
	} {
		p := made(t, 1, 0, test.syncs, 0, 1000)
		p.Grouping = &format.Grouping{Threads: 4, Commits: 8, Groups: 4}
		if test.syncs > 0 {
			p.Categories[profile.Syncs].Calls = 2
		}
		c := Profiles(app, []*profile.Profile{p})
		v := c.Judge(0.1)
		if test.want == "" {
			require.Empty(t, c.grouping())
			continue
		}
		require.Contains(t, c.Remarks(&v), test.want)
	}
}

// Reads of unknown state are warned of from a twentieth of the bytes on.
func TestUncachedRemark(t *testing.T) {
	read := func(unknown int64) *Comparison {
		p := made(t, 1, 0, 0, 0, 1000)
		p.Categories[profile.Reads].Bytes = 100_000
		p.Coverage.Uncached.Files, p.Coverage.Uncached.Bytes = 1, unknown
		return Profiles([]*profile.Profile{p}, []*profile.Profile{p})
	}
	const want = "warning: the recording does not tell whether 98.0 kB of the 100 kB read were in the page cache: replays with --cache cold and --cache warm show the difference"
	c := read(98_000)
	v := c.Judge(0.1)
	require.Contains(t, c.Remarks(&v), want)
	require.Empty(t, read(4_900).uncached())

	// The other side can be the one that tells, and the one that ended early.
	whole, ended := made(t, 1, 0, 0, 0, 1000), made(t, 1, 0, 0, 0, 1000)
	whole.Coverage.Known, ended.Coverage.Known, ended.Coverage.Ended = true, true, "why"
	whole.Coverage.Uncached.Bytes = 7
	c = Profiles([]*profile.Profile{whole}, []*profile.Profile{ended})
	require.Equal(t, "why", c.Coverage.Ended)
	require.EqualValues(t, 7, c.Coverage.Uncached.Bytes)
	require.Empty(t, read(0).uncached())
}
