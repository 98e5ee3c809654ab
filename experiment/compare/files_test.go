package compare

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile"
)

// touched returns a profile with a call on each file, of so many milliseconds.
func touched(t *testing.T, millis map[string]int64) *profile.Profile {
	t.Helper()
	var events []format.Event
	for name, ms := range millis {
		e := testkit.Event(format.OpUnlink, 0, ms*1000, 0)
		e.Str[0] = []byte(name)
		events = append(events, e)
	}
	return read(t, events...)
}

func TestFilesThatDifferMostComeFirst(t *testing.T) {
	app := touched(t, map[string]int64{"a": 10, "b": 20, "c": 30, "gone": 4})
	replay := touched(t, map[string]int64{"a": 13, "b": 15, "c": 30, "new": 1})
	rows := compare(app, replay).Files
	var got []string
	for _, r := range rows {
		require.Nil(t, r.Interval)
		require.Empty(t, r.Finding)
		got = append(got, fmt.Sprintf("%s %.0f", r.Name, r.difference()*1000))
	}
	require.Equal(t, []string{"b -5", "gone -4", "a 3", "new 1", "c 0"}, got)
	require.InDelta(t, 0.75, *rows[0].Ratio, 1e-12)
	require.Equal(t, profile.Measure{Seconds: new(0.0)}, rows[1].Replay, "a file that is missing counts as zero")
	require.Zero(t, *rows[1].Ratio)
	require.Nil(t, rows[3].Ratio, "a ratio to nothing is none")
}

func TestFilesAreMediansOfAllRuns(t *testing.T) {
	app := touched(t, map[string]int64{"a": 10})
	c := compare(app, touched(t, map[string]int64{"a": 12, "b": 3}), touched(t, map[string]int64{"a": 16}), touched(t, map[string]int64{"a": 40}))
	require.Len(t, c.Files, 2)
	require.InDelta(t, 1.6, *c.Files[0].Ratio, 1e-12)
	require.Zero(t, *c.Files[1].Replay.Seconds, "most runs don't have it")
}

func TestFilesAreBounded(t *testing.T) {
	many := map[string]int64{}
	for i := range int64(100) {
		many[fmt.Sprint("f", i)] = i + 1
	}
	c := compare(touched(t, many), touched(t, map[string]int64{"f0": 1}))
	require.Len(t, c.Files, keptFiles)
	require.Equal(t, "f99", c.Files[0].Name)
	require.Empty(t, compare(touched(t, many)).Files)
}

func TestPaired(t *testing.T) {
	const note = "few files have the same name on both sides"
	app := touched(t, map[string]int64{"a": 10, "x": 30})
	for _, test := range []struct {
		replay map[string]int64
		want   float64
		noted  bool
	}{
		{map[string]int64{"a": 10, "x": 30}, 1, false},
		{map[string]int64{"a": 40}, 50. / 80, false},
		{map[string]int64{"a": 20, "y": 20}, 30. / 80, true},
		{map[string]int64{"b": 40}, 0, true},
	} {
		c := compare(app, touched(t, test.replay))
		require.InDelta(t, test.want, *c.Paired, 1e-12)
		var b bytes.Buffer
		require.NoError(t, c.WriteText(&b, TextOptions{Tolerance: 0.1, All: true}))
		require.Equal(t, test.noted, strings.Contains(b.String(), note))
	}
	none := touched(t, nil)
	require.Nil(t, compare(none, none).Paired)
	var b bytes.Buffer
	require.NoError(t, compare(none, none).WriteText(&b, TextOptions{Tolerance: 0.1, All: true}))
	require.NotContains(t, b.String(), "files")
}

// Names are bytes: text shows what is hidden, JSON and CSV hold what can be had back.
func TestFilesOfAnyName(t *testing.T) {
	c := compare(touched(t, map[string]int64{"/w/db\xfe": 10}), touched(t, map[string]int64{"/w/db\xfe": 20}))
	var text, doc, table bytes.Buffer
	require.NoError(t, c.WriteText(&text, TextOptions{Tolerance: 0.1, All: true}))
	require.Contains(t, text.String(), "\n\"/w/db\\376\"  ")
	doc.Write(testkit.JSON(t, c.Document(0.1)))
	require.Contains(t, doc.String(), `"name": "/w/db\\xfe"`)
	require.NoError(t, c.WriteCSV(&table))
	require.Contains(t, table.String(), "\nfile,/w/db\\xfe,0.01,0.02,2,,,,1,1,0,0,0,0,")
}

// An operation that replays never perform differs in every comparison: it is the last
// row, and the text leaves it out.
func TestOperationsThatAreNoIOComeLast(t *testing.T) {
	app := read(t, testkit.Event(format.OpWait4, 0, 9000, 2), testkit.Event(format.OpRead, 9000, 10, 1))
	c := compare(app, read(t, testkit.Event(format.OpWait4, 0, 1, 2), testkit.Event(format.OpRead, 9000, 20, 1)))
	require.Len(t, c.Operations, 2)
	require.Equal(t, "read", c.Operations[0].Category)
	require.Equal(t, "wait4", c.Operations[1].Name)
	require.Empty(t, c.Operations[1].Category)
	var b bytes.Buffer
	require.NoError(t, c.WriteText(&b, TextOptions{Tolerance: 0.1, All: true}))
	require.NotContains(t, b.String(), "wait4")
}

// A side that tells no files, as a baseline, has not lost those of the other one.
func TestFilesOfOneSideOnly(t *testing.T) {
	told := touched(t, map[string]int64{"a": 10})
	untold := *told
	untold.Files = nil
	for _, c := range []*Comparison{compare(&untold, told), compare(told, &untold)} {
		require.Empty(t, c.Files)
		require.Nil(t, c.Paired)
	}
}
