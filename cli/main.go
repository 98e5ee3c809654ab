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
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/urfave/cli/v2"

	"pianola/record/ptrace"
)

// Exit statuses. That of record is its command's, or the one that a shell would
// return.
const (
	ExitFailure      = 1 // the work failed, or a comparison is outside its tolerance
	ExitUsage        = 2 // the command line is wrong
	ExitInconclusive = 3 // no verdict is possible
	ExitRecord       = 125

	exitInterrupted = 130 // 128 + SIGINT, as in a shell
)

// exitError is an error with an exit status of its own. A nil err prints
// nothing, because the output already shows what is wrong.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

// hint is an error with a text that says what to do about it.
type hint struct {
	error
	text string
}

func (h *hint) Unwrap() error { return h.error }

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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := newApp()
	os.Exit(report(app.RunContext(ctx, optionsFirst(os.Args, app.Commands))))
}

// report prints an error as "pianola: command: place: what", in lower case and
// without a full stop, and the hint if there is one. It returns the exit
// status.
func report(err error) int {
	if err == nil {
		return 0
	}
	status := ExitFailure
	if e, ok := errors.AsType[*exitError](err); ok {
		status = e.status
		if e.err == nil {
			return status
		}
	}
	warn("%v", err)
	if h, ok := errors.AsType[*hint](err); ok {
		suggest(h.text)
	}
	return status
}

func newApp() *cli.App {
	return &cli.App{
		Name:  "pianola",
		Usage: "record, compile and replay the I/O of applications",
		Description: "Pianola records an application's system calls, compiles them into a portable trace without data,\n" +
			"and replays it on any storage with the application's own timing.",
		HideHelpCommand: true,
		HideVersion:     true,
		// A filter can hold commas.
		DisableSliceFlagSeparator: true,
		Commands: []*cli.Command{
			recordCommand(), compileCommand(), replayCommand(), profileCommand(), compareCommand(), benchCommand(), labCommand(), adviseCommand(), modelCommand(), printCommand(), doctorCommand(),
		},
		OnUsageError:   usageError,
		ExitErrHandler: func(*cli.Context, error) {}, // main prints and exits
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return commandError(c, c.Args().First())
			}
			c.App.Writer = os.Stderr
			return errors.Join(cli.ShowAppHelp(c), &exitError{status: ExitUsage})
		},
	}
}

// command adds to a subcommand what all have in common.
func command(c *cli.Command) *cli.Command {
	c.HideHelpCommand = true // "pianola record -- help" runs the command help
	c.OnUsageError = usageError
	action := c.Action
	c.Action = func(ctx *cli.Context) error {
		files.forget()
		inputs = inputLimits{}
		err := limitHint(action(ctx))
		if same, ok := errors.AsType[*sameFileError](err); ok {
			return usage(ctx, "%w", same)
		}
		if e, ok := errors.AsType[*exitError](err); err == nil || ok && e.status == ExitUsage {
			return err
		}
		return fmt.Errorf("%s: %w", ctx.Command.Name, err)
	}
	return c
}

// usage returns the error for a wrong command line.
func usage(c *cli.Context, form string, args ...any) error {
	err, text := fmt.Errorf(form, args...), "see pianola --help"
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != "pianola" {
		err = fmt.Errorf("%s: %w", c.Command.Name, err)
		text = "see pianola " + c.Command.Name + " --help"
	}
	return &exitError{ExitUsage, &hint{err, text}}
}

// operand returns the only operand of a subcommand.
func operand(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", usage(c, "want one %s, got %d operands", what, c.NArg())
	}
	return c.Args().First(), nil
}
