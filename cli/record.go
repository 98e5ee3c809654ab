package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pianola/internal/console"
	"pianola/layer"
	"pianola/record"
	"pianola/record/ebpf"
	"pianola/record/ptrace"
	"pianola/table"
)

func recordCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "record",
		Usage: "record the I/O of a command, a running process or a cgroup",
		UsageText: "pianola record [OPTION]… -- COMMAND [ARG…]\n" +
			"pianola record [OPTION]… --pid PID | --cgroup PATH\n" +
			"LAUNCHER… pianola record --ranks -o DIR [OPTION]… -- COMMAND [ARG…]",
		Description: "Writes the I/O system calls of the command, its threads and its children to a text file: times,\n" +
			"sizes and paths, but no contents. The command keeps its own standard input, output and error.\n" +
			"\n" +
			"Under sudo, the command runs as the user who called sudo. Without the privileges for eBPF,\n" +
			"pianola records with ptrace, which slows each call down by 20 to 30 microseconds.\n" +
			"\n" +
			"An existing FILE is kept as FILE.old. With --runs 6, pianola runs --setup and records the command six\n" +
			"times, into trace-1.txt to trace-6.txt.\n" +
			"\n" +
			"The exit status is that of the command; 125 if pianola fails, 126 if the command can't be executed,\n" +
			"127 if there is no such command.\n" +
			"\n" +
			"Example: pianola record -o sqlite.txt -- sqlite3 app.db '.read load.sql'\n" +
			"Example: pianola record --runs 6 --setup 'rm -f app.db' -- ./load.sh\n" +
			"Example: sudo pianola record --pid 4711 --duration 60s\n" +
			"Example: mpiexec -n 4 pianola record --ranks -o ranks -- ./solver",
		Action: runRecord,
	})
}

// recorders maps the values of --tracer to functions that start a recorder.
var recorders = map[string]record.Recorder{"ebpf": ebpf.Run, "ptrace": recordByPtrace, "auto": nil}

// autoRecorder returns a recorder that uses eBPF or, if that is not possible,
// ptrace.
func autoRecorder(command string, out destination) record.Recorder {
	return func(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
		r, err := ebpf.Run(ctx, o, s)
		// A failed start has not written anything.
		if _, start := errors.AsType[*record.StartError](err); err == nil || start || out.begun() || ctx.Err() != nil {
			return r, err
		}
		console.Warn("%s: %v; recording with ptrace instead, which slows the command down more", command, err)
		return recordByPtrace(ctx, o, s)
	}
}

// recordByPtrace is ptrace.Run. It says where that takes rights from the command: the kernel does not
// change the user of what a tracer without privileges, or a filter, looks at.
func recordByPtrace(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	if path, err := o.Program(); err == nil {
		uid, gid := os.Geteuid(), os.Getegid()
		if o.Credential != nil {
			uid, gid = int(o.Credential.Uid), int(o.Credential.Gid)
		}
		if rights := rightsOf(path, uid, gid); len(rights) > 0 {
			console.Warn("with ptrace, %s does not get %s", path, strings.Join(rights, ", or "))
			console.Suggest("eBPF does not take them away: --tracer ebpf")
		}
	}
	return ptrace.Run(ctx, o, s)
}

// rightsOf returns the rights that a user gets by executing a file.
func rightsOf(path string, uid, gid int) (rights []string) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil
	}
	if st.Mode&unix.S_ISUID != 0 && int(st.Uid) != uid {
		rights = append(rights, "the rights of its owner (set-user-ID)")
	}
	// Without the right to execute for the group, the bit is no set-group-ID.
	if st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0 && int(st.Gid) != gid {
		rights = append(rights, "the rights of its group (set-group-ID)")
	}
	if n, err := unix.Getxattr(path, "security.capability", nil); err == nil && n > 0 && uid != 0 {
		rights = append(rights, "the capabilities of the file")
	}
	return rights
}

// The buffer of a recorder has at least minRing and at most maxRing bytes.
const (
	minRing = 64 << 10
	maxRing = 1 << 30
)

// sizeText returns a size of a buffer as an option has it.
func sizeText(bytes int64) string {
	if bytes%(1<<30) == 0 {
		return fmt.Sprintf("%dGiB", bytes>>30)
	}
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", bytes>>20)
	}
	return fmt.Sprintf("%dKiB", bytes>>10)
}

func runRecord(c *cli.Context) error {
	if filepath.Ext(c.String("o")) == ".gz" {
		return usage(c, "-o: a compressed script has a name that ends in .zst")
	}
	r, err := recorderOf(c)
	if err != nil {
		return err
	}
	if c.Bool("ranks") {
		return r.takeRanks(c.String("o"))
	}
	results, err := r.takeAll(numbered(c.String("o"), c.Int("runs")))
	if err != nil {
		return err
	}
	if status := results[len(results)-1].Status; status != 0 {
		return &exitError{status: status}
	}
	return nil
}

// recorder records as the command line of record or bench says.
type recorder struct {
	*cli.Context
	run     record.Recorder // nil for the one that is possible
	options record.Options
	kept    keeping  // what is kept of a recording
	who     *account // the user that the command runs as; nil for the caller
	setup   string   // shell command before each recording, "" for none

	temporary bool // the recordings are not left, so nothing is said of their files
}

func recorderOf(c *cli.Context) (*recorder, error) {
	attach := c.IsSet("pid") || c.IsSet("cgroup")
	switch {
	case !attach && c.NArg() == 0:
		return nil, usage(c, "no command given")
	case attach && c.NArg() > 0:
		return nil, usage(c, "--pid and --cgroup exclude a command: the processes run already")
	case attach && c.String("tracer") == "ptrace":
		return nil, usage(c, "--pid and --cgroup need eBPF")
	}
	who, err := findAccount(c.String("user"))
	if err != nil {
		return nil, usage(c, "--user: %v", err)
	}
	processors, err := parseProcessors(c.String("cpu"))
	if err != nil {
		return nil, usage(c, "--cpu: %v", err)
	}
	layers, err := findLayers(c)
	if err != nil {
		return nil, err
	}
	kept, err := findKept(c)
	if err != nil {
		return nil, usage(c, "%v", err)
	}
	if err := session.files.Words(c.Args().Slice()); err != nil {
		return nil, err
	}
	o := record.Options{
		Command:    c.Args().Slice(),
		RingBytes:  int(sizeOf(c, "ring")),
		Memory:     c.Bool("memory"),
		NoFaults:   c.Bool("no-faults"),
		Layers:     layers,
		LayerText:  c.Bool("layer-text"),
		LayerForce: c.Bool("slow-functions"),
		NoCommand:  c.Bool("no-command"),
		NoHost:     c.Bool("no-host"),
		Remarks:    optionsOf(c),
		PID:        c.Int("pid"),
		Cgroup:     c.String("cgroup"),
		Nice:       c.Int("nice"),
		Processors: processors,
		Duration:   c.Duration("duration"),
	}
	run := recorders[c.String("tracer")]
	if len(layers) > 0 && run == nil {
		run = ebpf.Run
	}
	if attach {
		run = ebpf.Attach
	}
	if o.Cgroup != "" {
		if err := checkCgroup(c.Command.Name, o.Cgroup); err != nil {
			return nil, err
		}
	}
	if c.Bool("ranks") {
		if err := checkRanks(c, who); err != nil {
			return nil, err
		}
		run = ebpf.Run
	}
	if who != nil {
		o.Credential, o.Env = &who.credential, who.environment()
	}
	return &recorder{Context: c, run: run, options: o, kept: kept, who: who, setup: c.String("setup")}, nil
}

// checkCgroup refuses to record a cgroup that the recorder itself is in, as the whole machine is, unless
// it is named by its directory. Then it says what is recorded.
func checkCgroup(command, path string) error {
	cgroup, err := ebpf.LookAtCgroup(path)
	if err != nil || !cgroup.Own {
		return nil // the recorder says what is wrong
	}
	others := table.Plural(cgroup.Processes-1, "other process")
	if own, err := filepath.Abs(path); err != nil || own != cgroup.Dir {
		return &exitError{ExitRecord, console.WithHint(fmt.Errorf("--cgroup %s: this recorder is in that cgroup, with %s", path, others),
			fmt.Sprintf("--cgroup %s records them all", cgroup.Dir))}
	}
	session.Say("%s: cgroup %s: recording %s, but not this recorder", command, cgroup.Dir, others)
	return nil
}

// findLayers returns the layers of --layer.
func findLayers(c *cli.Context) (layers []*layer.Layer, err error) {
	switch {
	case !c.IsSet("layer"):
		return nil, nil
	case c.String("tracer") == "ptrace":
		return nil, usage(c, "--layer needs eBPF: --tracer ptrace sees system calls only")
	}
	for _, name := range strings.Split(c.String("layer"), ",") {
		l, err := layer.Load(name)
		if err != nil {
			return nil, usage(c, "--layer: %v", err)
		}
		if slices.ContainsFunc(layers, func(other *layer.Layer) bool { return other.Name == l.Name }) {
			return nil, usage(c, "--layer: %s stands there twice", l.Name)
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// printProbed says what was found of the layers.
func (s *recorder) printProbed(r *record.Result) {
	for _, l := range s.options.Layers {
		functions, stepped := 0, 0
		var files []string
		for _, p := range r.Probed {
			if p.Layer != l.Name {
				continue
			}
			functions += p.Functions
			stepped += p.Stepped
			if p.Functions > 0 {
				files = append(files, filepath.Base(p.File))
			}
			if p.Err != nil {
				console.Warn("%s: layer %s: %s: %v", s.Command.Name, l.Name, p.File, p.Err)
			}
			if p.Late > 0 {
				console.Warn("%s: layer %s: %s was probed %v after it was opened; calls before that are not recorded", s.Command.Name, l.Name, p.File, p.Late.Round(time.Microsecond))
			}
		}
		switch {
		case functions+stepped == 0:
			console.Warn("%s: layer %s: no library was found: %s", s.Command.Name, l.Name, strings.Join(l.Libraries, " "))
		case stepped > 0:
			console.Warn("%s: layer %s: %s not probed, because each call would cost several microseconds", s.Command.Name, l.Name, table.Plural(stepped, "function"))
			fmt.Fprintf(os.Stderr, "hint: pianola layer check %s lists them; --slow-functions probes them, too\n", l.Name)
		}
		if functions > 0 && r.Spans[l.Name] == 0 {
			console.Warn("%s: layer %s: no calls were recorded: no process called a probed function of %s", s.Command.Name, l.Name, strings.Join(files, ", "))
		}
	}
}

// take records once, and says how that went. The error is one of the recorder, not the
// command's status.
func (s *recorder) take(out destination) (record.Result, error) {
	run := s.run
	if run == nil {
		run = autoRecorder(s.Command.Name, out)
	}
	o := s.options
	ctx, begin := untilBegun(s.Context.Context)
	o.Begin = begin
	r, err := run(ctx, o, out.sink)
	_ = begin() // it may have failed before
	if ferr := out.finish(err == nil); err == nil {
		err = ferr
	}
	s.printLost(os.Stderr, &r)
	if err == nil {
		s.printProbed(&r)
	}
	if ctx.Err() != nil {
		return r, &exitError{status: interruptedStatus(ctx)} // the program's context can end a moment later
	}
	if r.Coverage.Known {
		file := ""
		if !s.temporary {
			file = ", " + out.summary()
		}
		held := r.Coverage
		if held.Ended = r.Ended; err != nil {
			held.Ended = "it could not be written"
		}
		session.Say("%s: %s in %.3f s%s; %v", s.Command.Name, table.Plural(int(r.Events), "event"), r.Elapsed.Seconds(), file, &held)
	}
	if start, ok := errors.AsType[*record.StartError](err); ok {
		return r, &exitError{start.Status, err}
	}
	if err != nil {
		if errors.Is(err, record.ErrPermission) {
			err = console.WithHint(err, "pianola doctor shows what is missing")
		}
		if r.Elapsed > 0 && s.options.PID == 0 && s.options.Cgroup == "" {
			err = fmt.Errorf("%w; the command ended with status %d", err, r.Status)
		}
		return r, &exitError{ExitRecord, err}
	}
	return r, nil
}

// printLost prints how many events were lost, and a hint.
func (s *recorder) printLost(w io.Writer, r *record.Result) {
	if r.Lost == 0 {
		return
	}
	var ops []string
	for _, op := range slices.Sorted(maps.Keys(r.LostByOp)) {
		ops = append(ops, fmt.Sprintf("%s=%d", op, r.LostByOp[op]))
	}
	fmt.Fprintf(w, "pianola: %s: %d events lost, %d recorded: %s\n", s.Command.Name, r.Lost, r.Events, strings.Join(ops, " "))
	var processors []string
	for cpu, n := range r.LostByCPU {
		if n > 0 {
			processors = append(processors, fmt.Sprintf("%d on processor %d", n, cpu))
		}
	}
	if len(processors) == 0 {
		return // a larger buffer would not have helped
	}
	fmt.Fprintf(w, "pianola: %s: the buffer was full for %s\n", s.Command.Name, strings.Join(processors, ", "))
	if ring := int64(s.options.RingBytes); ring < maxRing {
		fmt.Fprintf(w, "hint: a larger buffer loses fewer: --ring %s\n", sizeText(min(4*ring, maxRing)))
	}
}
