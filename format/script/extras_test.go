package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// Stacks, dumps, the table of -C, names of commands and comments beside numbers are no
// part of the events.
func TestExtrasOfStrace(t *testing.T) {
	read := func(text string) []format.Event {
		t.Helper()
		all, err := testkit.ReadAll(NewReader(strings.NewReader(text), "f"), 3)
		require.NoError(t, err)
		for i := range all {
			all[i].Line = 0
		}
		return all
	}
	want := read(`7 0.000010 openat(AT_FDCWD, "a/*b*/", O_RDWR|O_CREAT, 0600) = 3 <0.000001>
7 0.000010 read(3, "x", 10) = 1 <0.000001>
`)
	require.Len(t, want, 2)
	for name, text := range map[string]string{
		"-k": `7 0.000010 openat(AT_FDCWD, "a/*b*/", O_RDWR|O_CREAT, 0600) = 3 <0.000001>
 > /usr/lib/libc.so.6(open+0x1) [0x1ab70]
7 0.000010 read(3, "x", 10) = 1 <0.000001>
 > /usr/lib/libc.so.6(read+0x1) [0x1ab70]
`,
		"-e read=all": `7 0.000010 openat(AT_FDCWD, "a/*b*/", O_RDWR|O_CREAT, 0600) = 3 <0.000001>
7 0.000010 read(3, "x", 10) = 1 <0.000001>
 | 00000  78                                                x                |
`,
		"-C": `7 0.000010 openat(AT_FDCWD, "a/*b*/", O_RDWR|O_CREAT, 0600) = 3 <0.000001>
7 0.000010 read(3, "x", 10) = 1 <0.000001>
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 77.34    0.000215          21        10         5 wait4
100.00    0.000278                    15         5 total
`,
		"-Y": `7<a>b> 0.000010 openat(AT_FDCWD, "a/*b*/", O_RDWR|O_CREAT, 0600) = 3 <0.000001>
7<a>b> 0.000010 read(3, "x", 10) = 1 <0.000001>
`,
		"-X verbose": `7 0.000010 openat(-100 /* AT_FDCWD */, "a/*b*/", 0x42 /* O_RDWR|O_CREAT */, 0600) = 3 <0.000001>
7 0.000010 read(3, "x", 10) = 1 <0.000001>
`,
		"-X raw": `7 0.000010 openat(-100, "a/*b*/", 0x42, 0600) = 3 <0.000001>
7 0.000010 read(3, "x", 10) = 1 <0.000001>
`,
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, want, read(text)) })
	}
}
