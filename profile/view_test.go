package profile

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// viewed is a profile that has something of everything.
func viewed(t *testing.T) *Profile {
	c := Collector{Interval: 100e3}
	require.NoError(t, c.Write([]format.Event{
		on(format.OpOpenat, 1, 0, 5, 3, "/w/data\xff\n", format.AtFDCWD),
		on(format.OpRead, 1, 10, 20, 4096, "", 3, 0, 4096),
		on(format.OpRead, 1, 40, 30, 4096, "", 3, 0, 4096),
		on(format.OpClone, 1, 75, 5, 2, "", format.CloneThread|format.CloneFiles),
		on(format.OpOpenat, 2, 90, 5, 4, `/w/o\ut`, format.AtFDCWD),
		on(format.OpWrite, 2, 100, 150, 512, "", 4, 0, 512),
		on(format.OpWrite, 2, 260, 10, 100, "", 4, 0, 100),
		on(format.OpRead, 1, 120, 100, 0, "", 3, 0, 4096),
		on(format.OpFsync, 2, 300, 500, 0, "", 4),
		{Op: format.OpStat, TID: 1, Start: 810e3, Dur: format.Unknown, Ret: -2, Str: [2][]byte{[]byte("/etc/none")}},
		on(format.OpExitGroup, 1, 820, 0, format.NoResult, ""),
	}))
	return c.Profile()
}

func TestViews(t *testing.T) {
	p := viewed(t)
	var text, csv bytes.Buffer
	for _, name := range Views() {
		table, err := p.Table(name)
		require.NoError(t, err)
		text.WriteString("by " + name + "\n")
		require.NoError(t, table.WriteText(&text, TextOptions{Wide: true}))
		csv.WriteString("by " + name + "\n")
		require.NoError(t, table.WriteCSV(&csv))
	}
	testkit.Golden(t, "views.txt", text.Bytes())
	testkit.Golden(t, "views.csv", csv.Bytes())
	var b bytes.Buffer
	require.NoError(t, p.WriteText(&b, TextOptions{All: true, Wide: true}))
	testkit.Golden(t, "view.txt", b.Bytes())
	b.Reset()
	testkit.Golden(t, "view.json", testkit.JSON(t, p.FullDocument(Sums)))
	require.NoError(t, p.WriteBenchstat(&b, ""))
	testkit.Golden(t, "view.benchstat", b.Bytes())
}

// Tables fit a terminal, however long names are, and say what they leave out. The column
// that the rows are sorted by stays.
func TestTablesFit(t *testing.T) {
	var events []format.Event
	for i := range int64(200) {
		name := fmt.Sprintf("/%s/%d", strings.Repeat("a directory ", 12), i)
		events = append(events, on(format.OpOpenat, 1, 10*i, 1, 3, name, format.AtFDCWD), on(format.OpRead, int32(1+i%7), 10*i+2, 3, 123_456_789, "", 3, 0, 1<<40),
			on(format.OpWrite, 1, 10*i+6, 2, 1_000_000+i, "", 3, 0, 1<<40), on(format.OpFsync, 1, 10*i+8, 1, 0, "", 3), on(format.OpClose, 1, 10*i+9, 1, 0, "", 3))
	}
	p := readWith(t, format.Header{}, events...)
	for _, name := range Views() {
		for _, key := range []string{"", "last_seconds"} {
			table, err := p.Table(name)
			require.NoError(t, err)
			if key != "" && table.Sort(key) != nil {
				continue
			}
			var narrow, wide strings.Builder
			require.NoError(t, table.WriteText(&narrow, TextOptions{}))
			require.NoError(t, table.WriteText(&wide, TextOptions{Wide: true}))
			requireFits(t, narrow.String())
			if longestLine(wide.String()) <= 100 {
				require.Equal(t, wide.String(), narrow.String())
			}
			if key != "" && len(table.rows) > 0 {
				require.Regexp(t, `^.* last (s|ms|µs)`, narrow.String())
			}
		}
	}
	var b strings.Builder
	require.NoError(t, p.WriteText(&b, TextOptions{All: true}))
	requireFits(t, b.String())
}

func longestLine(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return n
}

func requireFits(t *testing.T, text string) {
	t.Helper()
	require.LessOrEqual(t, longestLine(text), 100, "%s", text)
}

func TestCallsWithoutDuration(t *testing.T) {
	exit := format.Event{Op: format.OpExitGroup, Dur: format.Unknown, Ret: format.NoResult}
	read1 := format.Event{Op: format.OpRead, Dur: format.Unknown, Ret: 1}
	for _, test := range []struct {
		events []format.Event
		says   bool
	}{{[]format.Event{exit}, false}, {[]format.Event{read1, exit}, true}} {
		var b bytes.Buffer
		require.NoError(t, read(t, test.events...).WriteText(&b, TextOptions{}))
		require.Equal(t, test.says, strings.Contains(b.String(), "calls without a duration, which are not in the times: 1\n"))
	}
}

func TestSort(t *testing.T) {
	p := viewed(t)
	for _, test := range []struct{ view, key, first, last string }{
		{"file", "name", "(no file)", "/w/o\\ut"},
		{"file", "time", "/w/o\\ut", "/etc/none"},
		{"file", "reads", "/w/data\xff\n", "(no file)"},
		{"file", "write_sizes", "/w/o\\ut", "(no file)"},
		{"file", "sequential_reads", "/w/data\xff\n", "(no file)"},
		{"operation", "calls", "read", "exit_group"},
	} {
		table, err := p.Table(test.view)
		require.NoError(t, err)
		require.NoError(t, table.Sort(test.key))
		require.Equal(t, test.first, table.rows[0][0].s, test.key)
		require.Equal(t, test.last, table.rows[len(table.rows)-1][0].s, test.key)
	}
	table, err := p.Table("size")
	require.NoError(t, err)
	require.EqualError(t, table.Sort("name"), `no column "name": want one of from, below, reads, bytes_read, read_seconds, writes, bytes_written, write_seconds`)
	require.Equal(t, 14, table.Cut(1))
	require.Len(t, table.rows, 1)
	_, err = p.Table("colour")
	require.EqualError(t, err, `no table by "colour": want one of file, operation, process, thread, directory, size, error, rank, node, shared, interval, request-kind, layer, span`)
}

func TestReports(t *testing.T) {
	app := read(t, testkit.Application(1, 1)...)
	unknown := read(t, testkit.Event(format.OpRead, 0, 9000, 4096), testkit.Event(format.OpClose, 9500, 0, -9),
		format.Event{Op: format.OpWrite, Start: 1e7, Dur: format.Unknown, Ret: 7})
	testkit.Golden(t, "profile.json", testkit.JSON(t, unknown.FullDocument(Sums)))
	for name, p := range map[string]*Profile{"profile.txt": unknown, "application.txt": app} {
		var b bytes.Buffer
		require.NoError(t, p.WriteText(&b, TextOptions{}))
		testkit.Golden(t, name, b.Bytes())
	}
	require.ErrorIs(t, app.WriteText(testkit.Broken{}, TextOptions{All: true, Wide: true}), os.ErrClosed)
	require.ErrorIs(t, app.WriteBenchstat(testkit.Broken{}, ""), os.ErrClosed)
}

// The intervals of a trace have the commits of its threads, and the groups that they formed.
func TestCommitsByInterval(t *testing.T) {
	c := Collector{Interval: 100e3}
	edges := func(e format.Event, kinds ...format.EdgeKind) format.Event {
		for _, k := range kinds {
			e.Edges = append(e.Edges, format.Edge{Thread: 2, Kind: k})
		}
		return e
	}
	require.NoError(t, c.Write([]format.Event{
		on(format.OpOpenat, 1, 0, 5, 3, "/w/log", format.AtFDCWD),
		edges(on(format.OpWrite, 1, 10, 20, 100, "", 3, 0, 100), format.EdgeWake, format.EdgeLead),
		on(format.OpFsync, 1, 40, 10, 0, "", 3),
		edges(on(format.OpWrite, 1, 250, 20, 100, "", 3, 0, 100), format.EdgeJoin, format.EdgeJoin, format.EdgeLead),
		on(format.OpFsync, 1, 280, 10, 0, "", 3),
	}))
	p := c.Profile()
	var got [][2]int64
	for _, v := range p.Intervals.List {
		got = append(got, [2]int64{v.Commits, v.Groups})
	}
	require.Equal(t, [][2]int64{{1, 1}, {0, 0}, {3, 1}}, got)
	require.Equal(t, int64(4), p.Intervals.merged(1).List[0].Commits)
	table, err := p.Table("interval")
	require.NoError(t, err)
	var csv bytes.Buffer
	require.NoError(t, table.WriteCSV(&csv))
	require.Contains(t, csv.String(), "start_seconds,commits,commit_groups,")
}
