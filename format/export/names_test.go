package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// named is a trace in which a directory is renamed while a file below it is open.
func named() (*format.Header, []format.Event) {
	h := &format.Header{
		Threads:     []format.Thread{{Process: 1}},
		Descriptors: []format.Descriptor{{Process: 1, FD: 2, Flags: 2, Path: "log"}},
		Files:       []format.File{{Path: "d", Type: format.TypeDir, Cached: -1}, {Path: "log", Type: format.TypeReg, Cached: -1}},
		Names:       []format.AppName{{Path: ".", Name: "/"}, {Path: "d/pianola_tmp1", Name: "/d/wal"}, {Path: "log", Name: "/var/log/\xffx"}},
	}
	events := []format.Event{
		{Op: format.OpOpenm, Str: [2][]byte{[]byte("d//pianola_tmp1")}, Args: [6]int64{0, 34, 384}, Ret: 3},
		{Op: format.OpRename, Str: [2][]byte{[]byte("d"), []byte("e")}},
		{Op: format.OpWrite, Args: [6]int64{3, 5}, Ret: 5},
		{Op: format.OpWrite, Args: [6]int64{2, 5}, Ret: 5},
	}
	for i := range events {
		events[i].TID, events[i].Start = 1, int64(i)
	}
	return h, events
}

// The application's names are shown, those below the root beside them.
func TestApplicationNames(t *testing.T) {
	h, events := named()
	var got []string
	for i, line := range strings.Split(strings.TrimSpace(string(exported(t, "csv", h, events))), "\r\n") {
		f := strings.Split(line, ",")
		if n := len(f); i > 0 {
			got = append(got, fmt.Sprint(f[3], " ", f[18], " ", f[19], " ", f[n-3], " ", f[n-2]))
		}
	}
	require.Equal(t, []string{
		"openm /d/wal  d/pianola_tmp1 ",
		"rename /d /e d e",
		"write /e/wal  e/pianola_tmp1 ",
		`write /var/log/\xffx  log `,
	}, got)
	json := string(exported(t, "json", h, events))
	require.Contains(t, json, `"fd":2,"flags":"O_WRONLY","offset":0,"path":"/var/log/\\xffx","root_path":"log"}`)
	require.Contains(t, json, `{"path":"/d","root_path":"d","type":"dir"`)
	require.Contains(t, string(exported(t, "strace", h, events)), `open("/d/wal", `)
	require.Contains(t, string(exported(t, "script", h, events)), "# name: \"d/pianola_tmp1\" \"/d/wal\"\n")
	for _, kind := range []string{"fio", "fio2", "fiofiles"} {
		text := string(exported(t, kind, h, events))
		require.Contains(t, text, "d/pianola_tmp1", kind)
		require.NotContains(t, text, "wal", kind)
		h.Names = nil
		require.Equal(t, text, string(exported(t, kind, h, events)), kind)
		h, events = named()
	}
}

// A trace that does not have them has one name of each file.
func TestNoApplicationNames(t *testing.T) {
	h, events := named()
	h.Names = nil
	for line := range strings.SplitSeq(strings.TrimSpace(string(exported(t, "csv", h, events))), "\r\n") {
		require.Regexp(t, `how,root_path,root_path2,recorded$|,,,$`, line)
	}
	require.Contains(t, string(exported(t, "csv", h, events)), ",3,e/pianola_tmp1,,0,")
	require.NotContains(t, string(exported(t, "json", h, events)), "root_path")
}

// A long name that holds for many paths takes no memory beyond the bound of names.
func TestApplicationNamesAreBounded(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}}, Names: []format.AppName{{Path: "b", Name: "/" + strings.Repeat("x", 1<<16)}}}
	f := newFiles(h)
	f.most = 1 << 20
	f.start()
	event := func(op format.Op, names ...string) *format.Event {
		e := &format.Event{Op: op, TID: 1}
		for i, name := range names {
			e.Str[i] = []byte(name)
		}
		return e
	}
	f.apply(event(format.OpMkdir, "a"))
	for i := range 100 {
		f.apply(event(format.OpMkdir, fmt.Sprint("a/", i)))
	}
	require.NoError(t, f.full(event(format.OpMkdir)))
	f.apply(event(format.OpRename, "a", "b"))
	require.Error(t, f.full(event(format.OpRename, "a", "b")))

	// Names that are renamed back and forth, or removed, release their memory.
	f = newFiles(&format.Header{Names: []format.AppName{{Path: ".", Name: "/"}, {Path: "b", Name: "/longer/name"}}})
	f.start()
	f.apply(event(format.OpMkdir, "a"))
	f.apply(event(format.OpMkdir, "a/c"))
	before := f.bytes
	f.apply(event(format.OpRename, "a", "b"))
	require.Greater(t, f.bytes, before)
	f.apply(event(format.OpRename, "b", "a"))
	f.apply(event(format.OpRmdir, "a/c"))
	f.apply(event(format.OpRmdir, "a"))
	require.Zero(t, f.bytes)
}
