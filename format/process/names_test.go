package process

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Files of a trace have the application's names, if it has them. Paths of one name are one
// file.
func TestApplicationNames(t *testing.T) {
	h := &format.Header{
		Threads:     []format.Thread{{Process: 1}},
		Descriptors: []format.Descriptor{{Process: 1, FD: 2, Path: "err"}},
		Names: []format.AppName{{Path: ".", Name: "/"}, {Path: "a/pianola_tmp1", Name: "/a/wal"}, {Path: "b", Name: "/a/wal"}, {Path: "err", Name: "/log/err"},
			{Path: "bin/pianola_tmp2", Name: "/bin/app"}},
	}
	about := func(fl *Follower, op format.Op, path string, ret int64) *File {
		e := &format.Event{Op: op, TID: 1, Ret: ret, Str: name(path)}
		if path == "" {
			e.Args[0] = ret
		}
		fact := fl.Fact(e)
		fl.Apply(fact)
		return fact.File
	}
	fl := New(h, 100)
	wal := about(fl, format.OpOpen, "a//pianola_tmp1", 3)
	require.Equal(t, "/a/wal", wal.Name)
	require.Same(t, wal, about(fl, format.OpStat, "a/pianola_tmp1", 0))
	require.Same(t, wal, about(fl, format.OpStat, "b", 0))
	require.Same(t, wal, about(fl, format.OpFsync, "", 3))
	require.Equal(t, "/log/err", about(fl, format.OpFsync, "", 2).Name)
	require.Equal(t, "/a", about(fl, format.OpStat, "a/", 0).Name)
	require.Equal(t, "/", about(fl, format.OpStat, ".", 0).Name)
	require.Equal(t, "fd 9", about(fl, format.OpFsync, "", 9).Name, "no path")
	about(fl, format.OpExecve, "bin/pianola_tmp2", 0)
	require.Equal(t, "/bin/app", fl.Thread(&format.Event{Op: format.OpRead, TID: 1}).Process.Command)

	h.Names = nil
	require.Equal(t, "a/pianola_tmp1", about(New(h, 100), format.OpOpen, "a//pianola_tmp1", 3).Name)
}

// Many paths, long ones and long names take no more memory than files without them may.
func TestApplicationNamesAreBounded(t *testing.T) {
	const files = 100
	h := &format.Header{Threads: []format.Thread{{Process: 1}}, Names: []format.AppName{{Path: "long", Name: "/" + strings.Repeat("n", NameBytes*files)}, {Path: ".", Name: "/one"}}}
	for i := range 10 * files {
		h.Names = append(h.Names, format.AppName{Path: fmt.Sprint(i), Name: "/one"})
	}
	fl := New(h, files)
	stat := func(path string) *File {
		e := &format.Event{Op: format.OpStat, TID: 1, Str: name(path)}
		f, _ := fl.About(fl.Thread(e), e)
		return f
	}
	require.EqualValues(t, Others, stat("long").ID, "the name is too long")
	one := stat("0")
	for i := range 10 * files {
		require.Same(t, one, stat(fmt.Sprint(i)))
	}
	require.LessOrEqual(t, len(fl.byPath), files)
	fl = New(h, files)
	for i := range 3 {
		require.Equal(t, "/one/", stat(fmt.Sprint(strings.Repeat("p", NameBytes*files/4), i)).Name[:5])
	}
	require.LessOrEqual(t, fl.paths, NameBytes*files)
	require.LessOrEqual(t, fl.bytes, NameBytes*files)
}
