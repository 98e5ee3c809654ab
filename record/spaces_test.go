package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// onMemory is a call on memory that succeeded, in pages.
func onMemory(op format.Op, ret int64, file uint64, args ...int64) *format.Event {
	e := &format.Event{Op: op, Ret: ret * int64(pageBytes)}
	for i, a := range args {
		if kind := op.Info().Args[i].Kind; kind == format.Addr || kind == format.Size || kind == format.Offset {
			a *= int64(pageBytes)
		}
		e.Args[i] = a
	}
	if file != 0 {
		e.Notes = &format.Notes{Ino: file, Has: format.NotedDev | format.NotedIno}
	}
	return e
}

func TestSpaces(t *testing.T) {
	var m spaces
	// at returns the page at which an address space shows a page of a file, 0 for none.
	at := func(space, file, page uint64) uint64 {
		if found := m.of(space).find(format.Inode{Ino: file}, page*pageBytes); found != nil {
			return (found.start + page*pageBytes - found.offset) / pageBytes
		}
		return 0
	}
	mmap := func(space uint64, address, pages int64, file uint64, offset int64) {
		m.call(space, onMemory(format.OpMmap, address, file, 0, pages, format.ProtWrite, format.MapShared, 3, offset))
	}
	mmap(1, 100, 10, 7, 5)
	mmap(1, 110, 10, 8, 0)
	require.Equal(t, uint64(104), at(1, 7, 9))
	require.Zero(t, at(1, 7, 4), "before the mapping")
	require.Zero(t, at(1, 7, 15), "behind it")
	require.Zero(t, at(2, 7, 9), "another address space")

	m.begin(2, 1)
	m.call(1, onMemory(format.OpMunmap, 0, 0, 103, 4))
	require.Equal(t, []uint64{102, 0, 0, 107}, []uint64{at(1, 7, 7), at(1, 7, 8), at(1, 7, 11), at(1, 7, 12)}, "the middle is gone")
	require.Equal(t, uint64(103), at(2, 7, 8), "a copy keeps it")

	m.call(1, onMemory(format.OpMmap, 108, 0, 108, 4, 0, format.MapAnonymous, -1, 0))
	require.Equal(t, []uint64{107, 0, 0, 112}, []uint64{at(1, 7, 12), at(1, 7, 13), at(1, 8, 0), at(1, 8, 2)}, "other memory took its place")

	m.call(1, onMemory(format.OpMremap, 200, 0, 112, 8, 20, 1, 0))
	require.Equal(t, []uint64{200, 217}, []uint64{at(1, 8, 2), at(1, 8, 19)}, "it moved, and grew")
	m.call(1, onMemory(format.OpMremap, 300, 0, 200, 0, 4, 1, 0))
	require.NotNil(t, m.of(1).at(200*pageBytes), "a second mapping of the same pages")
	require.NotNil(t, m.of(1).at(300*pageBytes))

	failed := onMemory(format.OpMunmap, 0, 0, 100, 300)
	failed.Ret = -22
	m.call(1, failed)
	require.Equal(t, uint64(107), at(1, 7, 12))
	require.True(t, m.call(1, onMemory(format.OpMsync, 0, 0, 107, 1, 4)))
	require.False(t, m.call(1, onMemory(format.OpMsync, 0, 0, 108, 1, 4)), "of other memory")

	m.call(2, &format.Event{Op: format.OpExecve})
	require.Zero(t, at(2, 7, 8), "a program begins with none")
	m.begin(1, 0)
	require.Zero(t, at(1, 7, 12), "of a process that is gone")
}

// faultEvents returns the events that a writer makes of faults.
func faultEvents(w *Writer, off format.Off, faults ...bpf.CFault) (events []format.Event) {
	for i := range faults {
		if w.Fault(&faults[i], off, 0); w.n > 0 {
			events = append(events, w.batch[0].Clone())
			w.n = 0
		}
	}
	return events
}

func TestFaultEvents(t *testing.T) {
	const dev, file, space = 254 << 20, 7, 1
	page := int64(pageBytes)
	w := NewWriter(discard{}, 1000)
	mmap := onMemory(format.OpMmap, 100, file, 0, 10, format.ProtWrite, 2, 3, 5)
	mmap.Notes.Dev = format.Device{Major: 254}
	w.spaces.call(space, mmap)
	tid := int32(os.Getpid())
	got := faultEvents(w, format.Off{Ready: 3},
		bpf.CFault{Start: 1500, Took: 70, Space: space, Ino: file, Dev: dev, First: 6, Pages: 1, Tid: uint32(tid), Flags: bpf.CFaultFlagFAULT_PAGE | bpf.CFaultFlagFAULT_FILLED, Calls: 2},
		bpf.CFault{Start: 1600, Space: space, Ino: file, Dev: dev, First: 7, Pages: 16, Tid: uint32(tid), Flags: bpf.CFaultFlagFAULT_AROUND},
		bpf.CFault{Start: 1700, Space: space, Ino: file, Dev: dev, First: 8, Pages: 4, Tid: uint32(tid), Flags: bpf.CFaultFlagFAULT_PAGE | bpf.CFaultFlagFAULT_WRITE},
		bpf.CFault{Start: 1800, Space: space, Ino: file, Dev: dev, First: 9, Pages: 1, Tid: uint32(tid), Flags: bpf.CFaultFlagFAULT_PAGE},
		bpf.CFault{Start: 1900, Space: space, First: uint64(103*page + 8), Tid: uint32(tid), Flags: bpf.CFaultFlagFAULT_FAILED},
		bpf.CFault{Start: 2000, Space: space, First: uint64(8 * page), Tid: uint32(tid), Flags: bpf.CFaultFlagFAULT_FAILED}, // below vm.mmap_min_addr: of no file
		bpf.CFault{Start: 2100, Took: 5, Space: space, Ino: 8, Dev: dev, First: 1, Pages: 1, Tid: 1 << 30, Flags: bpf.CFaultFlagFAULT_PAGE | bpf.CFaultFlagFAULT_PROGRAM},
	)
	filled, cow := &format.Notes{Has: format.NotedFilled}, &format.Notes{Has: format.NotedCow}
	fault := func(op format.Op, start, dur, ret, address, offset int64, n *format.Notes) format.Event {
		return format.Event{Op: op, TID: tid, Start: start, Dur: dur, Ret: ret, Args: [6]int64{address * page, page, offset * page}, Notes: n, Off: format.Off{Ready: 3}}
	}
	want := []format.Event{
		fault(format.OpMapRead, 500, 70, page, 101, 6, filled),
		fault(format.OpMapRead, 600, 0, 16*page, 102, 7, nil),
		fault(format.OpMapWrite, 700, 0, 4*page, 103, 8, nil),
		fault(format.OpMapRead, 800, 0, page, 104, 9, cow),
		fault(format.OpMapRead, 900, 0, -efault, 103, 8, nil),
		fault(format.OpMapRead, 1100, 5, page, 0, 1, &format.Notes{Has: format.NotedDev | format.NotedIno, Dev: format.Device{Major: 254}, Ino: 8}),
	}
	want[0].Calls, want[5].TID = 2, 1<<30
	require.Equal(t, want, got)
	require.Equal(t, 22*page, w.Account().Recorded.Bytes, "programs are not in the account")
	require.Equal(t, int64(70), w.Account().Recorded.Nanos)

	w.spaces.name(format.Inode{Dev: format.Device{Major: 254}, Ino: 8}, []byte("/bin/x"))
	w.Program(space, uint64(200*page), 100, 0, dev, 8)
	got = faultEvents(w, format.Off{}, bpf.CFault{Took: 5, Space: space, Ino: 8, Dev: dev, First: 0, Pages: 1, Tid: 1 << 30, Flags: bpf.CFaultFlagFAULT_PAGE | bpf.CFaultFlagFAULT_PROGRAM})
	require.Equal(t, "/bin/x", string(got[0].Notes.Path))
	require.Equal(t, 200*page, got[0].Args[0])
}

// The files of a process that has ended are named by what it executed.
func TestFaultsOfEndedProcess(t *testing.T) {
	const space, ended = 1, 1 << 30
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, nil, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(program, link))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(program, &st))
	w := NewWriter(discard{}, 0)
	fault := func(space, ino uint64) string {
		f := bpf.CFault{Took: 5, Space: space, Ino: ino, Dev: unix.Major(st.Dev)<<20 | unix.Minor(st.Dev), Pages: 1, Tid: ended, Flags: bpf.CFaultFlagFAULT_PAGE | bpf.CFaultFlagFAULT_PROGRAM}
		return string(faultEvents(w, format.Off{}, f)[0].Notes.Path)
	}
	require.Empty(t, fault(space, st.Ino), "nothing is known of the process")

	exec := &format.Event{Op: format.OpExecve, Str: [format.MaxStrings][]byte{[]byte(link)}}
	w.spaces.call(space, exec)
	w.Fork(2, space)
	require.Empty(t, fault(2, st.Ino+1), "another file")
	require.Equal(t, program, fault(2, st.Ino))

	w.spaces.paths = nil
	t.Chdir(filepath.Dir(program))
	exec.Str[0] = []byte("./program")
	w.spaces.call(space, exec)
	require.Equal(t, program, fault(space, st.Ino))
}
