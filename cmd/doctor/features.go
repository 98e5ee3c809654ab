package doctor

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pianola/internal/available"
	"pianola/internal/table"
	"pianola/record/ebpf"
	"pianola/replay/rings"
	"pianola/replay/sandbox"
)

// feature is something that Pianola uses where the machine has it, or that what it measures
// depends on.
type feature struct {
	What    string `json:"what"`
	State   state  `json:"state"`
	Found   string `json:"found,omitempty"`
	Without string `json:"without,omitempty"` // what is lost, if the state is without
	Hint    string `json:"hint,omitempty"`
}

// state is the first word of a line of the doctor's output.
type state string

const (
	here    state = "ok"
	without state = "without" // Pianola works without it, less well
	unused  state = "unused"  // it makes no difference
)

// has returns a feature that is there or not.
func has(what string, ok bool, found, lost, hint string) feature {
	if ok {
		return feature{What: what, State: here, Found: found}
	}
	return feature{What: what, State: without, Found: found, Without: lost, Hint: hint}
}

func printFeatures(w io.Writer, features []feature) {
	fmt.Fprintln(w, "\nFeatures of this machine:")
	for _, f := range features {
		fmt.Fprintf(w, "%-8s %s", f.State, f.What)
		if f.Found != "" {
			fmt.Fprintf(w, ": %s", f.Found)
		}
		fmt.Fprintln(w)
		if f.Without != "" {
			fmt.Fprintf(w, "%8s lost: %s\n", "", f.Without)
		}
		if f.Hint != "" {
			fmt.Fprintf(w, "%8s hint: %s\n", "", f.Hint)
		}
	}
}

// features asks for all features. recorded says whether eBPF works.
func features(recorded bool) []feature {
	all := eBPFFeatures(recorded)
	return append(append(all, replayFeatures()...), machineFeatures("/")...)
}

// eBPFFeatures are those of recording.
func eBPFFeatures(recorded bool) []feature {
	all := []feature{has("recording with eBPF", recorded, "", "record works in the process, and cannot attach, follow ranks or record libraries", "")}
	kernel, err := ebpf.Features()
	if err != nil {
		return append(all, has("type information of the kernel", false, err.Error(), "recording with eBPF", "use a kernel built with CONFIG_DEBUG_INFO_BTF"))
	}
	all = append(all, has("type information of the kernel", true, "", "", ""))
	for _, f := range kernel {
		if recorded {
			all = append(all, has(f.Name, f.Present, "", f.Without, "use Linux "+f.Since+" or newer"))
		}
	}
	return all
}

// replayFeatures are those of replaying.
func replayFeatures() []feature {
	jail := enterJail()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, openat2 := unix.Openat2(unix.AT_FDCWD, ".", &how)
	if openat2 == nil {
		_ = unix.Close(fd)
	}
	landlock := sandbox.LandlockVersion()
	ring := rings.RingRefused(sandbox.Linux)
	return []feature{
		has("root directory of its own for a replaying thread", jail == nil, reason(jail),
			"a call on a name needs two calls, because openat2 resolves the name first", "replay as root, outside of the container"),
		has("openat2", openat2 == nil, reason(openat2), "a replay takes a root directory of its own", "use Linux 5.6 or newer"),
		has("Landlock", landlock >= sandbox.MinLandlock, fmt.Sprintf("version %d", max(landlock, 0)),
			"replay --landlock fails, and nothing backs up openat2", "use Linux 5.19 or newer, and boot it with landlock in lsm="),
		has("io_uring", ring == nil, reason(ring), "threads replay requests of rings by calls that wait", "set kernel.io_uring_disabled to 0, and use a container that allows io_uring"),
	}
}

// reason is the text of an error, if there is one.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// enterJail tries whether a thread can have a root directory of its own. The thread ends.
func enterJail() error {
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		tried <- func() error {
			dir, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return os.NewSyscallError("open", err)
			}
			defer unix.Close(dir)
			g := sandbox.Guard{Kernel: sandbox.Linux, Root: uintptr(dir)}
			defer g.Close()
			return g.Enter(true)
		}()
	}()
	return <-tried
}

// machineFeatures are what a machine has, in the file systems at a root.
func machineFeatures(root string) []feature {
	return []feature{
		userNamespace(), ptraceScope(root), unprivileged(root), perfEvents(root), controlGroups(), freeMemory(), freeThreads(), clock(root),
		steadySpeed(root), idleStates(root), freeDisk("working directory", "."), freeDisk("temporary files", os.TempDir()),
	}
}

// line returns the first line of a file below a root, "" if it can't be read.
func line(root, name string) string {
	text, _ := os.ReadFile(filepath.Join(root, name))
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// userNamespace says whether the capabilities of the process count for eBPF.
func userNamespace() feature {
	return has("first user namespace", !ebpf.InUserNamespace(), "", "the kernel refuses eBPF to root of another one: record works in the process", "record outside of the container")
}

// ptraceScope says whether a process may trace its children.
func ptraceScope(root string) feature {
	scope := line(root, "proc/sys/kernel/yama/ptrace_scope")
	restricted, _ := strconv.Atoi(scope)
	found := cmp.Or(scope, "no Yama")
	return has("kernel.yama.ptrace_scope", restricted < 2, found, "only root can record in the process or with ptrace, and with 3 not even root", "set kernel.yama.ptrace_scope to 1")
}

func unprivileged(root string) feature {
	return feature{What: "kernel.unprivileged_bpf_disabled", State: unused,
		Found: cmp.Or(line(root, "proc/sys/kernel/unprivileged_bpf_disabled"), "not there") + "; recording with eBPF needs capabilities in any case"}
}

func perfEvents(root string) feature {
	return feature{What: "kernel.perf_event_paranoid", State: unused,
		Found: cmp.Or(line(root, "proc/sys/kernel/perf_event_paranoid"), "not there") + "; Pianola uses no events of perf"}
}

// controlGroups says which version of control groups bounds memory.
func controlGroups() feature {
	const what = "control group for memory"
	version := available.Controls("memory")
	if version == 0 {
		return has(what, false, "", "the memory limit of a container is not known, and the kernel can kill a command that takes more", "mount /sys/fs/cgroup in the container")
	}
	return has(what, true, fmt.Sprintf("version %d", version), "", "")
}

func freeMemory() feature {
	free, err := available.Memory()
	if err != nil {
		return has("memory", false, err.Error(), "traces can take more than there is", "mount /proc")
	}
	return has("memory", free >= 256<<20, table.Bytes(float64(free))+" available", "commands that read a recording or a trace take at most half of it, and large ones fail", "raise the limit of the container")
}

func freeThreads() feature {
	free := available.Threads()
	if free == math.MaxInt64 {
		return has("threads", true, "not limited by a control group", "", "")
	}
	return has("threads", free >= 256, fmt.Sprintf("%d more allowed", free), "traces with more threads can't be replayed", "raise pids.max of the container")
}

// quickClock is how long a reading of a clock takes at most that needs no system call, in
// nanoseconds.
const quickClock = 1000

// clock says by what the kernel keeps time, and how long a reading takes.
func clock(root string) feature {
	const readings = 1000
	least := time.Duration(math.MaxInt64)
	for range 10 {
		start := time.Now()
		end := start
		for range readings {
			end = time.Now()
		}
		least = min(least, end.Sub(start))
	}
	nanos := float64(least.Nanoseconds()) / readings
	source := cmp.Or(line(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"), "clock unknown")
	return has("clock", nanos < quickClock, fmt.Sprintf("%s; a reading takes %.0f ns", source, nanos),
		"each recorded event reads it twice, and replays miss their times by more", "boot with clocksource=tsc if the processor's counter is steady")
}

// steadySpeed says whether the processors keep one clock rate.
func steadySpeed(root string) feature {
	const what, lost = "steady clock rate of the processors", "the same work takes different times: compare more runs"
	governor := line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	turbo := line(root, "sys/devices/system/cpu/intel_pstate/no_turbo") == "0" || line(root, "sys/devices/system/cpu/cpufreq/boost") == "1"
	switch {
	case governor == "":
		return feature{What: what, State: unused, Found: "the kernel does not show it, as in virtual machines"}
	case turbo:
		return has(what, false, "governor "+governor+", with turbo", lost, "write 1 to intel_pstate/no_turbo or 0 to cpufreq/boost while you measure")
	}
	return has(what, governor == "performance", "governor "+governor, lost, "set the governor performance while you measure")
}

// idleStates says how long a processor takes at most to wake up.
func idleStates(root string) feature {
	const what = "processors that wake up quickly"
	states, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu0/cpuidle/state*/latency"))
	slowest := 0
	for _, name := range states {
		dir := filepath.Dir(name)
		micros, _ := strconv.Atoi(line(name, ""))
		if line(dir, "disable") != "1" {
			slowest = max(slowest, micros)
		}
	}
	if len(states) == 0 {
		return feature{What: what, State: unused, Found: "the kernel does not show it, as in virtual machines"}
	}
	return has(what, slowest <= 50, fmt.Sprintf("at most %d µs", slowest), "a thread that slept continues later, in the application and in the replay",
		"disable the deep idle states while you measure (cpupower idle-set -D 50)")
}

// leastDisk is the free space below which recordings and replays soon fail, in bytes.
const leastDisk = 1 << 30

func freeDisk(what, dir string) feature {
	what = "disk for " + what
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return has(what, false, (&os.PathError{Op: "statfs", Path: dir, Err: err}).Error(), "nothing can be written there", "choose another directory")
	}
	free := int64(min(s.Bavail, math.MaxInt64/uint64(s.Bsize))) * int64(s.Bsize)
	return has(what, free >= leastDisk, table.Bytes(float64(free))+" free", "recordings, and replays with large files, fill it", "free some space")
}
