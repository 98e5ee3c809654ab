package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/bin"
	"pianola/format/provenance"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/launcher"
	"pianola/replay"
	"pianola/replay/fileset"
	"pianola/replay/ranks"
)

// defaultJoinTimeout is how long a rank waits for the others, which a launcher may start
// late.
const defaultJoinTimeout = 5 * time.Minute

// placeOf returns where this process is among the ranks of a replay, nil if it is alone.
func placeOf(c *cli.Context, o *replay.Options) (*launcher.Place, error) {
	if !c.Bool("ranks") {
		return nil, nil
	}
	var wrong string
	switch {
	case c.NArg() > 1:
		wrong = "several traces"
	case o.Copies > 1:
		wrong = "--copies"
	case o.Prepare == fileset.PrepareOnly:
		wrong = "--prepare only"
	case o.Order == replay.Total:
		wrong = "--order total"
	case !o.Backend.Has().Ranks:
		wrong = "--backend " + o.Backend.String()
	case len(o.Beside) > 0:
		wrong = "several backends"
	case o.Change != nil:
		wrong = "--with"
	case o.Device != nil:
		wrong = "a modelled device"
	}
	if wrong != "" {
		return nil, usage(c, "--ranks does not go together with %s", wrong)
	}
	place, err := launcher.Find(os.LookupEnv)
	if err != nil {
		return nil, console.WithHint(fmt.Errorf("--ranks: %w", err), "start it by srun or mpiexec, or set PIANOLA_RANK and PIANOLA_SIZE")
	}
	if place.Node == "" {
		if place.Node, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	return &place, nil
}

// fileOf returns the name of the part of a trace that a rank replays.
func fileOf(dir string, rank int) string { return filepath.Join(dir, fmt.Sprintf("rank-%d.bin", rank)) }

// operandOf returns the file that a rank replays: an operand, or a file in it if it is a directory
// that compile --ranks has written.
func operandOf(name string, place *launcher.Place) string {
	if place != nil {
		own := fileOf(name, place.Rank)
		if _, err := os.Stat(own); err == nil {
			return own
		}
	}
	return name
}

// needRanks returns an error for a trace that was recorded with another number of ranks than that
// of those that replay it; who says what needs as many.
func needRanks(file string, h *format.Header, size int, who string) error {
	if n := len(replay.RanksOf(h)); n != size {
		return fmt.Errorf("%s: recorded with %d ranks, and replayed by %d: %s as many", file, n, size, who)
	}
	return nil
}

// writeRanks writes the part of a trace that each of its ranks replays into a directory. Rank 0
// gets the whole trace, because it compares all threads.
func writeRanks(dir string, f *os.File, limit int64) error {
	t, err := recordings.Within(f, limit)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	ranks := len(replay.RanksOf(t.Header()))
	if ranks == 0 {
		return errors.New("--ranks: no thread of the trace has a rank")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for rank := range ranks {
		own := replay.ThreadsOf(rank, ranks)(t.Header())
		err := session.files.Put(fileOf(dir, rank), files.Private, func(w io.Writer) error {
			return bin.WritePart(w, f, info.Size(), limit, func(thread int32) bool { return rank == 0 || own(thread) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// join joins the other ranks. The context of c ends when one of them fails.
func join(c *cli.Context, o *replay.Options, place *launcher.Place) error {
	meet := c.String("rendezvous")
	if meet == "" && c.IsSet("play-layer") {
		meet = o.Root // the player has the connection to the launcher
	}
	s, err := ranks.NewSession(c.Context, ranks.Config{
		Rank: place.Rank, Size: place.Size, Node: place.Node, Job: place.Job, Rendezvous: meet, Wait: c.Duration("rendezvous-timeout"),
	})
	if err != nil {
		return rendezvousHint(told(place.Rank, err))
	}
	o.Session = s
	ctx, cancel := context.WithCancelCause(c.Context)
	c.Context = ctx
	go func() {
		<-s.Failed()
		cancel(s.Failure())
	}()
	return nil
}

// agree finds out whether all ranks replay the same trace with the same options.
func agree(c *cli.Context, s *ranks.Session, t *bin.Trace) error {
	return s.Agree(c.Context, ranks.Terms{Trace: t.Sum(), Version: fmt.Sprint(provenance.ThisBuild()), Options: shared(c)})
}

// shared returns the options that all ranks must have in common.
func shared(c *cli.Context) (options []string) {
	for _, o := range rowsOf(commandName(c.Command)) {
		if !o.own {
			options = append(options, fmt.Sprintf("--%s %s", o.name, strings.Join(o.values(c), " ")))
		}
	}
	return options
}

func rendezvousHint(err error) error {
	if errors.Is(err, ranks.ErrNoProgram) {
		return console.WithHint(err, "build it in the directory of pianola: make build")
	}
	return err
}

// leave ends the session of a replay, whose outcome the others hear.
func leave(o *replay.Options, outcome error) error {
	s := o.Session
	if s == nil {
		return outcome
	}
	if errors.Is(outcome, errInterrupted) {
		s.Abort(errors.New("interrupted"))
	} else if outcome != nil && !isVerdict(outcome) {
		s.Abort(outcome)
	}
	s.Leave()
	return told(s.Rank, outcome)
}

// told leaves it to rank 0 to print an error that all ranks know.
func told(rank int, err error) error {
	if _, known := errors.AsType[*ranks.PeerError](err); known && rank != 0 {
		return &exitError{status: ExitFailure}
	}
	return err
}

// isVerdict reports whether an error is only the exit status of a complete replay.
func isVerdict(err error) bool {
	e, ok := errors.AsType[*exitError](err)
	return ok && e.err == nil
}

// isRankZero reports whether a replay's output is this process's.
func isRankZero(o *replay.Options) bool { return o.Session == nil || o.Session.Rank == 0 }
