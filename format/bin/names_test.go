package bin

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestApplicationNames(t *testing.T) {
	names := []format.AppName{
		{Path: ".", Name: "/"},
		{Path: "pianola_tmp1", Name: "/wal"},
		{Path: "pianola_tmp2", Name: "/var/lib/wal"},
		{Path: "var/lib/pianola_tmp3", Name: "/var/lib/\xff"},
		{Path: "var/lib/pianola_tmp4", Name: "/var/lib/"},
		{Path: "var/lib/pianola_tmp5", Name: "/var/lib2/x"},
		{Path: "x/", Name: "/x/y"},
	}
	events := []format.Event{{Op: format.OpFsync, TID: 1}}
	shuffled := []format.AppName{names[4], names[0], names[6], names[2], names[1], names[3], names[5]}
	file := compiled(t, &format.Header{Names: shuffled}, events)
	require.Equal(t, names, opened(t, file).Header().Names)
	require.Equal(t, names[4], shuffled[0], "the header stays as it was")
	require.Equal(t, file, compiled(t, &format.Header{Names: names}, events), "their order leaves no mark")
	require.Equal(t, file, compiled(t, &format.Header{Names: append(names, format.AppName{Path: "x/", Name: "/z"})}, events), "of several names the first counts")

	// They have a part of their own, which readers can skip.
	for _, p := range pieces(t, file) {
		if p.kind == kindNames {
			require.Zero(t, p.flags&flagRequired)
			continue
		}
		text, err := opened(t, file).loader.text(&p.part)
		require.True(t, err != nil || !bytes.Contains(text, []byte("wal")))
	}
	require.Equal(t, []string{"head 0", "slen 0", "strs 0", "recs 1", "durs 1"}, tagsOf(t, compiled(t, &format.Header{}, events)))
	require.Equal(t, []string{"head 0", "slen 0", "strs 0", "apps 0", "recs 1", "durs 1"}, tagsOf(t, file))

	// An older compile took such a line of a script for a remark.
	head := craft(text(kindHeader, "# name: \"a\" \"/b\"\n"), table(kindLengths, 0), text(kindBytes, ""))
	require.Equal(t, []format.AppName{{Path: "a", Name: "/b"}}, opened(t, head).Header().Names)
}

// A name in the directory of its path takes the bytes of its last component.
func TestApplicationNamesAreShort(t *testing.T) {
	var near, far []format.AppName
	dir := strings.Repeat("directory/", 20)
	for i := range 1000 {
		path := fmt.Sprint(dir, "pianola_tmp", i)
		near = append(near, format.AppName{Path: path, Name: fmt.Sprint("/", dir, "f", i)})
		far = append(far, format.AppName{Path: path, Name: fmt.Sprint("/other/", dir, "f", i)})
	}
	one, other := writeNames(nil, &format.Header{Names: near}), writeNames(nil, &format.Header{Names: far})
	require.Equal(t, len(dir)+len("/other/"), (len(other.text)-len(one.text))/1000)
}

// What Open counts for names is no less than what they take.
func TestOpenCountsNames(t *testing.T) {
	h := &format.Header{}
	events := mixed(rowsPerPart)
	measure := func() (heap, counted int64) {
		file := compiled(t, h, events)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		tr := opened(t, file)
		_, err := every(tr.Events(), 1) // the decoder keeps what it has decompressed last
		require.NoError(t, err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		counted = tr.loader.budget.used.Load()
		runtime.KeepAlive(tr)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc), counted
	}
	bareHeap, bare := measure()
	for i := range 100_000 {
		h.Names = append(h.Names, format.AppName{Path: fmt.Sprintf("some/directory/%d", i), Name: fmt.Sprintf("/some/directory/file%d", i)})
	}
	heap, counted := measure()
	require.Less(t, heap-bareHeap, counted-bare+1<<20)
}
