package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/compile/source"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
)

func compileCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "compile",
		Usage: "turn a recording into a trace that replay reads",
		UsageText: "pianola compile [OPTION]… RECORDING…\n" +
			"pianola compile [OPTION]… TRACE\n" +
			"pianola compile --list",
		Description: "A recording is a script of pianola record, a file that another program wrote\n" +
			"(docs/reference/imports.md), or exec:PROGRAM for the output of a program\n" +
			"(docs/reference/generators.md). The trace is portable and compressed.\n" +
			"\n" +
			"Paths move below the root of the replay, files that the application creates get temporary names,\n" +
			"calls on anything but files are left out, and the time between calls becomes compute.\n" +
			"\n" +
			"With --with or --filter, compile also changes a compiled trace; with --ranks, it divides one.\n" +
			"\n" +
			"Example: pianola compile -o sqlite.bin sqlite.txt\n" +
			"Example: pianola compile --report - sqlite.txt\n" +
			"Example: pianola compile --with sync=none -o nosync.bin sqlite.txt",
		Action: runCompile,
	})
}

func runCompile(c *cli.Context) error {
	if c.Bool("list") {
		return listTransforms(console.Visibly(os.Stdout))
	}
	if c.Bool("ranks") && !c.IsSet("o") {
		return usage(c, "--ranks needs -o DIR for the parts of the trace")
	}
	name := c.Args().First()
	o := compile.Options{Compensate: !c.Bool("no-compensate"), Names: !c.Bool("no-names")}
	if c.String("paths") == "flat" {
		o.Paths = compile.Flat
	}
	if err := parseLimits(c, nil); err != nil {
		return err
	}
	o.Memory = recordings.Limits.Reading()
	names, with, programs, err := parseTransforms(c)
	if err != nil {
		return err
	}
	if name := c.String("anonymize"); name != "" {
		if o.Key, err = session.files.Read(name); err == nil && len(o.Key) < compile.MinKey {
			err = fmt.Errorf("%s: a key has at least %d bytes, not %d", name, compile.MinKey, len(o.Key))
		}
		if err != nil {
			return console.WithHint(err, "make a key: head -c 32 /dev/urandom >"+name)
		}
	}
	defer endOn(c.Context)()
	src, err := openRecordings(c, importer.Options{Write: c.String("telemetry") == "write", Fold: sizeOf(c, "fold")}, c.Args().Slice()...)
	if err != nil {
		return compileHint(err)
	}
	defer src.Close()
	byRank := c.Bool("ranks")
	if src.IsTrace() && !byRank && len(c.StringSlice("with"))+len(c.StringSlice("filter")) == 0 {
		return source.ErrCompiled(name)
	}
	o.Bare = src.Dialect == script.Older
	if src.IsLowered() {
		switch {
		case o.Key != nil:
			return fmt.Errorf("%s: a compiled trace can't be anonymized, only the recording", name)
		case o.Paths != compile.Tree:
			return fmt.Errorf("%s: the paths of a compiled trace stay as they are", name)
		}
		for _, step := range names {
			if _, err := extensions.transforms.ParseCompiled(step); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	out := c.String("o")
	if byRank || !c.IsSet("o") && c.IsSet("script") {
		out = os.DevNull
	}
	dst, err := session.files.Create(out, files.Private)
	if err != nil {
		return err
	}
	text, err := session.files.CreateIf(c.String("script"), files.Private) // private, because it holds the whole trace
	if err != nil {
		return err
	}
	mode := files.Public
	if o.Key != nil {
		mode = files.Private // it says which name stands for which
	}
	report, err := session.files.CreateIf(c.String("report"), mode)
	if err != nil {
		return err
	}

	// A trace that is read again goes to a temporary file, unless the output
	// itself can be read.
	trace, aside := dst.File(), len(programs) > 0 || byRank || text != nil && dst.InPlace()
	var w io.Writer = dst
	if aside {
		if trace, err = files.Spool(""); err != nil {
			return err
		}
		defer func() { trace.Close() }() // the last one: filters replace it
		w = trace
	}
	// The report is written before the trace, because it shows why a recording
	// is refused.
	var refused error
	o.Accept = func(r *compile.Report) error {
		if refused = report.Put(func(w io.Writer) error { _, err := r.WriteTo(w); return err }); refused == nil {
			refused = judge(c, name, r)
		}
		return refused
	}
	made, err := src.CompileTo(w, with, o)
	if err == nil && made == nil {
		err = o.Accept(&compile.Report{})
	}
	if refused != nil {
		return refused
	}
	if err != nil {
		return compileHint(source.Named(name, err))
	}
	if aside {
		running.RLock()
		trace, err = recordings.Through(c.Context, trace, programs)
		running.RUnlock()
		if err != nil {
			return compileHint(err)
		}
		if _, err := trace.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(dst, trace); err != nil {
			return err
		}
	}
	if err := dst.Flush(); err != nil {
		return err
	}
	if byRank {
		if err := writeRanks(c.String("o"), trace, o.Memory); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	err = text.Put(func(w io.Writer) error {
		t, err := recordings.Within(trace, o.Memory)
		if err != nil {
			return err
		}
		return source.WriteText(w, t)
	})
	if err != nil {
		return err
	}
	if err := dst.Commit(); err != nil || made == nil {
		return err
	}
	session.Say("compile: %s", made.Summary())
	session.Say("compile: %v", &made.Coverage)
	session.Say("compile: %s", made.FloorText())
	for _, text := range []string{made.CrowdedText(), made.ClientsText(), made.GroupingText(), made.KeptText()} {
		if text != "" {
			session.Say("compile: %s", text)
		}
	}
	return nil
}

// compileHint adds a hint to an error of a compilation.
func compileHint(err error) error { return source.WithHint(interrupted(err)) }

// judge warns of faults of the recording that the trace inherits, or refuses it
// with --strict.
func judge(c *cli.Context, name string, r *compile.Report) error {
	faults := r.Faults()
	for _, s := range faults {
		if c.Bool("strict") {
			return fmt.Errorf("%s: %s", name, s)
		}
		console.Warn("compile: %s: warning: %s", name, s)
	}
	for _, s := range r.Foreign {
		console.Warn("compile: %s: warning: %s", name, s)
	}
	if r.MPI.LeftOut {
		console.Warn("compile: %s: warning: calls of MPI were left out, so ranks don't wait for one another", name)
	}
	if len(faults) > 0 {
		console.Suggest("--report - says more")
	}
	return nil
}
