package page

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// Columns hold each call, and names of files are bounded.
func TestCalls(t *testing.T) {
	p := &profile.Profile{
		Files: []profile.File{{Name: "/a"}, {Name: string(make([]byte, maxText))}},
		Calls: &profile.Calls{Least: 7, From: 1, To: 99},
	}
	for len(p.Files)*maxText < 2*maxFileNames {
		p.Files = append(p.Files, profile.File{Name: string(append(make([]byte, maxText-2), byte(len(p.Files)), byte(len(p.Files)>>8)))})
	}
	p.Calls.List = []profile.Call{
		{TID: 3, Op: format.OpPread64, File: 0, Start: 10, Nanos: 8, Offset: 4096, Ret: 100, Gap: 4, Off: format.Off{Ready: 1, Own: 1, Storage: 2}},
		{TID: 4, Op: format.OpPread64, File: 0, Start: 30, Nanos: -1, Offset: 4196, Ret: -2, Waker: 3},
		{TID: 3, Op: format.OpExit, File: profile.PartNone, Start: 31, Nanos: 9, Offset: -1, Ret: format.NoResult, Request: true, Activity: 1},
	}
	for i := 1; i < len(p.Files); i++ {
		p.Calls.List = append(p.Calls.List, profile.Call{TID: 3, Op: format.OpRead, File: i, Start: 40, Offset: -1})
	}
	c := newCalls(p)
	require.Equal(t, []int64{7, 1, 99}, []int64{c.Least, c.From, c.To})
	require.Equal(t, "/a", c.Files[0])
	require.Less(t, len(c.Files), len(p.Files))
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
	require.Nil(t, newCalls(&profile.Profile{}))
}
