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

	"github.com/urfave/cli/v2"

	"pianola/record"
	"pianola/record/ebpf"
	"pianola/record/ptrace"
)

func recordCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "record",
		Usage: "record the I/O system calls of a command, or of a running process",
		UsageText: "pianola record [-o trace.txt] [--user NAME] [--memory] [--no-faults] [--no-command] [--tracer auto|ebpf|ptrace] [--ring MiB] -- COMMAND [ARG…]\n" +
			"pianola record [-o trace.txt] --pid PID [--duration D] [--memory] [--no-faults] [--no-command] [--ring MiB]",
		Description: "The command keeps its own standard input, output and error; all its threads and children are\n" +
			"recorded. The exit status is the command's; 125 if pianola fails, 126 if the command can't be\n" +
			"executed, 127 if there is no such command. Under sudo the command runs as the user who called\n" +
			"sudo. Without the privileges for eBPF, --tracer auto uses ptrace, which costs microseconds a call.\n\n" +
			"Example: pianola record -o sqlite.txt -- sqlite3 app.db '.read load.sql'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Aliases: []string{"output"}, Value: "trace.txt", Usage: "write the script to `FILE`, compressed if its name ends in .zst"},
			&cli.StringFlag{Name: "user", Usage: "run the command as the user `NAME`; root to stay root under sudo"},
			&cli.IntFlag{Name: "pid", Usage: "record the running process `PID`, its threads and children, until it ends or at Ctrl-C"},
			&cli.DurationFlag{Name: "duration", Usage: "with --pid: end after `D`, such as 90s"},
			&cli.BoolFlag{Name: "memory", Usage: "also record brk, mmap, munmap, mremap, madvise and mprotect, all of them"},
			&cli.BoolFlag{Name: "no-faults", Usage: "leave out page faults on mapped files, and the calls that map them"},
			&cli.BoolFlag{Name: "no-command", Usage: "leave command lines out of the recording, because arguments can hold passwords"},
			&cli.StringFlag{Name: "tracer", Value: "auto", Usage: "`HOW` calls are observed: ebpf, ptrace, or auto (ebpf, or ptrace if eBPF is not possible)"},
			&cli.IntFlag{Name: "ring", Value: record.DefaultRingBytes >> 20, Usage: "size of the buffer between kernel and recorder, in `MiB`"},
		},
		Action: runRecord,
	})
}

// recorders maps the values of --tracer to functions that start a recorder.
var recorders = map[string]record.Recorder{"ebpf": ebpf.Run, "ptrace": ptrace.Run, "auto": nil}

// autoRecorder returns a recorder that uses eBPF or, if that is not possible,
// ptrace.
func autoRecorder(out *recording) record.Recorder {
	return func(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
		r, err := ebpf.Run(ctx, o, s)
		// A failed start has not written anything.
		if _, start := errors.AsType[*record.StartError](err); err == nil || start || out.file.written > 0 || out.file.failed {
			return r, err
		}
		warn("record: %v; recording with ptrace instead, which slows the command down more", err)
		return ptrace.Run(ctx, o, s)
	}
}

// maxRing is the largest buffer of a recorder, in MiB.
const maxRing = 1024

func runRecord(c *cli.Context) error {
	run, ok := recorders[c.String("tracer")]
	attach := c.IsSet("pid")
	switch {
	case !ok:
		return usage(c, "--tracer is auto, ebpf or ptrace, not %q", c.String("tracer"))
	case !attach && c.NArg() == 0:
		return usage(c, "no command given")
	case !attach && c.IsSet("duration"):
		return usage(c, "--duration needs --pid: a command ends by itself")
	case attach && (c.NArg() > 0 || c.IsSet("user")):
		return usage(c, "--pid excludes a command and --user: the process runs already")
	case attach && c.String("tracer") == "ptrace":
		return usage(c, "--pid needs eBPF")
	case c.Int("pid") < 0 || attach && c.Int("pid") == 0:
		return usage(c, "--pid: %d is not a process id", c.Int("pid"))
	case c.Duration("duration") < 0 || c.IsSet("duration") && c.Duration("duration") == 0:
		return usage(c, "--duration: %v is not above 0", c.Duration("duration"))
	}
	if n := c.Int("ring"); n < 1 || n > maxRing {
		return usage(c, "--ring: %d is not from 1 to %d", n, maxRing)
	}
	name := c.String("o")
	if filepath.Ext(name) == ".gz" {
		return usage(c, "-o: a compressed script has a name that ends in .zst")
	}
	who, err := findAccount(c.String("user"))
	if err != nil {
		return usage(c, "--user: %v", err)
	}
	if err := files.words(c.Args().Slice()); err != nil {
		return err
	}
	out, err := createRecording(name, who != nil)
	if err != nil {
		if _, ok := errors.AsType[*sameFileError](err); ok {
			return err
		}
		return &exitError{ExitRecord, err}
	}
	o := record.Options{
		Command:   c.Args().Slice(),
		RingBytes: c.Int("ring") << 20,
		Memory:    c.Bool("memory"),
		NoFaults:  c.Bool("no-faults"),
		NoCommand: c.Bool("no-command"),
		PID:       c.Int("pid"),
		Duration:  c.Duration("duration"),
	}
	switch {
	case attach:
		run = ebpf.Attach
	case run == nil:
		run = autoRecorder(out)
	}
	if who != nil {
		o.Credential, o.Env = &who.credential, who.environment()
		if out.file.fresh {
			// If the file's owner can't be changed, it stays root.
			_ = out.file.Chown(int(o.Credential.Uid), int(o.Credential.Gid))
		}
	}
	// The command handles interrupts; record passes other signals on.
	r, err := run(context.WithoutCancel(c.Context), o, out)
	if ferr := out.finish(err == nil); err == nil {
		err = ferr
	}
	printLost(os.Stderr, &r, c.Int("ring"))
	if r.Coverage.Known {
		warn("record: %v", &r.Coverage)
	}
	if start, ok := errors.AsType[*record.StartError](err); ok {
		return &exitError{start.Status, err}
	}
	if err != nil {
		if errors.Is(err, record.ErrPermission) {
			err = &hint{err, "pianola doctor shows what is missing"}
		}
		if r.Elapsed > 0 && !attach {
			err = fmt.Errorf("%w; the command ended with status %d", err, r.Status)
		}
		return &exitError{ExitRecord, err}
	}
	if r.Status != 0 {
		return &exitError{status: r.Status}
	}
	return nil
}

// printLost prints how many events were lost, and a hint.
func printLost(w io.Writer, r *record.Result, ring int) {
	if r.Lost == 0 {
		return
	}
	var ops []string
	for _, op := range slices.Sorted(maps.Keys(r.LostByOp)) {
		ops = append(ops, fmt.Sprintf("%s=%d", op, r.LostByOp[op]))
	}
	fmt.Fprintf(w, "pianola: record: %d events lost, %d recorded: %s\n", r.Lost, r.Events, strings.Join(ops, " "))
	var processors []string
	for cpu, n := range r.LostByCPU {
		if n > 0 {
			processors = append(processors, fmt.Sprintf("%d on processor %d", n, cpu))
		}
	}
	if len(processors) == 0 {
		return // a larger buffer would not have helped
	}
	fmt.Fprintf(w, "pianola: record: the buffer was full for %s\n", strings.Join(processors, ", "))
	if ring < maxRing {
		fmt.Fprintf(w, "hint: a larger buffer loses fewer: --ring %d\n", min(4*ring, maxRing))
	}
}
