// Package runs records a command once or several times: each time, it prepares by a command of
// the shell, chooses a recorder, and says on standard error how the recording went.
package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"pianola/internal/console"
	"pianola/internal/interrupt"
	"pianola/internal/table"
	"pianola/record"
	"pianola/record/ebpf"
	"pianola/record/output"
)

// Options say what is recorded, how, and where to.
type Options struct {
	Name   string          // of the command of pianola, which messages begin with
	Record record.Options  // the account is not in it
	Tracer record.Recorder // nil for eBPF or, if that is not possible, InProcess
	Kept   output.Options  // the owner is not in it

	Account *Account // that the command and Setup run as; nil for the caller
	Setup   string   // shell command before each recording, "" for none

	Temporary bool // the recordings are deleted later, so messages don't name their files
}

// Recorder records as Options say. Its methods belong to one goroutine.
type Recorder struct {
	Options
	stdin int64 // place in standard input from which each recording reads; -1 if it is not a file
}

// New checks options. Files that the command names are inputs from then on. A cgroup that the
// recorder itself is in, as the whole machine is, must be named by its directory; otherwise the
// error has a hint that says so.
func New(o Options) (*Recorder, error) {
	if err := o.Kept.Files.Words(o.Record.Command); err != nil {
		return nil, err
	}
	r := &Recorder{Options: o, stdin: -1}
	if place, err := os.Stdin.Seek(0, io.SeekCurrent); err == nil {
		r.stdin = place
	}
	if a := o.Account; a != nil {
		r.Record.Credential, r.Record.Env = &a.credential, a.environment()
		r.Kept.Owner = &a.credential
	}
	if o.Record.Cgroup == "" {
		return r, nil
	}
	return r, r.checkCgroup()
}

// checkCgroup says what is recorded of a cgroup that the recorder itself is in.
func (r *Recorder) checkCgroup() error {
	path := r.Record.Cgroup
	cgroup, err := ebpf.LookAtCgroup(path)
	if err != nil || !cgroup.Own {
		return nil // the recorder says what is wrong
	}
	others := table.Plural(cgroup.Processes-1, "other process")
	if own, err := filepath.Abs(path); err != nil || own != cgroup.Dir {
		return console.WithHint(fmt.Errorf("--cgroup %s: this recorder is in that cgroup, with %s", path, others),
			fmt.Sprintf("--cgroup %s records them all", cgroup.Dir))
	}
	r.Kept.Console.Say("%s: cgroup %s: recording %s, but not this recorder", r.Name, cgroup.Dir, others)
	return nil
}

// Take records into each of the files. It ends after the first command that fails, which is not an
// error. It creates all files before the first recording, and removes those that remain empty. A
// file on standard input is read from the same place each time, by all calls of Take.
//
// Its errors are those of record.Recorder; an *interrupt.Error where a signal ended the recording,
// or came before one; and failures of Setup and the files, such as a *files.SameFileError. The
// results are those of the recordings that began.
func (r *Recorder) Take(ctx context.Context, names []string) (results []record.Result, err error) {
	var outs []output.Output
	defer func() {
		for _, out := range outs[len(results):] {
			_ = out.Finish(false)
		}
	}()
	for _, name := range names {
		out, err := r.Kept.Open(name)
		if err != nil {
			return nil, err
		}
		outs = append(outs, out)
	}
	for i, out := range outs {
		if r.stdin >= 0 {
			if _, err := os.Stdin.Seek(r.stdin, io.SeekStart); err != nil {
				return results, fmt.Errorf("standard input: %w", err)
			}
		}
		if err := r.prepare(ctx); err != nil {
			return results, err
		}
		result, err := r.take(ctx, out)
		results = append(results, result)
		switch left := len(names) - i - 1; {
		case err != nil:
			return results, err
		case ctx.Err() != nil && left > 0:
			return results, interrupt.Of(ctx)
		case result.Status != 0 && len(names) > 1:
			console.Warn("%s: run %d of %d: the command ended with status %d", r.Name, i+1, len(names), result.Status)
			return results, nil
		}
	}
	return results, nil
}

// prepare runs the shell command before a recording. Its output goes to standard error,
// because standard output is the recorded command's.
func (r *Recorder) prepare(ctx context.Context) error {
	if r.Setup == "" {
		return nil
	}
	c := exec.CommandContext(ctx, "sh", "-c", r.Setup)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	if who := r.Record.Credential; who != nil {
		c.Env, c.SysProcAttr = r.Record.Env, &syscall.SysProcAttr{Credential: who}
	}
	switch err := c.Run(); {
	case ctx.Err() != nil:
		return interrupt.Of(ctx)
	case err != nil:
		return fmt.Errorf("--setup: %s: %w", r.Setup, err)
	}
	return nil
}

// take records once, and reports the result. A command that fails is not an error.
func (r *Recorder) take(program context.Context, out output.Output) (record.Result, error) {
	o, begun := r.Record, false // where it has begun, the command may have run
	ctx, begin := interrupt.UntilBegun(program)
	o.Begin = func() error {
		begun = true
		return begin()
	}
	run := r.Tracer
	choose := run == nil && len(o.Layers) == 0 && o.Ranks == nil // others have neither
	if run == nil {
		run = ebpf.Run
	}
	result, err := run(ctx, o, out)
	if _, start := errors.AsType[*record.StartError](err); err != nil && choose && !start && !begun && ctx.Err() == nil {
		console.Warn("%s: %v; recording in the process instead", r.Name, err)
		result, err = InProcess(ctx, o, out)
	}
	_ = begin() // it may have failed before
	if ferr := out.Finish(err == nil); err == nil {
		err = ferr
	}
	r.printLost(&result)
	if err == nil {
		r.printProbed(&result)
		r.printStopped(&result)
	}
	if ctx.Err() != nil {
		return result, interrupt.Of(ctx) // the program's context can end a moment later
	}
	if result.Coverage.Known {
		file := ""
		if !r.Temporary {
			file = ", " + out.String()
		}
		held := result.Coverage
		if held.Ended = result.Ended; err != nil {
			held.Ended = "it could not be written"
		}
		r.Kept.Console.Say("%s: %s in %.3f s%s; %v", r.Name, table.Plural(int(result.Events), "event"), result.Elapsed.Seconds(), file, &held)
	}
	if _, start := errors.AsType[*record.StartError](err); err == nil || start {
		return result, err
	}
	if errors.Is(err, record.ErrPermission) {
		err = console.WithHint(err, "pianola doctor shows the cause")
	}
	if result.Elapsed > 0 && o.PID == 0 && o.Cgroup == "" {
		err = fmt.Errorf("%w; the command ended with status %d", err, result.Status)
	}
	return result, err
}
