package importer

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// The files that strace -ff wrote for three processes become one recording, in the
// order in which the calls ended, for any order of the files.
func TestMerge(t *testing.T) {
	parent := text("out.7", "100000000.000000 execve(\"/bin/sh\", [\"sh\"], 0x1) = 0 <0.001>\n"+
		"100000000.002000 getcwd(\"/home/u\", 100) = 8 <0.000001>\n"+
		"100000000.003000 fork() = 9 <0.002000>\n"+
		"100000000.010000 exit_group(0) = ?\n100000000.010000 +++ exited with 0 +++\n")
	child := text("out.9.gz", "100000000.004000 close(3) = 0 <0.000010>\n100000000.020000 close(4) = 0 <0.000010>\n")
	empty := text("out.8", "")
	for _, files := range [][]File{{parent, child, empty}, {child, empty, parent}} {
		_, h, events, err := read(Options{}, files...)
		require.NoError(t, err)
		require.Equal(t, `# pianola script 1
# source: strace
# cwd: "/home/u"
7 0.000000000 execve("/bin/sh", NULL, 0x1) = 0 <0.001000000>
9 0.004000000 close(3) = 0 <0.000010000>
7 -0.001000000 fork() = 9 <0.002000000>
7 0.007000000 exit_group(0) = ?
9 0.010000000 close(4) = 0 <0.000010000>
`, string(printed(h, events)))
	}
}

// The working directory at the start is what getcwd returns to a thread that has not
// left it, whatever its children do.
func TestDirectoryOfParent(t *testing.T) {
	for call, want := range map[string]string{"7 10:00:00.000003 getcwd": "/w", "9 10:00:00.000003 getcwd": "", "11 10:00:00.000003 getcwd": ""} {
		_, h, _, err := read(Options{}, text("f", "7 10:00:00.000000 fork() = 9\n9 10:00:00.000001 chdir(\"sub\") = 0\n7 10:00:00.000002 close(3) = 0\n"+call+"(\"/w\", 100) = 3\n"))
		require.NoError(t, err)
		cwd, _ := h.Value(format.MetaCwd)
		require.Equal(t, want, strings.Trim(cwd, "\""))
	}
}

func TestMergeOverMidnight(t *testing.T) {
	_, _, events, err := read(Options{}, text("o.2", "00:00:00.500000 close(3) = 0\n"), text("o.1", "23:59:59.500000 close(3) = 0\n00:00:01.000000 close(3) = 0\n"))
	require.NoError(t, err)
	var got []int64
	for _, e := range events {
		got = append(got, int64(e.TID), e.Start/1e6)
	}
	require.Equal(t, []int64{1, 0, 2, 1000, 1, 1500}, got)
}

// Many events of many files, in batches that don't fit.
func TestMergeMany(t *testing.T) {
	var files []File
	const each = 3*format.MergedBatch + 5
	for f := range 20 {
		var b strings.Builder
		for i := range each {
			fmt.Fprintf(&b, "10:00:00.%06d unlink(\"%d \\t%d\") = 0\n", i*100+f, f, i)
		}
		files = append(files, text(fmt.Sprintf("o.%d", f+1), b.String()))
	}
	_, _, events, err := read(Options{}, files...)
	require.NoError(t, err)
	require.Len(t, events, each*len(files))
	for i, e := range events {
		f, k := i%20, i/20
		require.EqualValues(t, f+1, e.TID)
		require.Equal(t, fmt.Sprintf("%d \t%d", f, k), string(e.Str[0]))
	}
}

func TestMergeIOProf(t *testing.T) {
	const log = "Time:%d:0:1000\nTpS:10\nPID:%d\nfcntl:1004:1005:0:0:3\nfsync:1005:1006:0:0:3\nendoflog-file\n"
	rec, h, events, err := read(Options{}, text("a", fmt.Sprintf(log, 50, 7)), text("b", fmt.Sprintf(log, 40, 8)))
	require.NoError(t, err)
	require.Equal(t, IOProf, rec.Kind)
	require.Equal(t, []int64{8, 5e8, 7, 105e8}, []int64{int64(events[0].TID), events[0].Start, int64(events[1].TID), events[1].Start})
	_, ended := h.Value(format.MetaLost)
	require.True(t, ended)
	skipped, _ := h.Value(format.MetaSkipped)
	require.Equal(t, "fcntl=2", skipped, "of both files")
}

// A process belongs to its parent, by the fork in a log, else by PPID and the beginning of
// its own log.
func TestMergeParents(t *testing.T) {
	const head = "Time:%d:0:1000\nTpS:1000\nPID:%d\nPPID:%d\n"
	const call = "fsync:1500:1500:0:0:3\n"
	log := func(second, pid, parent int, calls string) File {
		if pid < 10 && pid != 7 {
			calls += "endoflog-file\n"
		}
		return text(fmt.Sprintf("%d_0", 1000*(pid%2)), fmt.Sprintf(head, second, pid, parent)+calls)
	}
	_, h, events, err := read(Options{},
		log(13, 10, 7, call), // its parent has no fork
		log(10, 7, 1, "fork:1100:1200:8:0:0\n"+call),
		log(11, 8, 7, call), log(12, 8, 7, call), // it has called exec
		log(9, 6, 7, call), // the parent is another process with that number
	)
	require.NoError(t, err)
	require.Equal(t, `# pianola script 1
# start: 1970-01-01T00:00:09Z
# lost: 0
# source: IOProf log
# recorder: IOProf
# unknown: flags of open, errors, whence of seeks, offsets of pread and pwrite that are 0, threads, peers of sockets, descriptors that exec closes
# incomplete: 1000_0 (still written), 0_0 (no end)
6 0.500000000 fsync(3) = 0 <0.000000000>
7 0.600000000 fork() = 8 <0.100000000>
7 0.400000000 fsync(3) = 0 <0.000000000>
8 1.000000000 fsync(3) = 0 <0.000000000>
8 1.000000000 fsync(3) = 0 <0.000000000>
7 0.500000000 fork() = 10 <0.000000000>
10 0.500000000 fsync(3) = 0 <0.000000000>
`, string(printed(h, events)))
}

func TestMergeErrors(t *testing.T) {
	const call = "close(3) = 0\n"
	fine := text("o.1", "10:00:00.0 "+call)
	for _, tt := range []struct {
		second File
		want   string
	}{
		{text("o.2", "0.000000 "+call), "o.2: times are relative to the line before in the same file, so the files cannot be merged; run strace with -ttt"},
		{text("o.2", call), "o.2: no times, so the files cannot be merged; run strace with -ttt"},
		{text("o.2", "10:00:00 "+call), "o.2: times are whole seconds, so the files cannot be merged; run strace with -ttt"},
		{text("o.x", "10:00:00.0 "+call), "o.x: the name does not end with a process id as files of strace -ff do"},
		{text("o.2", "1 2 3\n"), "o.2: iozone telemetry, while o.1 is strace"},
		{text("o.2", "# pianola script 1\n1 0.1 "+call), "o.2: a script cannot be merged with files of strace -ff"},
		{text("o.2", "10:00:00.0 close(x) = 0\n"), "o.2:1: close: fd: malformed number"},
		{text("o.2", "10:00:00.0 "+strings.Repeat(call+"10:00:00.0 ", 100)+"close(x) = 0\n"), "o.2:101: close: fd: malformed number"},
	} {
		_, _, _, err := read(Options{}, fine, tt.second)
		require.EqualError(t, err, tt.want)
	}
	_, _, _, err := read(Options{}, text("f", "fio version 2 iolog\n"), fine)
	require.EqualError(t, err, `f: files of format "fio iolog v2" cannot be merged, only those of strace -ff or IOProf`)
}

// All files are closed, even where one can't be opened.
func TestClose(t *testing.T) {
	open, fail := 0, false
	file := func(name string) File {
		return File{name, func() (io.ReadCloser, error) {
			if fail && name == "o.3" {
				return nil, io.ErrClosedPipe
			}
			open++
			return closer{strings.NewReader("10:00:00.0 close(3) = 0\n"), &open}, nil
		}}
	}
	rec, err := Inspect([]File{file("o.1"), file("o.2"), file("o.3")}, Options{})
	require.NoError(t, err)
	require.Zero(t, open)
	r, err := rec.Open()
	require.NoError(t, err)
	require.Equal(t, 3, open)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	require.Zero(t, open)
	fail = true
	_, err = rec.Open()
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Zero(t, open)
}

type closer struct {
	io.Reader
	open *int
}

func (c closer) Close() error {
	*c.open--
	return nil
}
