package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// What is recognised and then broken says where.
func TestRequestErrors(t *testing.T) {
	const (
		dxt   = "# DXT, file_id: 1, file_name: /a\n"
		event = `{"name":"read","cat":"POSIX","pid":1,"tid":1,"ts":5,"dur":1,"ph":"X","args":{"fname":"/a"`
	)
	for _, tt := range []struct{ content, want string }{
		{"# DXT, file_id: 1\n", "f:1: expected # DXT, file_id: NUMBER, file_name: NAME"},
		{"# DXT, rank: 0\n X_POSIX 0 write 0 0 10 0.1 0.2\n", "f:2: a segment before the first # DXT, file_id: line"},
		{dxt + " X_POSIX 0 trim 0 0 10 0.1 0.2\n", "f:2: malformed segment, expected X_POSIX RANK write|read NUMBER OFFSET LENGTH START END"},
		{dxt + " X_POSIX 0 read 0 0 10 0.3 0.2\n", "f:2: malformed time, expected the start and the end in seconds"},
		{dxt + " X_POSIX 0 read 0 0\n", "f:2: malformed segment, expected X_POSIX RANK write|read NUMBER OFFSET LENGTH START END"},
		{dxt + "X_STDIO 1\n", "f:2: expected a segment of X_POSIX or X_MPIIO"},
		{dxt + " X_POSIX 0 read 0 0 10 0.1 0.2", "f:2: cut off in mid-line: no newline after the last line, so its number may be truncated"},
		{event + ",\"count\":1}}\n{\"name\":\"x\n", "f:2: not an event: expected {\"name\":…,\"ph\":…} on one line"},
		{event + "}}\n", "f:1: a transfer without a count"},
		{strings.Replace(event, `"ts":5`, `"ts":-5`, 1) + "}}\n", "f:1: expected ts and dur in microseconds"},
		{strings.Replace(event, `"read"`, `"pread"`, 1) + `,"count":5}}` + "\n", "f:1: pread without an offset"},
		{strings.Replace(event, `"read"`, `"ftruncate"`, 1) + `}}` + "\n", "f:1: ftruncate without a length"},
		{event + `,"count":9223372036854775807}}` + "\n", "f:1: a transfer without a count"},
		{event + `,"count":5}}` + "\n" + `{"name":"FH","cat":"dftracer","ph":"M","args":{}}` + "\n", "f:2: expected the name of a file and its value"},
		{"8,0 3 1 0.0 697 D W 1 + 8 [x]\nnonsense\n", "f:2: malformed line of blkparse, expected MAJOR,MINOR CPU NUMBER SECONDS PID ACTION KIND SECTOR + SECTORS"},
		{"0,R,1,2,3\n0,R,1,x,3\n", "f:2: malformed column 4 of a line of the Alibaba block trace"},
		{"0,R,1,2,3\n0,R,1,2\n", "f:2: malformed column 4 of a line of the Alibaba block trace"},
		{"0,R,1,2,3\n0,R,1,2,3,4\n", "f:2: malformed column 5 of a line of the Alibaba block trace"},
		{"0,R,1,2,3\n0,R,4611686018427387904,1,3\n", "f:2: malformed column 5 of a line of the Alibaba block trace"},
	} {
		_, _, _, err := read(Options{}, text("f", tt.content))
		require.EqualError(t, err, tt.want, "%.80q", tt.content)
		var syntax *script.SyntaxError
		require.ErrorAs(t, err, &syntax)
	}
}

// Offsets beyond a volume of that size go on from its beginning, and a request never
// reaches over its end.
func TestFold(t *testing.T) {
	for _, tt := range []struct{ offset, length, wantOffset, wantLength int64 }{
		{0, 100, 0, 100}, {1000, 100, 0, 100}, {2500, 100, 500, 100}, {950, 100, 900, 100}, {500, 5000, 0, 1000},
	} {
		line := fmt.Sprintf("0,R,%d,%d,3\n", tt.offset, tt.length)
		_, _, events, err := read(Options{Fold: 1000}, text("f", line))
		require.NoError(t, err)
		e := events[1]
		require.Equal(t, tt.wantOffset, e.Args[3], line)
		require.Equal(t, tt.wantLength, e.Args[2], line)
	}
}

// Requests of a group that overlap are of different threads, as few as can be.
func TestLanes(t *testing.T) {
	tr := newTracks()
	var got []int32
	for _, r := range [][2]int64{{0, 10}, {5, 8}, {8, 9}, {9, 20}, {10, 12}, {11, 12}} {
		tid, err := tr.lane([]byte("a"), r[0], r[1])
		require.NoError(t, err)
		got = append(got, tid)
	}
	require.Equal(t, []int32{1, 2, 2, 2, 1, 3}, got)
	for i := range int64(2 * maxLanes) {
		_, err := tr.lane([]byte("b"), i, 1<<40)
		require.NoError(t, err)
	}
	require.Len(t, tr.groups["b"], maxLanes)
	for i := 0; ; i++ {
		if _, err := tr.lane(fmt.Append(nil, i), 0, 0); err != nil {
			require.EqualError(t, err, "more than 65536 threads")
			break
		}
	}
}

// Every sample starts no thread's request before its last one ended.
func TestThreadsInOrder(t *testing.T) {
	for _, name := range []string{"dxt.txt", "blkparse.txt", "msr.csv"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		_, _, events, err := read(Options{}, text(name, string(content)))
		require.NoError(t, err)
		end := map[int32]int64{}
		for _, e := range events {
			require.GreaterOrEqual(t, e.Start, end[e.TID], name)
			if e.Dur != format.Unknown {
				end[e.TID] = e.Start + e.Dur
			}
		}
	}
}
