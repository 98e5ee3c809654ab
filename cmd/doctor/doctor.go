// Package doctor checks whether a machine and a user can record and replay, and says what to
// do if something is missing.
package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pianola/compile"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/record"
	"pianola/record/ebpf"
	"pianola/record/ptrace"
	"pianola/replay"
)

// Report is what the doctor found.
type Report struct {
	OK       bool      `json:"ok"` // the machine and the user can record and replay
	Findings []finding `json:"findings"`
	Features []feature `json:"features"`
}

// Examine tries everything that recording and replaying need. It works in a new directory in
// the working directory, and removes it.
func Examine(ctx context.Context) (*Report, error) {
	findings, recorded, err := recorderFindings(ctx)
	if err != nil {
		return nil, err
	}
	r := &Report{OK: true, Findings: append(findings, replayFinding(ctx)), Features: features(recorded)}
	for _, f := range r.Findings {
		r.OK = r.OK && (f.OK || f.Optional)
	}
	return r, nil
}

// WriteText writes a line for each finding and each feature, and hints.
func (r *Report) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	printFindings(w, r.Findings)
	printFeatures(w, r.Features)
	return w.Flush()
}

// finding is one line of the doctor's output.
type finding struct {
	What     string `json:"what"`
	OK       bool   `json:"ok"`
	Optional bool   `json:"optional,omitempty"` // not needed, because another way works
	Found    string `json:"found,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

func printFindings(w io.Writer, findings []finding) {
	for _, f := range findings {
		mark := "ok"
		switch {
		case f.Optional:
			mark = "without"
		case !f.OK:
			mark = "missing"
		}
		fmt.Fprintf(w, "%-8s %s", mark, f.What)
		if f.Found != "" {
			fmt.Fprintf(w, ": %s", f.Found)
		}
		fmt.Fprintln(w)
		if f.Hint != "" {
			fmt.Fprintf(w, "%8s hint: %s\n", "", f.Hint)
		}
	}
}

// recorderFindings tries eBPF and, if that fails, ptrace, as record does. It reports
// whether eBPF works.
func recorderFindings(ctx context.Context) (_ []finding, recorded bool, _ error) {
	s, err := ebpf.Probe()
	if err != nil {
		return nil, false, err
	}
	if s.OK() {
		return []finding{{What: "record", OK: true, Found: fmt.Sprintf(
			"Linux %s; an event costs the application %d ns", s.Kernel, s.Cost.Inside+s.Cost.Outside)}}, true, nil
	}
	cost, err := tryPtrace(ctx)
	problems := s.Problems
	if dirs := unmounted(); dirs != "" { // one hint for all that it causes
		problems = []ebpf.Problem{{What: "kernel file systems", Err: errors.New(dirs + " not mounted"), Hint: "mount " + dirs}}
	}
	var found []finding
	for _, p := range problems {
		found = append(found, finding{What: "record with eBPF: " + p.What, Optional: err == nil, Found: p.Err.Error(), Hint: p.Hint})
	}
	f := finding{What: "record in the process", OK: err == nil}
	if err != nil {
		f.Found, f.Hint = err.Error(), ptraceHint(err)
	} else {
		f.Found = fmt.Sprintf("Linux %s; an event costs the application %d ns", s.Kernel, cost.Inside+cost.Outside)
	}
	return append(found, f), false, nil
}

// unmounted names the kernel file systems that eBPF needs and that are not
// mounted.
func unmounted() string {
	var dirs []string
	for _, name := range []string{"/proc/self", "/sys/kernel"} {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			dirs = append(dirs, filepath.Dir(name))
		}
	}
	return strings.Join(dirs, " and ")
}

// self is the path of this program, the only one that is sure to exist.
const self = "/proc/self/exe"

// ptraceHint says what may help if recording with ptrace fails.
func ptraceHint(err error) string {
	if _, gone := os.Stat(self); gone != nil {
		return "mount /proc"
	}
	if errors.Is(err, record.ErrPermission) {
		return "set kernel.yama.ptrace_scope to 1, or give the container CAP_SYS_PTRACE"
	}
	return "use Linux 5.3 or newer, and a container that allows ptrace and seccomp"
}

// tryPtrace records this program, which prints its help into a pipe. The pipe
// has room for all of it.
func tryPtrace(ctx context.Context) (format.Cost, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return format.Cost{}, err
	}
	defer in.Close()
	defer out.Close()
	var seen counted
	r, err := ptrace.Run(ctx, record.Options{Command: []string{self, "--help"}, Stdout: out, Stderr: out}, &seen)
	if err == nil && seen == 0 {
		err = fmt.Errorf("no event of a command that ended with status %d", r.Status)
	}
	return r.Cost, err
}

// counted is a record.Sink that only counts events.
type counted int

func (n *counted) Write(events []format.Event) error {
	*n += counted(len(events))
	return nil
}

func (n *counted) WriteHeader(*format.Header) error { return nil }

// checkup is the script that the doctor replays.
const checkup = `# pianola script 1
1 0.000001000 mkdir("/d", 0700) = 0 <0.000001000>
1 0.000001000 openat(AT_FDCWD, "/d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000>
1 0.000001000 pwrite64(3, 0x1000, 4096, 0) = 4096 <0.000001000>
1 0.000001000 fsync(3) = 0 <0.000001000>
1 0.000001000 pread64(3, 0x1000, 4096, 0) = 4096 <0.000001000>
1 0.000001000 close(3) = 0 <0.000001000>
1 0.000001000 unlink("/d/f") = 0 <0.000001000>
1 0.000001000 rmdir("/d") = 0 <0.000001000>
`

// replayFinding replays checkup in a new directory in the working directory.
func replayFinding(ctx context.Context) finding {
	f := finding{What: "replay"}
	r, err := tryReplay(ctx)
	switch {
	case err != nil:
		f.Found, f.Hint = err.Error(), "use Linux 5.8 or newer, and a container that allows chroot or openat2"
		if h, ok := errors.AsType[*console.Hint](err); ok {
			f.Hint = h.Text
		}
	case r.Differed > 0:
		f.Found = fmt.Sprintf("%d of %d results differ", r.Differed, r.Executed)
		f.Hint = "try a working directory on another file system"
	default:
		f.OK = true
		f.Found = "a file was written, synced and read in the working directory"
	}
	return f
}

func tryReplay(ctx context.Context) (*replay.Result, error) {
	dir, err := os.MkdirTemp(".", "pianola-doctor-")
	if err != nil {
		return nil, console.WithHint(err, "choose a working directory that can be written to")
	}
	defer os.RemoveAll(dir)
	var spools [3]*os.File // of the trace, and of what the compiler needs
	for i, in := range []string{dir, "", ""} {
		if spools[i], err = files.Spool(in); err != nil {
			return nil, err
		}
		defer spools[i].Close()
	}
	w := bin.NewWriter(spools[0], spools[1])
	if _, err := compile.Compile(script.NewReader(strings.NewReader(checkup), "checkup"), spools[2], w, compile.Options{}); err != nil {
		return nil, err
	}
	info, err := spools[0].Stat()
	if err != nil {
		return nil, err
	}
	t, err := bin.Open(spools[0], info.Size(), bin.DefaultLimit)
	if err != nil {
		return nil, err
	}
	return replay.Run(ctx, t, replay.Options{Root: filepath.Join(dir, "root")})
}
