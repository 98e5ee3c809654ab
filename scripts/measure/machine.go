package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format/provenance"
)

// scratch is where files are made that must cost nothing: a tmpfs where there is one.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// watched is how long machine looks at the processors.
const watched = time.Second

// quietShare is the share of the processors' time that other work may take on a quiet
// machine. Kernel threads and timers take a few thousandths.
const quietShare = 0.05

// busy returns the share of the processors' time that is not idle, over watched,
// with what the hypervisor takes for others.
func busy() (share float64, err error) {
	before, err := provenance.ReadProcessors()
	if err != nil {
		return 0, err
	}
	time.Sleep(watched)
	after, err := provenance.ReadProcessors()
	if err != nil || after.All.All == before.All.All {
		return 0, err
	}
	return float64(after.All.Busy()-before.All.Busy()) / float64(after.All.All-before.All.All), nil
}

// machine says how many processors there are, and how busy they are with other work.
func machine() string {
	share, err := busy()
	if err != nil {
		return err.Error()
	}
	word := "quiet"
	if share > quietShare {
		word = "NOT QUIET"
	}
	return fmt.Sprintf("%d processors, %.0f %% of them taken by other work: %s", runtime.NumCPU(), 100*share, word)
}

// description is what figures depend on of a machine. It has no name of it.
type description struct {
	Processor  string  `json:"processor"`
	Processors int     `json:"processors"`
	Memory     float64 `json:"memory_gib"`
	Kernel     string  `json:"kernel"`
	FileSystem string  `json:"file_system"` // of the directory in which it worked
}

// described describes the machine. Unknown fields are empty.
func described(dir string) (d description) {
	d.Processors = runtime.NumCPU()
	d.Processor = field("/proc/cpuinfo", "model name")
	fmt.Sscan(field("/proc/meminfo", "MemTotal"), &d.Memory)
	d.Memory = math.Round(d.Memory / (1 << 20))
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		d.Kernel = strings.TrimSpace(string(kernel))
	}
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) == nil {
		d.FileSystem = systems[int64(s.Type)]
	}
	return d
}

var systems = map[int64]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay"}

// field returns what a file says after a name and a colon.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// cold drops what the page cache holds of the files below a directory, once they are
// written. The file system itself stays cached, as it does before a replay.
func cold(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
	})
}

// clock runs a command as its own, and appends what it took to a file as figures. If the
// command fails, that is the error.
func clock(ctx context.Context, file string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if cmd.ProcessState == nil {
		return err
	}
	f, failed := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if failed != nil {
		return failed
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	_, failed = fmt.Fprintf(f, "%.9f run time, s\n%.6f user, s\n%.6f processor, s\n%.3f memory, MiB\n", took.Seconds(), cmd.ProcessState.UserTime().Seconds(),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), float64(usage.Maxrss)/1024)
	return errors.Join(err, failed, f.Close())
}
