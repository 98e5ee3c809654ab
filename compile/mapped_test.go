package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// place is a place among the mapped files.
func place(at int64) int64 { return at | format.MappedFile }

// ops returns the names of the events of a thread.
func ops(events []format.Event, thread int32) (names []string) {
	for i := range events {
		if events[i].TID == thread {
			names = append(names, events[i].Op.String())
		}
	}
	return names
}

// Addresses become places, which keep the distances within a run of pages.
func TestMappedFiles(t *testing.T) {
	got, report := compiled(t, `# pianola script 1
1 0.000010000 openat(AT_FDCWD, "/a", O_RDWR) = 3 <0.000001000> {type=reg mode=0644 size=100000 cached=1}
1 0.000010000 mmap(NULL, 65536, PROT_READ|PROT_WRITE|PROT_EXEC, MAP_SHARED, 3, 8192) = 0x7f0000100000 <0.000001000>
1 0.000010000 close(3) = 0 <0.000001000>
1 0.000010000 map_read(0x7f0000108000, 4096, 40960) = 4096 <0.000100000>
1 0.000010000 map_write(0x7f0000108000, 4096, 40960) = 4096
1 0.000010000 msync(0x7f0000100000, 65536, MS_SYNC) = 0 <0.001000000>
1 0.000010000 madvise(0x7f0000100000, 4096, MADV_RANDOM) = 0 <0.000001000>
1 0.000010000 mprotect(0x7f0000100000, 4096, PROT_READ) = 0 <0.000001000>
1 0.000010000 mremap(0x7f0000100000, 65536, 131072, MREMAP_MAYMOVE) = 0x7f0000200000 <0.000001000>
1 0.000010000 map_read(0x7f0000208000, 4096, 40960) = 4096
1 0.000010000 map_read(0x7f0000210000, 4096, 73728) = -1 EFAULT (Bad address)
1 0.000010000 munmap(0x7f0000100000, 1048576) = 0 <0.000001000>
1 0.000010000 munmap(0x7f0000200000, 268435456) = 0 <0.000001000>
1 0.000010000 map_read(0x7f0000208000, 4096, 40960) = 4096
1 0.000010000 msync(0x7f0000200000, 4096, MS_SYNC) = 0 <0.001000000>
`, compile.Options{})
	e := got.events
	require.Equal(t, []string{"open", "mmap", "close", "map_read", "map_write", "msync", "madvise", "mprotect", "mremap", "map_read", "map_read", "munmap", "munmap"}, ops(e, 1))
	first, second := int64(page), int64(page+65536)
	require.Equal(t, [6]int64{0, 65536, 7, 1, 3, 8192}, e[1].Args)
	require.Equal(t, place(first), e[1].Ret)
	require.Equal(t, [6]int64{place(first + 0x8000), 4096, 40960}, e[3].Args)
	require.Equal(t, e[3].Args, e[4].Args)
	require.Equal(t, [6]int64{place(first), 65536, 4}, e[5].Args)
	require.Equal(t, place(first), e[6].Args[0])
	require.Equal(t, [6]int64{place(first), 65536, 131072, 1}, e[8].Args)
	require.Equal(t, place(second), e[8].Ret)
	require.Equal(t, place(second+0x8000), e[9].Args[0])
	require.EqualValues(t, -14, e[10].Ret)
	require.Zero(t, e[11].Args[0], "it is mapped somewhere else by now")
	require.Equal(t, [6]int64{place(second), 131072}, e[12].Args, "the size is that of the run of pages")
	size, _ := got.header.Value(format.MetaMapped)
	require.Equal(t, "200704", size)
	require.EqualValues(t, 2, report.LeftOut.Total())
}

// A fault says how large the file was, as a read does.
func TestFaultsRaiseFiles(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
1 0.000010000 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000001000> {type=reg mode=0644}
1 0.000010000 mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f0000100000 <0.000001000>
1 0.000010000 map_read(0x7f0000108000, 4096, 32768) = 4096 <0.000100000>
`, compile.Options{})
	require.EqualValues(t, 32769, got.header.Files[0].Size)
}

// A fault of a file that no recorded call has mapped maps it.
func TestFaultsOfPrograms(t *testing.T) {
	got, report := compiled(t, `# pianola script 1
1 0.000010000 map_read(0x550000100000, 4096, 8192) = 4096 <0.000100000> {path="/usr/bin/a" filled}
1 0.000010000 map_read(0x550000100000, 4096, 8192) = 4096 <0.000100000> {path="/usr/bin/a"}
1 0.000010000 map_read(0x550000108000, 4096, 8192) = 4096 <0.000100000> {path="/proc/a"}
1 0.000010000 map_read(0x550000108000, 4096, 8192) = 4096 <0.000100000>
`, compile.Options{})
	require.Equal(t, []string{"open", "mmap", "close", "map_read", "map_read", "mmap"}, ops(got.events, 1))
	require.Equal(t, "usr/bin/a", got.header.Files[len(got.header.Files)-1].Path)
	require.EqualValues(t, 100_000, got.events[3].Dur)
	require.EqualValues(t, 2, report.Programs)
}

// A mapping from before the recording can be written if a fault makes a page dirty.
func TestFaultsOfEarlierMappings(t *testing.T) {
	got, report := compiled(t, `# pianola script 1
1 0.000010000 map_write(0x7f0000100000, 4096, 8192) = 4096 {path="/w/a"}
1 0.000010000 map_write(0x7f0000100000, 4096, 8192) = 4096 {path="/w/a"}
1 0.000010000 map_read(0x7f0000100000, 4096, 8192) = 4096 {path="/w/a"}
1 0.000010000 map_read(0x7f0000101000, 4096, 12288) = 4096 {path="/w/a"}
1 0.000010000 map_write(0x7f0000101000, 4096, 12288) = 4096 {path="/w/a"}
1 0.000010000 msync(0x7f0000100000, 8192, MS_SYNC) = 0 <0.000001000>
1 0.000010000 openat(AT_FDCWD, "/w/b", O_RDWR) = 3 <0.000001000> {type=reg mode=0644 size=100000 cached=1}
1 0.000010000 mmap(NULL, 65536, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000200000 <0.000001000>
1 0.000010000 map_write(0x7f0000200000, 4096, 0) = 4096 {path="/w/b"}
`, compile.Options{})
	e := got.events
	require.Equal(t, []string{"open", "mmap", "close", "map_write", "map_write", "map_read", "open", "mmap", "close", "map_read",
		"open", "mmap", "close", "map_write", "msync", "open", "mmap", "map_write"}, ops(e, 1), "what a call has mapped is not mapped again")
	require.EqualValues(t, format.RDWR, e[0].Args[1])
	require.Equal(t, []int64{3, 1}, e[1].Args[2:4])
	require.EqualValues(t, format.RDONLY, e[6].Args[1])
	require.Equal(t, []int64{1, 2}, e[7].Args[2:4])
	require.Equal(t, []int64{3, 1}, e[11].Args[2:4])
	require.Equal(t, e[7].Ret, e[11].Ret)
	require.EqualValues(t, 3, report.Programs)
	require.Zero(t, report.LeftOut.Total())
}

// Faults without an address, of processes that ended early, are each mapped.
func TestFaultsOfEndedPrograms(t *testing.T) {
	got, report := compiled(t, `# pianola script 1
1 0.000010000 map_read(NULL, 4096, 8192) = 4096 <0.000100000> {path="/usr/bin/a" filled}
1 0.000010000 map_read(NULL, 4096, 8192) = 4096 <0.000200000> {path="/lib/b" filled}
1 0.000010000 map_read(NULL, 4096, 8192) = 4096 <0.000100000> {dev=254:0 ino=7 filled}
`, compile.Options{})
	require.Equal(t, []string{"open", "mmap", "close", "map_read", "open", "mmap", "close", "map_read"}, ops(got.events, 1))
	require.EqualValues(t, 2, report.Programs)
	require.EqualValues(t, 1, report.LeftOut.Total())
	require.Positive(t, got.events[3].Args[0])
	require.EqualValues(t, 200_000, got.events[7].Dur)
}

// edgesOf returns what an event comes after.
func edgesOf(e *format.Event) (list []string) {
	for i := range e.Edges {
		list = append(list, string(e.Edges[i].Append(nil)))
	}
	return list
}

// Faults come after what mapped the file and wrote the bytes, and what unmaps or
// truncates it after the faults.
func TestOrderOfFaults(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
1 0.000010000 openat(AT_FDCWD, "/a", O_RDWR) = 3 <0.000001000> {type=reg mode=0644 size=100000 cached=1}
1 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 2 <0.000001000>
1 0.000010000 mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000100000 <0.000001000>
2 0.000010000 map_read(0x7f0000108000, 4096, 32768) = 4096 <0.000001000>
1 0.000010000 pwrite64(3, 0x1000, 4096, 32768) = 4096 <0.000001000>
2 0.000010000 map_write(0x7f0000108000, 4096, 32768) = 4096 <0.000001000>
1 0.000010000 ftruncate(3, 4096) = 0 <0.000001000>
2 0.000010000 map_read(0x7f0000109000, 4096, 36864) = -1 EFAULT (Bad address)
1 0.000010000 ftruncate(3, 100000) = 0 <0.000001000>
2 0.000010000 map_read(0x7f0000101000, 4096, 4096) = 4096
1 0.000010000 munmap(0x7f0000100000, 65536) = 0 <0.000001000>
2 0.000010000 mmap(NULL, 65536, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000100000 <0.000001000>
`, compile.Options{})
	after := map[string][]string{}
	for i := range got.events {
		e := &got.events[i]
		key := e.Op.String()
		for after[key] != nil {
			key += "'"
		}
		after[key] = append([]string{}, edgesOf(e)...)
	}
	require.Equal(t, []string{"1:2:descriptor"}, after["map_read"])
	require.Equal(t, []string{"1:3:bytes"}, after["map_write"])
	require.Equal(t, []string{"2:1:bytes"}, after["ftruncate"])
	require.Equal(t, []string{"1:4:bytes"}, after["map_read'"])
	require.Equal(t, []string{"2:2:bytes"}, after["ftruncate'"])
	require.Equal(t, []string{"1:5:bytes"}, after["map_read''"])
	require.Equal(t, []string{"2:3:descriptor"}, after["munmap"])
	require.Equal(t, []string{"1:6:descriptor"}, after["mmap'"])
}

// A child has what its parent has mapped, in the same places, until it execs.
func TestMappedFilesOfChildren(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
1 0.000010000 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000001000> {type=reg mode=0644 size=100000 cached=1}
1 0.000010000 mmap(NULL, 65536, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000100000 <0.000001000>
1 0.000010000 fork() = 2 <0.000001000>
2 0.000010000 map_read(0x7f0000101000, 4096, 4096) = 4096
2 0.000010000 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000110000 <0.000001000>
2 0.000010000 execve("/bin/b", 0, 0) = 0
2 0.000010000 map_read(0x7f0000101000, 4096, 4096) = 4096
2 0.000010000 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000110000 <0.000001000>
1 0.000010000 map_read(0x7f0000101000, 4096, 4096) = 4096
`, compile.Options{})
	require.Equal(t, []string{"map_read", "mmap", "execve", "mmap"}, ops(got.events, 2))
	var places []int64
	for _, e := range got.events {
		switch {
		case e.Op == format.OpMapRead:
			places = append(places, e.Args[0])
		case e.Op == format.OpMmap:
			places = append(places, e.Ret)
		}
	}
	require.Equal(t, []int64{place(page), place(2 * page), place(page + 65536), place(page), place(2 * page)}, places)
}
