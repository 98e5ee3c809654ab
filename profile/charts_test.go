package profile

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// longName is the length of long names.
const longName = 4000

// Columns hold each call, and names of files are bounded.
func TestCallsDocument(t *testing.T) {
	p := &Profile{
		Files: []File{{Name: "/a"}, {Name: strings.Repeat("x", longName)}},
		Calls: &Calls{Least: 7, From: 1, To: 99},
	}
	for len(p.Files)*longName < 2*maxNames {
		p.Files = append(p.Files, File{Name: strings.Repeat("x", longName-6) + strconv.Itoa(len(p.Files))})
	}
	p.Calls.List = []Call{
		{TID: 3, Op: format.OpPread64, File: 0, Start: 10, Nanos: 8, Offset: 4096, Ret: 100, Gap: 4, Off: format.Off{Ready: 1, Own: 1, Storage: 2}},
		{TID: 4, Op: format.OpPread64, File: 0, Start: 30, Nanos: -1, Offset: 4196, Ret: -2, Waker: 3},
		{TID: 3, Op: format.OpExit, File: PartNone, Start: 31, Nanos: 9, Offset: -1, Ret: format.NoResult, Request: true, Activity: 1},
	}
	for i := 1; i < len(p.Files); i++ {
		p.Calls.List = append(p.Calls.List, Call{TID: 3, Op: format.OpRead, File: i, Start: 40, Offset: -1})
	}
	c := p.callsDocument()
	require.Equal(t, []float64{7e-9, 1e-9, 99e-9}, []float64{c.Least, c.From, c.To})
	require.Equal(t, "/a", c.Files.list[0])
	require.Less(t, len(c.Files.list), len(p.Files))
	require.Equal(t, map[int64]string{2: "ENOENT", noResult: "none"}, c.Errors)

	packed, err := base64.StdEncoding.DecodeString(c.Data)
	require.NoError(t, err)
	z, err := zlib.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	var columns [][]int64
	for range callColumns {
		var column []int64
		for range c.Count {
			v, n := binary.Varint(data)
			require.Positive(t, n)
			column, data = append(column, v), data[n:]
		}
		columns = append(columns, column)
	}
	require.Empty(t, data)
	row := func(i int) (row []int64) {
		for _, column := range columns {
			row = append(row, column[i])
		}
		return row
	}
	require.Equal(t, []int64{10, 8, 1, 1, 1, 0, 4096, 1, 100, 0, 4, 2, 0, 0, 2}, row(0))
	require.Equal(t, []int64{20, -1, 2, 1, 1, 0, 0, 1, -2, 3, 0, 0, 0, 0, 0}, row(1))
	require.Equal(t, []int64{1, 9, 1, 2, 0, ^int64(1), 0, 0, -noResult, 0, 0, 0, 0, 0, 0}, row(2))
	require.EqualValues(t, -1, row(c.Count - 1)[4], "its name has no room")
	require.Nil(t, new(Profile).callsDocument())
}

// Records leave out fields that equal those of the previous one, and counts that follow
// from the number of calls.
func TestPartRecords(t *testing.T) {
	part := func(file int, thread int32, op format.Op, piece int, calls int64, first int, durations ...int64) Part {
		return Part{File: file, Thread: thread, Op: op, Category: CategoryOf(op), Piece: piece, Calls: calls, Bytes: 40, Nanos: 100, First: first, Durations: durations}
	}
	got := (&Profile{
		Files: []File{{Name: "a"}, {Name: "b"}},
		Parts: Parts{Nanos: 1 << 14, List: []Part{
			part(PartNone, -1, format.OpSync, 0, 1, 2, 1),
			part(PartOthers, 7, format.OpRead, 0, 1, 0),
			part(1, 7, format.OpRead, 0, 3, 2, 3),
			part(1, 7, format.OpRead, 37, 3, 2, 1, 2),
			part(1, 8, format.OpRead, 37, 3, 2, 2),
		}},
	}).partsDocument()
	require.Equal(t, []string{"b"}, got.Files.list)
	require.Equal(t, []int32{7, 8}, got.Threads.list)
	require.Equal(t, []string{"sync", "read"}, got.Operations.list)
	require.Equal(t, "-.0.1.2.0.1.0.14.2s.2,0.1.2.0.0.1.0.14.2s.0.0,1...0.0.3.0.14.2s.2,...0.11.3.0.14.2s.2.1.2,.2..0.11.3.0.14.2s.2.2", got.Records)
}

// The names of files in parts are bounded. Later ones count as others.
func TestPartNames(t *testing.T) {
	p := &Profile{}
	for i := range 1000 {
		p.Files = append(p.Files, File{Name: strings.Repeat("x", 1000) + strconv.Itoa(i)})
		p.Parts.List = append(p.Parts.List, Part{File: i, Calls: 1})
	}
	got := p.partsDocument()
	require.InDelta(t, maxNames/1000, len(got.Files.list), 2)
	require.Contains(t, got.Records, ",0..")
}

// A cell has the parts of its column, and names of calls appear once.
func TestLanesDocument(t *testing.T) {
	cell := func(call string, nanos int64, parts ...int64) (c Cell) {
		copy(c.Doing[:], parts)
		if call != "" {
			c.Longest = Step{Name: call, File: "f", Nanos: nanos}
		}
		return c
	}
	got := (&Timeline{
		ColumnNanos: 1000,
		Lanes: []Lane{
			{TID: 7, First: 2, Command: "/bin/db --sync", Cells: []Cell{
				cell("read", 1_500_000, 500, 500), cell("read", 1_500_000, 500, 500), cell("", 0), cell("fsync", 20_000, 0, 0, 1), cell("", 0, 4000, 0, 4000),
			}},
			{TID: 8, Short: []SpanTimes{{300}, {300}, {}}},
		},
		Others: 3,
	}).document()
	require.Equal(t, []laneDocument{{"db 7", 7, 2, "aibi,,-,c1,aici", "1.15o,,-,2.k,-", ""}, {"thread 8", 8, 0, "", "", "ab,,-"}}, got.Lanes)
	require.Equal(t, []string{"read f", "fsync f"}, got.Calls.list)
	require.Equal(t, 3, got.Others)
}

// Names are bounded together. Beyond the bound a common name replaces them.
func TestNames(t *testing.T) {
	var calls names
	for i := range 1000 {
		calls.of("read "+strings.Repeat("x", 1000)+strconv.Itoa(i), "read")
	}
	require.LessOrEqual(t, calls.bytes, maxNames)
	require.Equal(t, "read", calls.list[len(calls.list)-1])
	require.Equal(t, len(calls.list), calls.of("read "+strings.Repeat("y", maxNames), "read"))
	require.Zero(t, calls.of(strings.Repeat("z", 1000), ""))
}

// A curve has a point at the end of each column and at the run time, of a bounded number.
func TestCurvesDocument(t *testing.T) {
	for _, points := range []int64{1, 2, maxCurvePoints - 1, maxCurvePoints, maxCurvePoints + 1, numBins} {
		c := Curve{{}}
		for i := range points - 1 {
			c = append(c, Point{(i + 1) * 1000, (i + 1) * 10})
		}
		c = append(c, Point{points*1000 - 500, points * 10})
		d := (&Profile{Curves: [NumCategories]Curve{Writes: c}}).curvesDocument()
		require.Len(t, d.Lines, 1)
		got := d.Lines[0].Seconds
		require.LessOrEqual(t, len(got), maxCurvePoints+1)
		require.Equal(t, format.Seconds(points*10), got[len(got)-1])
		for i, v := range got[:len(got)-1] {
			require.InDelta(t, float64(i)*d.Column/100, v, 1e-12) // a hundredth of the time at each point
		}
		require.GreaterOrEqual(t, float64(len(got)-1)*d.Column, format.Seconds(c[len(c)-1].Elapsed), "the last column reaches the run time")
	}
	require.Empty(t, new(Profile).curvesDocument().Lines)
}

// Merged intervals have the calls, the bytes and the times of their parts.
func TestMergedIntervals(t *testing.T) {
	v := &Intervals{Nanos: 2, Tails: true}
	for i := range int64(7) {
		s := Span{Start: 2 * i, Files: []int{1}}
		s.Categories[Reads] = Total{Calls: i, Bytes: 10 * i, Nanos: 1, Flight: 3}
		v.List = append(v.List, s)
	}
	for _, c := range []struct {
		most  int
		nanos int64
		calls []int64
	}{
		{7, 2, []int64{0, 1, 2, 3, 4, 5, 6}},
		{6, 4, []int64{1, 5, 9, 6}},
		{3, 6, []int64{3, 12, 6}},
		{1, 14, []int64{21}},
	} {
		got := v.merged(c.most)
		require.Equal(t, c.nanos, got.Nanos)
		require.False(t, got.Tails)
		var calls []int64
		var all Total
		for i, s := range got.List {
			require.Equal(t, int64(i)*c.nanos, s.Start)
			require.Empty(t, s.Files)
			calls = append(calls, s.Categories[Reads].Calls)
			all.add(&s.Categories[Reads])
		}
		require.Equal(t, c.calls, calls)
		require.Equal(t, Total{Calls: 21, Bytes: 210, Nanos: 7, Flight: 21}, all)
	}
	require.Empty(t, new(Intervals).merged(3).List)
}
