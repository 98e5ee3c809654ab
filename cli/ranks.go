package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/bin"
	"pianola/internal/console"
	"pianola/internal/launcher"
	"pianola/profile"
	"pianola/provenance"
	"pianola/ranks"
	"pianola/replay"
	"pianola/replay/fileset"
	"pianola/stats"
	"pianola/table"
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
	case o.Backend != replay.Posix && o.Backend != replay.Null:
		wrong = "--backend " + c.String("backend")
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

// chooseThreads returns what a rank reads of a trace, nil for all: rank 0 compares them.
func chooseThreads(place *launcher.Place) func(h *format.Header) func(thread int32) bool {
	if place == nil || place.Rank == 0 {
		return nil
	}
	return func(h *format.Header) func(thread int32) bool {
		players := replay.Players(h, place.Size)
		return func(thread int32) bool { return int(thread) <= len(players) && players[thread-1] == place.Rank }
	}
}

// agreement is what all ranks must have in common.
type agreement struct {
	Trace   uint32
	Version string
	Options []string // as on the command line, the same ones in the same order for all ranks
}

// join joins the other ranks. The context of c ends when one of them fails.
func join(c *cli.Context, o *replay.Options, place *launcher.Place) error {
	s, err := ranks.NewSession(c.Context, ranks.Config{
		Rank: place.Rank, Size: place.Size, Node: place.Node, Job: place.Job, Rendezvous: c.String("rendezvous"), Wait: c.Duration("rendezvous-timeout"),
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
	own := agreement{t.Sum(), fmt.Sprint(provenance.ThisBuild()), shared(c)}
	all, err := ranks.CollectJSON(c.Context, s, own)
	if err != nil {
		return err
	}
	for i := range all {
		switch {
		case all[i].Trace != all[0].Trace:
			return fmt.Errorf("%s has another trace than rank 0", s.Name(i))
		case all[i].Version != all[0].Version:
			return fmt.Errorf("%s has version %s of pianola, rank 0 has %s", s.Name(i), all[i].Version, all[0].Version)
		case !slices.Equal(all[i].Options, all[0].Options):
			return fmt.Errorf("%s has other options than rank 0: %s", s.Name(i), differing(all[i].Options, all[0].Options))
		}
	}
	return nil
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

// differing returns the first of the options that one rank has and the other has not.
func differing(one, other []string) string {
	for i := range one {
		if one[i] != other[i] {
			return one[i] + ", not " + other[i]
		}
	}
	return ""
}

func rendezvousHint(err error) error {
	if errors.Is(err, ranks.ErrNoProgram) {
		return console.WithHint(err, "build it beside pianola: make build")
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

// playingOf returns what to call with the progress of this process.
func playingOf(o *replay.Options, show func(events, all int64)) func(events, all int64) {
	s := o.Session
	switch {
	case s == nil || s.Size == 1:
		return show
	case s.Rank != 0:
		return s.Report
	case show == nil:
		return nil
	}
	return func(events, all int64) {
		s.Report(events, all)
		show(s.Progress())
	}
}

type rankDocument struct {
	Rank           int     `json:"rank"`
	Node           string  `json:"node"`
	Recorded       []int32 `json:"recorded"`
	Events         int64   `json:"events"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	LateSeconds    float64 `json:"late_seconds"`
	OffsetSeconds  float64 `json:"clock_offset_seconds"`
	ClockSeconds   float64 `json:"clock_error_seconds"`
	MemoryBytes    int64   `json:"memory_bytes"`
	CarrierBytes   int64   `json:"carrier_bytes"`
}

type edgesDocument struct {
	Edges   int64          `json:"edges"`
	Latency *profile.Tails `json:"latency"`
}

func documentRanks(r *replay.Result) (list []rankDocument, edges *edgesDocument) {
	for i := range r.Ranks {
		one := &r.Ranks[i]
		list = append(list, rankDocument{
			Rank: one.Rank, Node: one.Node, Recorded: append([]int32{}, one.Recorded...), Events: one.Events, ElapsedSeconds: one.Elapsed.Seconds(),
			LateSeconds: one.Late.Seconds(), OffsetSeconds: one.Offset.Seconds(), ClockSeconds: one.Clock.Seconds(), MemoryBytes: one.Memory, CarrierBytes: one.Carrier,
		})
	}
	if len(r.Ranks) > 1 {
		edges = &edgesDocument{r.Edges.Count, profile.TailsOf(r.Edges.Latency)}
	}
	return list, edges
}

// printRanks prints a row for each rank, and how long it took one to hear of another. Of
// several runs it prints medians, and the extremes of elapsed times.
func printRanks(w io.Writer, runs []*replay.Result) error {
	ranks := runs[0].Ranks
	head := []string{"rank", "node", "recorded", "executed", "elapsed s", "started late", "clock within"}
	if len(runs) > 1 {
		head = slices.Insert(head, 5, "least", "most")
	}
	rows := [][]string{head}
	for i := range ranks {
		one := &ranks[i]
		of := func(value func(*replay.RankResult) time.Duration) []int64 {
			return each(runs, func(r *replay.Result) int64 { return int64(value(&r.Ranks[i])) })
		}
		elapsed := of(func(r *replay.RankResult) time.Duration { return r.Elapsed })
		late := of(func(r *replay.RankResult) time.Duration { return r.Late })
		row := []string{
			table.Count(int64(one.Rank)), format.Visible(one.Node), rankList(one.Recorded), table.Count(one.Events),
			seconds(stats.Median(elapsed)), time.Duration(stats.Median(late)).String(), one.Clock.String(),
		}
		if len(runs) > 1 {
			row = slices.Insert(row, 5, seconds(slices.Min(elapsed)), seconds(slices.Max(elapsed)))
		}
		rows = append(rows, row)
	}
	if err := printIndented(w, rows); err != nil {
		return err
	}
	if len(ranks) > 1 {
		latency := func(value func(*stats.Quantiles) int64) []int64 {
			return each(runs, func(r *replay.Result) int64 { return value(&r.Edges.Latency) })
		}
		fmt.Fprintf(w, "between ranks: %s; known to the other rank after p50 %v, p99 %v, max %v\n", table.Plural(int(runs[0].Edges.Count), "edge"),
			tens(stats.Median(latency(func(l *stats.Quantiles) int64 { return l.P50 }))), tens(stats.Median(latency(func(l *stats.Quantiles) int64 { return l.P99 }))),
			tens(slices.Max(latency(func(l *stats.Quantiles) int64 { return l.Max }))))
	}
	return nil
}

// each returns a value of each run.
func each(runs []*replay.Result, value func(*replay.Result) int64) (all []int64) {
	for _, r := range runs {
		all = append(all, value(r))
	}
	return all
}

func seconds(nanos int64) string { return table.Fixed(time.Duration(nanos).Seconds(), 6) }

// rankList prints ranks in order, consecutive ones as a range.
func rankList(list []int32) string {
	if len(list) == 0 {
		return table.Missing
	}
	return ranks.List(list)
}
