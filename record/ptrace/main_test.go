package ptrace

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childVariable makes the test binary play the part of the application: it
// reads 4 KiB from the page cache as often as the variable says and prints the
// nanoseconds that a read took.
const childVariable = "PIANOLA_TEST_READS"

func TestMain(m *testing.M) {
	Main()
	if reads, ok := os.LookupEnv(childVariable); ok {
		if err := readLoop(reads); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func readLoop(reads string) error {
	n, err := strconv.Atoi(reads)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	fd, err := unix.MemfdCreate("child", 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 4096)
	if _, err := unix.Pwrite(fd, buf, 0); err != nil {
		return err
	}
	start := time.Now()
	for range n {
		if _, err := unix.Pread(fd, buf, 0); err != nil {
			return err
		}
	}
	fmt.Println(float64(time.Since(start).Nanoseconds()) / float64(n))
	return nil
}
