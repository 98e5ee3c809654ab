package cli

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format/filter"
	"pianola/format/layer"
	"pianola/internal/interrupt"
	"pianola/record"
	"pianola/record/ebpf"
	"pianola/record/output"
	"pianola/record/parts"
	"pianola/record/runs"
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
			"pianola records in the process: most system calls become jumps to code that records them.\n" +
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

// recorders maps the values of --tracer to recorders of a command.
var recorders = map[string]record.Recorder{"ebpf": ebpf.Run, "in-process": runs.InProcess, "ptrace": runs.Ptrace, "auto": nil}

func runRecord(c *cli.Context) error {
	if filepath.Ext(c.String("o")) == ".gz" {
		return usage(c, "-o: a compressed script has a name that ends in .zst")
	}
	o, err := recordOptions(c)
	if err != nil {
		return err
	}
	r, err := runs.New(o)
	if err != nil {
		return recordError(err)
	}
	var results []record.Result
	if c.Bool("ranks") {
		results, err = recordRank(c, r)
	} else {
		results, err = r.Take(c.Context, output.Names(c.String("o"), c.Int("runs")))
	}
	if err != nil {
		return recordError(err)
	}
	if status := results[len(results)-1].Status; status != 0 {
		return &exitError{status: status}
	}
	return nil
}

// recordRank records the ranks of this node, or becomes one of them.
func recordRank(c *cli.Context, r *runs.Recorder) ([]record.Result, error) {
	place, err := runs.FindPlace()
	if err != nil {
		return nil, err
	}
	if place.Local > 0 {
		defer endOn(c.Context)() // the command gets the signals once it is executed
		return nil, r.BecomeRank(c.String("o"), place)
	}
	result, err := r.TakeNode(c.Context, c.String("o"), place)
	return []record.Result{result}, err
}

// recordError gives an error of a recording its exit status.
func recordError(err error) error {
	if e, interrupted := errors.AsType[*interrupt.Error](err); interrupted {
		return &exitError{status: e.Status()}
	}
	if start, ok := errors.AsType[*record.StartError](err); ok {
		return &exitError{start.Status, err}
	}
	return &exitError{ExitRecord, err}
}

// recordOptions takes what record and bench record from the command line.
func recordOptions(c *cli.Context) (o runs.Options, err error) {
	attach := c.IsSet("pid") || c.IsSet("cgroup")
	switch {
	case !attach && c.NArg() == 0:
		return o, usage(c, "no command given")
	case attach && c.NArg() > 0:
		return o, usage(c, "--pid and --cgroup exclude a command: the processes run already")
	case attach && excludesEBPF(c):
		return o, usage(c, "--pid and --cgroup need eBPF")
	}
	o = runs.Options{
		Name: c.Command.Name,
		Record: record.Options{
			Command:    c.Args().Slice(),
			RingBytes:  int(sizeOf(c, "ring")),
			Memory:     c.Bool("memory"),
			NoFaults:   c.Bool("no-faults"),
			LayerText:  c.Bool("layer-text"),
			LayerForce: c.Bool("slow-functions"),
			NoCommand:  c.Bool("no-command"),
			NoHost:     c.Bool("no-host"),
			Remarks:    optionsOf(c),
			PID:        c.Int("pid"),
			Cgroup:     c.String("cgroup"),
			Nice:       c.Int("nice"),
			Duration:   c.Duration("duration"),
		},
		Tracer: recorders[c.String("tracer")],
		Setup:  c.String("setup"),
	}
	if attach {
		o.Tracer = ebpf.Attach
	}
	if o.Account, err = runs.FindAccount(c.String("user")); err != nil {
		return o, usage(c, "--user: %v", err)
	}
	if o.Record.Processors, err = record.ParseProcessors(c.String("cpu")); err != nil {
		return o, usage(c, "--cpu: %v", err)
	}
	if o.Record.Layers, err = findLayers(c); err != nil {
		return o, err
	}
	if o.Kept, err = findKept(c); err != nil {
		return o, usage(c, "%v", err)
	}
	if c.Bool("ranks") {
		err = checkRanks(c, o.Account)
	}
	return o, err
}

// excludesEBPF reports whether --tracer excludes eBPF.
func excludesEBPF(c *cli.Context) bool {
	return c.String("tracer") == "in-process" || c.String("tracer") == "ptrace"
}

// findLayers returns the layers of --layer.
func findLayers(c *cli.Context) (layers []*layer.Layer, err error) {
	switch {
	case !c.IsSet("layer"):
		return nil, nil
	case excludesEBPF(c):
		return nil, usage(c, "--layer needs eBPF: --tracer %s sees system calls only", c.String("tracer"))
	}
	for _, name := range strings.Split(c.String("layer"), ",") {
		l, err := layer.Load(name)
		if err != nil {
			return nil, usage(c, "--layer: %v", err)
		}
		if slices.ContainsFunc(layers, func(other *layer.Layer) bool { return other.Name == l.Name }) {
			return nil, usage(c, "--layer: %s is named twice", l.Name)
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// findKept takes what is kept of a recording from the command line.
func findKept(c *cli.Context) (k output.Options, err error) {
	k = output.Options{
		MaxBytes: sizeOf(c, "max-size"),
		Scripts:  c.Int("keep-files"),
		Files:    &session.files,
		Console:  &session.Console,
	}
	if c.IsSet("rotate") {
		if k.Rotation.Every, err = time.ParseDuration(c.String("rotate")); err != nil {
			if err = size(1, math.MaxInt64)(c.String("rotate")); err != nil {
				err = fmt.Errorf("--rotate: %w or a duration (want for example 1h)", err)
			}
			k.Rotation.Bytes = sizeOf(c, "rotate")
		} else if k.Rotation.Every <= 0 {
			err = fmt.Errorf("--rotate: %v is not above 0", k.Rotation.Every)
		}
		if err != nil {
			return k, err
		}
	}
	if !c.IsSet("last") {
		return k, nil
	}
	k.Flight = parts.FlightOptions{Last: c.Duration("last"), After: c.Duration("after"), Memory: sizeOf(c, "last-memory")}
	if c.IsSet("until") {
		if k.Flight.Until, err = filter.Parse(c.String("until")); err != nil {
			err = fmt.Errorf("--until: %w", err)
		}
	}
	return k, err
}

// checkRanks checks the options of a recording of ranks.
func checkRanks(c *cli.Context, who *runs.Account) error {
	if err := checkMode(c, "ranks"); err != nil {
		return err
	}
	switch {
	case excludesEBPF(c):
		return usage(c, "--ranks needs eBPF")
	case who != nil:
		return usage(c, "--ranks can't run under sudo, because sudo closes the launcher's connection; run the launcher as root, or give pianola capabilities")
	case !c.IsSet("o"):
		return usage(c, "--ranks needs -o DIR for the recordings")
	}
	return nil
}
