// Package cli is the command pianola. Other main packages can call it with
// transforms, formats of recordings and backends of their own:
//
//	func main() {
//		cli.Main(
//			cli.WithTransform(transform.Transform{Name: "mine", New: …}),
//			cli.WithImporter(importer.Format{Name: "theirs", Is: …, Open: …}),
//			cli.WithBackend(replay.NewBackend("simulated", open)),
//		)
//	}
//
// The packages record, compile, replay and compare do not import one another:
// this package opens the files and passes interfaces. There is one file per
// subcommand.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pianola/compile/source"
	"pianola/format/compressed"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/interrupt"
	"pianola/record/ptrace"
)

// Exit statuses. That of record is its command's, or the one that a shell would
// return.
const (
	ExitFailure      = 1 // the work failed, or a comparison is outside its tolerance
	ExitUsage        = 2 // the command line is wrong
	ExitInconclusive = 3 // no verdict is possible
	ExitRecord       = 125

	exitInterrupted = 128 + int(unix.SIGINT)  // as in a shell
	exitUnread      = 128 + int(unix.SIGPIPE) // the output has lost its reader
)

// exitError is an error with an exit status of its own. A nil err prints
// nothing, because the output already shows what is wrong.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

// This goroutine keeps the first thread. A replay confines the threads of its
// workers for good, and the first thread can't be discarded.
func init() { runtime.LockOSThread() }

// Main runs the command in os.Args, with what options add, and ends the
// process. It must be the first call in the function main.
func Main(options ...Option) {
	for _, o := range options {
		o(&extensions)
	}
	ptrace.Main() // does not return in the helper process of ptrace
	ctx := interrupt.Context()
	app := newApp()
	os.Exit(report(ctx, app.RunContext(ctx, optionsFirst(os.Args, app.Commands))))
}

// report prints an error as "pianola: command: place: what", in lower case and
// without a full stop, and the hint if there is one. It returns the exit
// status.
func report(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted):
		return interrupt.Of(ctx).Status()
	case isUnread(err):
		return exitUnread
	}
	status := ExitFailure
	if e, ok := errors.AsType[*exitError](err); ok {
		status = e.status
		if e.err == nil {
			return status
		}
	}
	console.Warn("%v", err)
	if h, ok := errors.AsType[*console.Hint](err); ok {
		console.Suggest(h.Text)
	}
	return status
}

// The titles of groups of commands.
const (
	measuring    = "Record, replay and compare"
	trying       = "Find out what saves time"
	aboutPianola = "Convert, check, and help"
)

func newApp() *cli.App {
	cli.HelpFlag = nil // the options -h and --help are its replacement
	return &cli.App{
		Name:      "pianola",
		Usage:     "record the I/O of applications and replay it on any storage",
		UsageText: "pianola COMMAND [OPTION]… [OPERAND]…",
		Description: "Pianola records the I/O system calls of an unmodified application, compiles them into a portable\n" +
			"trace without data, replays the trace on any storage with the application's own timing, and\n" +
			"compares the two.\n\n" +
			"Example: pianola record -- sqlite3 app.db '.read load.sql'\n" +
			"Example: pianola compile trace.txt\n" +
			"Example: pianola replay --root /mnt/disk/root --log replay.log trace.bin\n" +
			"Example: pianola compare trace.txt replay.log",
		HideHelpCommand: true,
		HideVersion:     true,
		// A filter can hold commas.
		DisableSliceFlagSeparator: true,
		Commands: slices.Concat(
			under(measuring, recordCommand(), compileCommand(), replayCommand(), profileCommand(), compareCommand(), benchCommand()),
			under(trying, labCommand(), modelCommand()),
			under(aboutPianola, convertCommand(), layerCommand(), workloadCommand(), doctorCommand(), completionCommand(), helpCommand(), versionCommand()),
			[]*cli.Command{completeCommand()},
		),
		Flags:          flags("pianola"),
		OnUsageError:   usageError,
		ExitErrHandler: func(*cli.Context, error) {}, // main prints and exits
		Action: func(c *cli.Context) error {
			switch done, err := helped(c, manualOfAll(c.App)); {
			case done:
				return err
			case c.Bool("version"):
				return printVersion(c)
			case c.Args().Present():
				return commandError(c, c.Args().First())
			}
			return errors.Join(manualOfAll(c.App).writeShort(os.Stderr), &exitError{status: ExitUsage})
		},
	}
}

// under puts commands under a title.
func under(title string, commands ...*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Category = title
	}
	return commands
}

// command adds to a subcommand what all that work with recordings have in common.
func command(c *cli.Command) *cli.Command {
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		session.files = files.Set{}
		defer session.files.RemoveUnfinished()
		session.Quiet = ctx.Bool("quiet")
		recordings = source.Reader{Console: &session.Console, Files: &session.files, Importers: extensions.importers, Transforms: extensions.transforms}
		if err := checkOptions(ctx); err != nil {
			return err
		}
		err := action(ctx)
		if errors.Is(err, compressed.ErrLimit) {
			err = console.WithHint(err, "--limit text=SIZE allows more")
		}
		if same, ok := errors.AsType[*files.SameFileError](err); ok {
			return usage(ctx, "%w", same)
		}
		if e, ok := errors.AsType[*exitError](err); err == nil || ok && e.status == ExitUsage {
			return err
		}
		return fmt.Errorf("%s: %w", commandName(ctx.Command), err)
	}
	return plain(c)
}

// plain adds to a subcommand what all have in common.
func plain(c *cli.Command) *cli.Command {
	c.HideHelpCommand = true // "pianola record -- help" runs the command help
	c.OnUsageError = usageError
	c.HelpName = cmp.Or(c.HelpName, c.Name)
	c.Flags = flags(c.HelpName)
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		if done, err := helped(ctx, manualOf(ctx.Command)); done {
			return err
		}
		return action(ctx)
	}
	return c
}

// noun is a command whose own commands say what to do with what it names. Alone, it does
// what the command list does, if it has one.
func noun(c *cli.Command, commands ...*cli.Command) *cli.Command {
	c.Subcommands = commands
	c.Action = func(ctx *cli.Context) error {
		if ctx.NArg() > 0 {
			return commandError(ctx, ctx.Args().First())
		}
		if list := c.Command("list"); list != nil {
			return list.Action(ctx)
		}
		return errors.Join(manualOf(c).writeShort(os.Stderr), &exitError{status: ExitUsage})
	}
	return plain(c)
}

// allCommands returns commands that are not hidden, and theirs.
func allCommands(commands []*cli.Command) (all []*cli.Command) {
	for _, c := range commands {
		if !c.Hidden {
			all = append(append(all, c), c.Subcommands...)
		}
	}
	return all
}

// usage returns the error for a wrong command line.
func usage(c *cli.Context, form string, args ...any) error {
	err, text := fmt.Errorf(form, args...), "see pianola --help"
	if name := commandName(c.Command); name != "" && name != "pianola" {
		err = fmt.Errorf("%s: %w", name, err)
		text = "see pianola " + name + " --help"
	}
	return &exitError{ExitUsage, console.WithHint(err, text)}
}

// noOperands returns an error if a subcommand has operands.
func noOperands(c *cli.Context) error {
	if c.NArg() > 0 {
		return usage(c, "want no operands, got %d", c.NArg())
	}
	return nil
}

// operand returns the only operand of a subcommand.
func operand(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", usage(c, "want one %s, got %d operands", what, c.NArg())
	}
	return c.Args().First(), nil
}
