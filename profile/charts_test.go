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

// Records leave out what is as in the one before, and counts that follow from the
// number of calls.
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

// The names of files in parts are bounded. Later names are among the others.
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

// A cell has the parts of its column, and names of calls stand there once.
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

// Names are bounded together. Where there is no room, another one takes their place.
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
