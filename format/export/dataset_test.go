package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// recorded is a recording with waits, spans, and errors.
const recorded = `# pianola script 1
# command: app
# start: 2026-01-02T03:04:05.000000006Z
# host: node7
# cwd: "/home/u"
# layer: hdf5 libhdf5.so.103
10 0.000001000 openat(AT_FDCWD, "in", O_RDONLY) = 3 <0.000020000> {type=reg mode=0644 size=40960 cached=3}
10 0.000040000 pread64(3, 0x1000, 4096, 0) = 4096 <0.000100000>
10 0.000120000 openat(AT_FDCWD, "no\xffsuch", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000005000>
10 0.000010000 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 11 <0.000010000>
11 0.000030000 openat(AT_FDCWD, "log", O_WRONLY|O_CREAT, 0600) = 4 <0.000010000> {type=reg mode=0600 size=0 new}
11 0.000020000 pwrite64(4, 0x2000, 100, 0) = 100 <0.000004000>
11 0.000010000 fdatasync(4) = 0 <0.002000000>
10 -0.000080000 wait(FUTEX, 0x1000) = 0 <0.002200000> {by=11+2000}
10 0.000010000 hdf5:H5Dclose(360287970189639680, path="out.h5", "a\nb") = -1 <0.000060000> {span=close bytes=7 failed}
10 0.000100000 exit_group(0) = ?
# lost: 0
`

// tables returns the rows of a dataset as text, the values that are not null.
func tables(t *testing.T, h *format.Header, events []format.Event, change func(*Dataset)) (map[string]*parquet.File, string) {
	t.Helper()
	files := make(map[string]*bytes.Buffer)
	d, err := NewDataset(h, 0, func(table string, rank int32) (io.Writer, error) {
		require.EqualValues(t, NoRank, rank)
		files[table] = new(bytes.Buffer)
		return files[table], nil
	})
	require.NoError(t, err)
	if change != nil {
		change(d)
	}
	require.NoError(t, d.Write(events))
	require.NoError(t, d.Close())
	opened := make(map[string]*parquet.File)
	var text strings.Builder
	for _, table := range Tables {
		f, err := parquet.OpenFile(bytes.NewReader(files[table].Bytes()), int64(files[table].Len()))
		require.NoError(t, err)
		opened[table] = f
		fmt.Fprintf(&text, "%s\n", table)
		r, row := parquet.NewReader(f), make([]parquet.Row, 1)
		for {
			n, err := r.ReadRows(row)
			if n == 0 {
				require.Equal(t, io.EOF, err)
				break
			}
			for k, v := range row[0] {
				if !v.IsNull() {
					fmt.Fprintf(&text, " %s=%v", f.Root().Columns()[k].Name(), v)
				}
			}
			text.WriteByte('\n')
		}
		require.NoError(t, r.Close())
	}
	return opened, text.String()
}

// spanned returns the events of a script, with spans.
func spanned(t *testing.T, text string) (*format.Header, []format.Event) {
	t.Helper()
	r := script.NewReader(strings.NewReader(text), "recorded")
	events, err := testkit.ReadAll(r, 16)
	require.NoError(t, err)
	return r.Header(), events
}

func TestDataset(t *testing.T) {
	h, events := spanned(t, recorded)
	files, text := tables(t, h, events, nil)
	testkit.Golden(t, "recording.dataset", []byte(text))
	for _, table := range Tables {
		start, ok := files[table].Lookup("pianola.start")
		require.True(t, ok)
		require.Equal(t, "2026-01-02T03:04:05.000000006Z", start)
	}

	h, events = sample(t)
	_, text = tables(t, h, events, nil)
	testkit.Golden(t, "trace.dataset", []byte(text))
}

// Files beyond the bound are one row, without a path.
func TestDatasetOthers(t *testing.T) {
	h, events := spanned(t, recorded)
	_, text := tables(t, h, events, func(d *Dataset) { d.most = 1 })
	_, text, _ = strings.Cut(text, "files\n")
	text, _, _ = strings.Cut(text, "threads\n")
	require.Equal(t, " path=in type=reg mode=420 size=40960 cached_pages=3 opens=1 calls=2 errors=0 reads=1 writes=0 bytes_read=4096 bytes_written=0 nanos=120000 flight_nanos=0\n"+
		" opens=1 calls=4 errors=1 reads=0 writes=1 bytes_read=0 bytes_written=100 nanos=2019000 flight_nanos=0\n", text)
}

// Ranks have files of their own, and a trace of many is written in several passes. Each
// row is in one of them.
func TestDatasetRanks(t *testing.T) {
	const ranks = passRanks + 8
	h := &format.Header{Files: []format.File{{Path: "unused", Type: format.TypeReg}, {Path: "shared", Type: format.TypeReg, Size: 5}}}
	var events []format.Event
	for i := range int32(ranks + 1) { // the last one has no rank
		thread := format.Thread{Process: i + 1}
		if i < ranks {
			h.Ranks = append(h.Ranks, format.Rank{Rank: i, Node: "n1"})
			thread = thread.OfRank(i)
		}
		h.Threads = append(h.Threads, thread)
		events = append(events,
			format.Event{Op: format.OpStat, TID: i + 1, Start: int64(i), Dur: 1, Str: [2][]byte{[]byte("shared")}},
			format.Event{TID: i + 1, Start: int64(i), Dur: 1, Span: &format.Span{Layer: "mpi", Function: "MPI_File_open", Bytes: format.Unknown}})
	}
	require.Equal(t, 2, Passes(h))
	type key struct {
		table string
		rank  int32
	}
	files := make(map[key]*bytes.Buffer)
	for pass := range Passes(h) {
		d, err := NewDataset(h, pass, func(table string, rank int32) (io.Writer, error) {
			require.Nil(t, files[key{table, rank}])
			files[key{table, rank}] = new(bytes.Buffer)
			return files[key{table, rank}], nil
		})
		require.NoError(t, err)
		require.NoError(t, d.Write(events))
		require.NoError(t, d.Close())
	}
	require.Len(t, files, (ranks+1)*len(Tables))
	for at, b := range files {
		f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		require.NoError(t, err)
		want := 1
		switch {
		case at.table == "waits":
			want = 0
		case at.table == "files" && at.rank == NoRank:
			want = 2 // and the one that no rank used
		}
		require.EqualValues(t, want, f.NumRows(), at)
	}

	// A recording has ranks by its processes.
	h, events = spanned(t, "# pianola script 1\n# rank: 5 process=7 node=n1\n7 0.000001 close(3) = 0 <0.000001>\n8 0.000001 close(3) = 0 <0.000001>\n")
	d, err := NewDataset(h, 0, func(string, int32) (io.Writer, error) { return io.Discard, nil })
	require.NoError(t, err)
	require.NoError(t, d.Write(events))
	require.Len(t, d.ranks, 2)
	require.NotNil(t, d.ranks[5])
	require.NoError(t, d.Close())
}

// Times of day need the date of the recording, and never overflow.
func TestClock(t *testing.T) {
	clock := func(start string) clock {
		return newClock(&format.Header{Meta: []format.Meta{{Key: format.MetaStart, Value: start}}})
	}
	require.False(t, clock("").known)
	require.False(t, clock("yesterday").known)
	require.False(t, clock("1500-01-01T00:00:00Z").known)
	require.False(t, clock("2300-01-01T00:00:00Z").known)
	require.EqualValues(t, 1e18+5, clock("2001-09-09T01:46:40Z").at(5))
	require.EqualValues(t, 1e18-5, clock("2001-09-09T03:46:40+02:00").at(-5))
	require.EqualValues(t, 1<<63-1, clock("2261-01-01T00:00:00Z").at(1<<62))
}

// A table that can't be opened, or written, is an error.
func TestDatasetErrors(t *testing.T) {
	h, events := spanned(t, recorded)
	broken := errors.New("broken")
	for _, bad := range Tables {
		_, err := NewDataset(h, 0, func(table string, rank int32) (io.Writer, error) {
			if table == bad {
				return nil, broken
			}
			return io.Discard, nil
		})
		require.Equal(t, broken, err)
		d, err := NewDataset(h, 0, func(table string, rank int32) (io.Writer, error) {
			if table == bad {
				return &full{100}, nil
			}
			return io.Discard, nil
		})
		require.NoError(t, err)
		require.NoError(t, d.Write(events))
		require.ErrorIs(t, d.Close(), errFull, bad)
	}
}

// Spans of a timeline are slices around those of their calls.
func TestPerfettoSpans(t *testing.T) {
	h, events := spanned(t, recorded)
	for _, e := range traceEvents(t, exported(t, "perfetto", h, events)) {
		if e.Cat == "hdf5" {
			require.Equal(t, "X", e.Ph)
			require.Equal(t, "H5Dclose", e.Name)
			require.EqualValues(t, []int64{10, 10}, []int64{e.PID, e.TID})
			require.InDelta(t, 60, *e.Dur, 0)
			require.Equal(t, map[string]any{"args": `360287970189639680, path="out.h5", "a\\nb"`, "result": -1.0, "kind": "close", "bytes": 7.0, "failed": 1.0}, e.Args)
			return
		}
	}
	require.Fail(t, "no span")
}
