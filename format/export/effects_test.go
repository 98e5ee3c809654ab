package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Forks share a table until one changes something, and a file is closed with the
// last descriptor that leads to it, whose table that may be.
func TestForksShareTables(t *testing.T) {
	const threads = 100
	h := &format.Header{}
	for i := range int32(threads) {
		h.Threads = append(h.Threads, format.Thread{Parent: i, Process: i + 1})
	}
	f := newFiles(h)
	closed := 0
	f.closed = func(*file) { closed++ }
	f.start()
	f.apply(&format.Event{Op: format.OpOpen, TID: 1, Str: [2][]byte{[]byte("a")}, Ret: 3})
	for i := range int32(threads - 1) {
		f.apply(&format.Event{Op: format.OpClone, TID: i + 1, Ret: int64(i + 2)})
	}
	f.apply(&format.Event{Op: format.OpClose, TID: threads, Args: [6]int64{3}})
	require.Nil(t, f.Living(threads).Table.At(3))
	require.NotNil(t, f.Living(1).Table.At(3))
	for i := range int32(threads - 1) { // the last has closed its own
		require.Zero(t, closed)
		f.apply(&format.Event{Op: format.OpExit, TID: i + 1, Ret: format.NoResult})
	}
	require.Equal(t, 1, closed)
}

// What dup2 closes is what the number leads to by then. A close that was made
// before and takes long is about the file before it.
func TestDupWhileCloseIsLate(t *testing.T) {
	open := func(name string, fd int64) *format.Event {
		return &format.Event{Op: format.OpOpen, TID: 1, Str: [2][]byte{[]byte(name)}, Ret: fd}
	}
	f := newFiles(&format.Header{Threads: []format.Thread{{Process: 1}}})
	var closed []string
	f.closed = func(at *file) { closed = append(closed, at.Name) }
	f.start()
	f.apply(open("a", 3))
	f.apply(open("b", 3))
	f.apply(open("c", 4))
	f.apply(&format.Event{Op: format.OpDup2, TID: 1, Args: [6]int64{4, 3}, Ret: 3})
	require.Equal(t, []string{"b"}, closed)
	require.Equal(t, "a", f.apply(&format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}}).file.Name)
	require.Equal(t, []string{"b", "a"}, closed)
	require.Equal(t, "c", f.apply(&format.Event{Op: format.OpFsync, TID: 1, Args: [6]int64{3}}).file.Name)
}

// Names that get longer as directories are renamed are bounded.
func TestNamesAreBounded(t *testing.T) {
	f := newFiles(&format.Header{})
	f.most = 1 << 20
	for i := range 100 {
		f.name(fmt.Sprintf("d/%d", i), newFile(""))
	}
	f.lookup([]byte("d")).dir = true
	for i, name := 0, "d"; ; i++ {
		e := &format.Event{Op: format.OpRename, TID: 1, Str: [2][]byte{[]byte(name), []byte("x" + strings.Repeat("y", 100*i))}}
		name = string(e.Str[1])
		f.apply(e)
		held := int64(0)
		for path := range f.names {
			held += nameBytes + int64(len(path))
		}
		if err := f.full(e); err != nil {
			require.ErrorContains(t, err, "more than 1 MiB of memory")
			require.Less(t, held, f.most+nameBytes+int64(len(name)+10), "no more than one name above it")
			return
		}
		require.Equal(t, held, f.bytes)
	}
}

func TestPlain(t *testing.T) {
	for path, want := range map[string]string{"a/b": "a/b", "a//b/c": "a/b/c", "": "", "a//b/": "a/b/"} {
		given := []byte(path)
		require.Equal(t, want, string(unmarked(given)))
		require.Equal(t, path, string(given), "what was given is not touched")
	}
}

// Faults are about the file that is mapped, also when it is closed, which fio
// opens again for them.
func TestFaultsOfMappedFiles(t *testing.T) {
	const at = 4096 | format.MappedFile
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	events := []format.Event{
		{Op: format.OpOpen, TID: 1, Ret: 3, Args: [6]int64{1: format.RDWR}, Str: [2][]byte{[]byte("a")}},
		{Op: format.OpMmap, TID: 1, Ret: at, Args: [6]int64{0, 8192, 3, 1, 3, 4096}},
		{Op: format.OpMsync, TID: 1, Args: [6]int64{at, 8192, 4}},
		{Op: format.OpClose, TID: 1, Args: [6]int64{3}},
		{Op: format.OpMapRead, TID: 1, Ret: 4096, Args: [6]int64{at + 4096, 4096, 8192}},
		{Op: format.OpMapWrite, TID: 1, Ret: 4096, Args: [6]int64{at, 4096, 4096}},
		{Op: format.OpMunmap, TID: 1, Args: [6]int64{at, 8192}},
		{Op: format.OpMapRead, TID: 1, Ret: 4096, Args: [6]int64{at, 4096, 4096}},
	}
	log := string(exported(t, "fio2", h, events))
	_, log, _ = strings.Cut(log, "a open\n")
	require.Equal(t, "a datasync 0 0\na close\na open\na read 8192 4096\na close\na open\na write 4096 4096\na close\n", log)
	rows := strings.Split(string(exported(t, "csv", h, events)), "\n")
	require.Contains(t, rows[5], ",map_read,read,")
	require.Contains(t, rows[5], ",a,")
	require.NotContains(t, rows[8], ",a,", "it is not mapped any more")
}
