package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
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

	r = NewReader(strings.NewReader("1 0.1 close(3) = 0 <0.1>\n# process: 7 threads=7\n# fd: 7 1 O_RDONLY 0 \"/x\"\n7 0.1 close(1) = 0 <0.1>\n"), "trace.txt")
	for want := range 2 {
		n, err = r.Read(events)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Len(t, r.Header().Running(), want, "with the event that follows")
	}

	r = NewReader(strings.NewReader("1 0.1 read(3,  <unfinished ...>\n2 0.1 close(4) = 0 <0.1>\n1 0.1 <... read resumed>0x1, 10) = 10 <0.1>\n"), "trace.txt")
	n, err = r.Read(events)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.EqualValues(t, 2, events[0].Line)
	require.EqualValues(t, 3, events[1].Line)
}
