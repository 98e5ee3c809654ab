package spans

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/testkit"
)

// A file of the application is where the trace has it, else below the root under its own
// name. No name leads outside.
func TestPlace(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "out")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	h := &format.Header{Files: []format.File{{Path: "flat/a"}}, Names: []format.AppName{{Path: "flat", Name: "/deep/er"}}}
	f, err := OpenFiles(h, root)
	require.NoError(t, err)
	defer f.Close()
	for name, want := range map[string]string{
		"/deep/er/a": "flat/a", "/new/b": "new/b", "c": "c", "/../../d": "d",
		"/": "", "/dev/null": "", "/proc/1/maps": "", "/a\x00b": "", "/out": "", "/out/x": "", "/file/x": "",
	} {
		at, ok := f.Place(name)
		require.Equal(t, want, at, "%q", name)
		require.Equal(t, want != "", ok, "%q", name)
	}
	require.DirExists(t, filepath.Join(root, "new"))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)

	_, err = OpenFiles(h, filepath.Join(root, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// headed is a trace that has a header only.
type headed struct {
	format.Trace
	header *format.Header
}

func (h headed) Header() *format.Header { return h.header }

// The files of a trace are kept that have one of the names, with their directories and what
// they are links to.
func TestWithFiles(t *testing.T) {
	h := &format.Header{
		Descriptors: make([]format.Descriptor, 1),
		Files: []format.File{
			{Path: "."}, {Path: "d"}, {Path: "d/a"}, {Path: "d/b"}, {Path: "d/hard", Link: "e/c"}, {Path: "e"}, {Path: "e/c"},
			{Path: "soft", Type: format.TypeLnk, Target: "d/b"}, {Path: "away", Type: format.TypeLnk, Target: "/d/a"}, {Path: "loop", Type: format.TypeLnk, Target: "loop"},
		},
	}
	for names, want := range map[string]string{
		"":                 "",
		"/none":            "",
		"/d/a":             ". d d/a",
		"/d/hard":          ". d d/hard e e/c",
		"/soft/x":          ". d d/b soft",
		"/away /loop":      ". away loop",
		"../../d/a /d/./b": ". d d/a d/b",
	} {
		n := withFiles(headed{header: h}, strings.Fields(names))
		var got []string
		for _, f := range n.Header().Files {
			got = append(got, f.Path)
		}
		require.Equal(t, want, strings.Join(got, " "), names)
		require.Empty(t, n.Header().Descriptors)
	}
	require.Len(t, h.Files, 10)
	require.Len(t, h.Descriptors, 1)
}

func TestReport(t *testing.T) {
	r := &Result{
		Layer: "hdf5", Elapsed: 3 * time.Millisecond, Recorded: 2 * time.Millisecond, Inside: 5, Outside: 1, OutNanos: 4000,
		Functions: []Function{{Name: "H5Fopen", Kind: "open", Calls: 2, Refused: 1, Differed: 1, Nanos: 1_500_000, Recorded: 1_000_000, First: &Difference{Thread: 1, Call: `H5Fopen("a")`, Recorded: 7, Got: -1}}, {Name: "H5Fclose", Calls: 1, Nanos: 500_000}, {Name: "H5Dread", Calls: 2, Nanos: 2_000_000, Bytes: 3_000_000, Moving: 1_500_000}},
		Reasons:   []Reason{{"no", 1}}, Remarks: []Reason{{"bytes", 2}}, Lateness: stats.Quantiles{P50: 1234, P99: 20_000, Max: 30_000},
	}
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	require.Equal(t, `function  played  not played  failed  differed  recorded ms  replayed ms    bytes  bytes/s
H5Fopen        2           1       0         1        1.000        1.500        0        -
H5Fclose       1           0       0         0        0.000        0.500        0        -
H5Dread        2           0       0         0        0.000        2.000  3000000  2.00 GB
all            5           1       0         1        1.000        4.000  3000000  2.00 GB
not played: 1 calls: no
played otherwise: 2 calls: bytes
differed: 1 × H5Fopen: first H5Fopen("a") of thread 1: recorded 7, which succeeded, got -1
run time: recorded 2ms, replayed 3ms
system calls: 5 within these calls; 1 others, of 4µs, are not replayed
lateness: p50 1.23µs, p99 20µs, max 30µs
`, b.String())
	require.Error(t, r.WriteText(testkit.Broken{}))
	require.Contains(t, string(testkit.JSON(t, r.Document())), `"played": 5`)
	require.Contains(t, string(testkit.JSON(t, r.Document())), `"bytes_per_second": 2000000000`)
	require.Contains(t, string(testkit.JSON(t, (&Result{}).Document())), `"functions": []`)
}

// The results of ranks add up, except for times that pass for all of them.
func TestAdd(t *testing.T) {
	first := &Difference{Call: "MPI_Send(1)"}
	r := &Result{
		Functions: []Function{{Name: "MPI_Send", Calls: 1, Nanos: 10, Bytes: 5}}, Reasons: []Reason{{"a", 1}, {"b", 1}},
		Lateness: stats.Quantiles{P50: 1, P99: 9, Max: 10}, Elapsed: 5, Recorded: 7, Nested: 1, Inside: 2, Outside: 3, OutNanos: 4,
	}
	r.Add(&Result{
		Functions: []Function{{Name: "MPI_Recv", Calls: 2}, {Name: "MPI_Send", Calls: 3, Refused: 4, Failed: 5, Differed: 6, Nanos: 7, Recorded: 8, Bytes: 9, Moving: 10, First: first}},
		Reasons:   []Reason{{"b", 5}}, Remarks: []Reason{{"c", 1}},
		Lateness: stats.Quantiles{P50: 2, P99: 3, Max: 20}, Elapsed: 6, Recorded: 6, Nested: 10, Inside: 20, Outside: 30, OutNanos: 40,
	})
	require.Equal(t, &Result{
		Functions: []Function{{Name: "MPI_Send", Calls: 4, Refused: 4, Failed: 5, Differed: 6, Nanos: 17, Recorded: 8, Bytes: 14, Moving: 10, First: first}, {Name: "MPI_Recv", Calls: 2}},
		Reasons:   []Reason{{"b", 6}, {"a", 1}}, Remarks: []Reason{{"c", 1}},
		Lateness: stats.Quantiles{P50: 2, P99: 9, Max: 20}, Elapsed: 6, Recorded: 7, Nested: 11, Inside: 22, Outside: 33, OutNanos: 44,
	}, r)
}
