package script

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// An event has the number of its line; a call that strace finishes on a later line has
// the number of that line.
func TestLines(t *testing.T) {
	r := NewReader(strings.NewReader("# pianola script 1\n\n1 0.1 close(3) = 0 <0.1>\n# remark: x\n1 0.1 close(4) = 0 <0.1>\n"), "trace.txt")
	events := make([]format.Event, 4)
	n, err := r.Read(events)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.EqualValues(t, 3, events[0].Line)
	require.EqualValues(t, 5, events[1].Line)

	const entering = "1 0.1 close(3) = 0 <0.1>\n# process: 7 threads=7\n# fd: 7 1 O_RDONLY 0 \"/x\"\n7 0.1 close(1) = 0 <0.1>\n"
	r = NewReader(strings.NewReader(entering), "trace.txt")
	got, err := testkit.ReadAll(r, 1)
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Equal(t, int32(7), got[1].TID)
	require.EqualValues(t, 200000000, got[1].Start, "that of the event that follows")
	require.Equal(t, []format.Running{{Process: 7, Threads: []int32{7}, Umask: -1}}, got[1].Enters.Running())
	require.Len(t, got[1].Enters.Descriptors, 1)
	require.Empty(t, r.Header().Running())
	for _, size := range []int{2, 3, 4} {
		r = NewReader(strings.NewReader(entering+"# process: 9 threads=9\n"), "trace.txt")
		again, err := testkit.ReadAll(r, size)
		require.NoError(t, err)
		require.Len(t, again, 4)
		require.Equal(t, got, again[:3])
		require.Equal(t, int32(9), again[3].TID, "with no event after it")
	}
	var b bytes.Buffer
	w := NewWriter(&b)
	require.NoError(t, w.Write(got))
	require.NoError(t, w.Flush())
	again, err := testkit.ReadAll(NewReader(&b, "written"), 2)
	require.NoError(t, err)
	require.Equal(t, got[1].Enters, again[1].Enters)

	r = NewReader(strings.NewReader("1 0.1 read(3,  <unfinished ...>\n2 0.1 close(4) = 0 <0.1>\n1 0.1 <... read resumed>0x1, 10) = 10 <0.1>\n"), "trace.txt")
	n, err = r.Read(events)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.EqualValues(t, 2, events[0].Line)
	require.EqualValues(t, 3, events[1].Line)
}
