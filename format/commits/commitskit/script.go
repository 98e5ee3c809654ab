package commitskit

import (
	"fmt"
	"strings"
)

// NextLogs returns the recording of a program. In each of ten rounds one thread, 102, makes a file /w/nextN
// and commits to a log. Another one, 103, waits for the commit and then makes some calls: lines in which
// %[1]d is N.
func NextLogs(then string) string {
	var b strings.Builder
	b.WriteString(`# pianola script 1
# recorder: ebpf
# lost: 0
101 0.000001000 openat(AT_FDCWD, "/w/log", O_RDWR|O_CREAT, 0600) = 3 <0.000000100> {type=reg size=0}
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000000100>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 103 <0.000000100>
`)
	for i := range 10 {
		fmt.Fprintf(&b, `102 0.001000000 openat(AT_FDCWD, "/w/next%[1]d", O_RDWR|O_CREAT|O_EXCL, 0600) = 4 <0.000001000> {type=reg size=0 new}
102 0.000010000 write(3, 0x1000, 100) = 100 <0.000001000>
102 0.000002000 fdatasync(3) = 0 <0.000100000>
103 0.000010000 wait(FUTEX, 0x3) = 0 <0.000095000> {by=102}
`+then, i)
	}
	return b.String()
}
