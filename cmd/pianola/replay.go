package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/format/script"
	"pianola/profile"
	"pianola/replay"
)

func replayCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "replay",
		Usage: "replay a compiled trace",
		UsageText: "pianola replay [--root DIR] [--prepare auto|always|never|only] [--cache recorded|warm|cold|asis]\n" +
			"[--timing compute|schedule|afap] [--speed X] [--wait auto|spin|sleep]\n" +
			"[--order resource|thread|total] [--backend posix|null] [--compressibility PERCENT] [--memory]\n" +
			"[--log FILE] [--strict] [--keep] [--json] TRACE.bin",
		Description: "Builds the files that the trace needs below the root, replays every recorded thread with its\n" +
			"own timing, and compares the result with the application. Nothing outside the root is touched.\n" +
			"Without --root a directory is made in the working directory, and removed at the end.\n\n" +
			"Example: pianola replay --root /mnt/disk/root --log replay.log trace.bin",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "work in `DIR`, which is made if missing"},
			&cli.StringFlag{Name: "prepare", Value: "auto", Usage: "`WHAT` to build of the files: auto (what is missing or does not fit), always (all), never (nothing), only (as auto, and replay nothing)"},
			&cli.StringFlag{Name: "cache", Value: "recorded", Usage: "`HOW` the page cache is before the start: recorded (as the application found it), warm, cold, asis"},
			&cli.StringFlag{Name: "timing", Value: "compute", Usage: "`WHEN` an event is due: compute (after the thread's last), schedule (at its recorded time), afap (at once)"},
			&cli.Float64Flag{Name: "speed", Value: 1, Usage: "divide compute by `X`"},
			&cli.StringFlag{Name: "wait", Value: "auto", Usage: "`HOW` to wait for that: auto (asleep, then spinning where a processor is free), spin, sleep"},
			&cli.StringFlag{Name: "order", Value: "resource", Usage: "`WHAT` an event waits for of other threads: resource (what it uses), thread (nothing), total (all that came before)"},
			&cli.StringFlag{Name: "backend", Value: "posix", Usage: "`WHO` plays the events: posix (the kernel), null (nobody, which measures the engine)"},
			&cli.BoolFlag{Name: "landlock", Usage: "confine what plays the trace by Landlock, too (0.7 µs an open)"},
			&cli.IntFlag{Name: "compressibility", Usage: "`PERCENT` of what is written that a compressor can take away"},
			&cli.BoolFlag{Name: "memory", Usage: "use memory as the application did, where it was recorded (record --memory)"},
			&cli.StringFlag{Name: "log", Usage: "write what was replayed to `FILE`, as a script"},
			&cli.BoolFlag{Name: "strict", Usage: "end at the first result that differs from the recorded one"},
			&cli.BoolFlag{Name: "keep", Usage: "leave the files below the root; those that were there before are left in any case"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document"},
		},
		Action: runReplay,
	})
}

func runReplay(c *cli.Context) error {
	name, err := operand(c, "compiled trace")
	if err != nil {
		return err
	}
	o, err := replayOptions(c)
	if err != nil {
		return err
	}
	t, f, err := openTrace(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if o.Root == "" && o.Backend == replay.Posix {
		if o.Root, err = os.MkdirTemp(".", "pianola-root-"); err != nil {
			return err
		}
		if o.Keep || o.Prepare == replay.PrepareOnly {
			fmt.Fprintf(os.Stderr, "pianola: replay: keeping %s\n", o.Root)
		} else {
			defer os.Remove(o.Root) // what is in it the replay removes itself
		}
	}
	var log *output
	if c.IsSet("log") {
		// Opened first: a replay whose log can't be written is run in vain.
		if log, err = createOutput(c.String("log")); err != nil {
			return err
		}
		defer log.abort()
	}
	prepared := newProgress("preparing files", -1)
	o.Progress = showPreparation(prepared) // never during the run
	r, runErr := replay.Run(c.Context, t, o)
	prepared.done()
	switch {
	case r == nil && errors.Is(runErr, context.Canceled):
		return &exitError{status: 130}
	case r == nil:
		return fmt.Errorf("%s: %w", name, withHint(runErr))
	case o.Prepare == replay.PrepareOnly:
		return errors.Join(runErr, printPrepared(c, &r.Prepared))
	}
	if log != nil {
		if err := writeLog(log, r); err != nil {
			return err
		}
		if err := log.commit(); err != nil {
			return err
		}
	}
	s, err := summarise(t, r)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = printJSON(s.document())
	} else {
		err = s.print(os.Stdout)
	}
	switch {
	case errors.Is(runErr, context.Canceled):
		return &exitError{status: 130} // 128 + SIGINT, as a shell says it
	case runErr != nil:
		return fmt.Errorf("%s: %w", name, runErr)
	}
	return err
}

// replayOptions reads the command line.
func replayOptions(c *cli.Context) (o replay.Options, err error) {
	o = replay.Options{
		Root: c.String("root"), Speed: c.Float64("speed"), Strict: c.Bool("strict"), Keep: c.Bool("keep"), Memory: c.Bool("memory"),
		Compressibility: c.Int("compressibility"), Landlock: c.Bool("landlock"),
	}
	if o.Timing, err = replay.ParseTiming(c.String("timing")); err != nil {
		return o, usage(c, "--timing: %v", err)
	}
	if o.Wait, err = replay.ParseWait(c.String("wait")); err != nil {
		return o, usage(c, "--wait: %v", err)
	}
	if o.Order, err = replay.ParseOrder(c.String("order")); err != nil {
		return o, usage(c, "--order: %v", err)
	}
	if o.Backend, err = replay.ParseBackend(c.String("backend")); err != nil {
		return o, usage(c, "--backend: %v", err)
	}
	if err := prepareOptions(c, &o); err != nil {
		return o, err
	}
	switch {
	case !(o.Speed > 0):
		return o, usage(c, "--speed: %v is not above 0", o.Speed)
	case o.Compressibility < 0 || o.Compressibility > 100:
		return o, usage(c, "--compressibility: %d is not from 0 to 100", o.Compressibility)
	case o.Root != "" && o.Backend != replay.Posix:
		return o, usage(c, "--root: the backend %s has no use for it", o.Backend)
	}
	return o, nil
}

// writeLog writes what was replayed as a script.
func writeLog(w io.Writer, r *replay.Result) error {
	p := script.NewWriter(w)
	events := r.Events()
	h := &format.Header{}
	for _, key := range []string{format.MetaCommand, format.MetaReplay} {
		if v, ok := events.Header().Value(key); ok {
			h.Set(key, v)
		}
	}
	if err := p.WriteHeader(h); err != nil {
		return err
	}
	if err := pump(events, p); err != nil {
		return err
	}
	return p.Flush()
}

// summary is what replay says at the end.
type summary struct {
	result     *replay.Result
	leftOut    map[format.Op]int64
	comparison *profile.Comparison
	replayed   *profile.Profile
}

// toleranceOfReplay is the tolerance of the verdict that replay prints; compare
// has an option for it.
const toleranceOfReplay = 0.1

type eventSource interface {
	format.Trace
	Events() format.Reader
}

func summarise(t eventSource, r *replay.Result) (*summary, error) {
	rep, err := profile.Read(r.Events())
	if err != nil {
		return nil, err
	}
	s := &summary{result: r, replayed: rep, leftOut: map[format.Op]int64{}}
	if !r.Interrupted { // a part compares with nothing, and whoever stopped it waits
		app, err := profile.Read(t.Events())
		if err != nil {
			return nil, err
		}
		s.comparison = profile.Compare([]*profile.Profile{app}, []*profile.Profile{rep})
	}
	text, _ := t.Header().Value(format.MetaLeftOut)
	for _, word := range strings.Fields(text) { // "read=12 write=3"
		name, number, _ := strings.Cut(word, "=")
		if op, ok := format.Lookup([]byte(name)); ok {
			s.leftOut[op], _ = strconv.ParseInt(number, 10, 64)
		}
	}
	return s, nil
}

func (s *summary) print(w io.Writer) error {
	r := s.result
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "operation\texecuted\tfiltered out\tfailed\tdiffered\t\n")
	row := func(name string, executed, left, failed, differed int64) {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t\n", name, executed, left, failed, differed)
	}
	var left int64
	for i := range r.ByOp {
		op := format.Op(i)
		if n := &r.ByOp[i]; n.Executed > 0 || s.leftOut[op] > 0 {
			row(op.String(), n.Executed, s.leftOut[op], n.Failed, n.Differed)
			left += s.leftOut[op]
		}
	}
	row("all", r.Executed, left, r.Failed, r.Differed)
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, d := range r.Differences {
		fmt.Fprintf(w, "differed: %d × %s: recorded %s, got %s; first %q, event %d of thread %d",
			d.Count, d.Op, resultText(d.Recorded), resultText(d.Got), d.Path, d.Event, d.Thread)
		if d.Reason != "" {
			fmt.Fprintf(w, ": %s", d.Reason)
		}
		fmt.Fprintln(w)
	}
	printLacks(w, &r.Prepared)
	micros := func(nanos int64) time.Duration { return time.Duration(nanos).Round(10 * time.Nanosecond) }
	fmt.Fprintf(w, "lateness: p50 %v, p99 %v, max %v; waited for other threads: %v\n",
		micros(r.Lateness.P50), micros(r.Lateness.P99), micros(r.Lateness.Max), r.OrderWait.Round(time.Microsecond))
	if r.Options.Memory {
		fmt.Fprintf(w, "memory: at most %d bytes of the application's touched at a time\n", r.MemoryBytes)
	}
	if r.Interrupted {
		fmt.Fprintln(w, "interrupted: not all events were replayed")
		return nil
	}
	fmt.Fprintln(w)
	return s.comparison.WriteText(w, toleranceOfReplay)
}

func resultText(ret int64) string {
	switch {
	case ret == format.NoResult:
		return "?"
	case ret < 0:
		return format.ErrnoName(int(-ret))
	}
	return fmt.Sprint(ret)
}

// The document that replay --json prints.
type replayDocument struct {
	ElapsedSeconds   float64                 `json:"elapsed_seconds"`
	Interrupted      bool                    `json:"interrupted"`
	Events           eventCounts             `json:"events"`
	ByOperation      map[string]*eventCounts `json:"by_operation"`
	LatenessSeconds  map[string]float64      `json:"lateness_seconds"`
	OrderWaitSeconds float64                 `json:"order_wait_seconds"`
	LateDecodes      int64                   `json:"late_decodes"`
	MemoryBytes      int64                   `json:"memory_bytes"` // 0 without --memory
	Prepared         preparedDocument        `json:"prepared"`
	Differences      []differenceDocument    `json:"differences"`
	Profile          any                     `json:"profile"`
	Comparison       any                     `json:"comparison,omitempty"` // not of an interrupted run
}

type eventCounts struct {
	Executed int64 `json:"executed"`
	Filtered int64 `json:"filtered"`
	Failed   int64 `json:"failed"`
	Differed int64 `json:"differed"`
}

type differenceDocument struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	Recorded  int64  `json:"recorded"`
	Got       int64  `json:"got"`
	Count     int64  `json:"count"`
	Thread    int32  `json:"thread"`
	Event     int64  `json:"event"`
	Reason    string `json:"reason,omitempty"`
}

func (s *summary) document() *replayDocument {
	r := s.result
	d := &replayDocument{
		ElapsedSeconds: r.Elapsed.Seconds(), Interrupted: r.Interrupted,
		Events:           eventCounts{Executed: r.Executed, Failed: r.Failed, Differed: r.Differed},
		ByOperation:      map[string]*eventCounts{},
		LatenessSeconds:  map[string]float64{"p50": seconds(r.Lateness.P50), "p99": seconds(r.Lateness.P99), "max": seconds(r.Lateness.Max)},
		OrderWaitSeconds: r.OrderWait.Seconds(),
		LateDecodes:      r.LateReads,
		MemoryBytes:      r.MemoryBytes,
		Prepared:         documentPrepared(&r.Prepared),
		Differences:      []differenceDocument{},
		Profile:          s.replayed.Document(),
	}
	for i := range r.ByOp {
		op, n := format.Op(i), &r.ByOp[i]
		if n.Executed > 0 || s.leftOut[op] > 0 {
			d.ByOperation[op.String()] = &eventCounts{n.Executed, s.leftOut[op], n.Failed, n.Differed}
			d.Events.Filtered += s.leftOut[op]
		}
	}
	for _, f := range r.Differences {
		d.Differences = append(d.Differences, differenceDocument{f.Op.String(), f.Path, f.Recorded, f.Got, f.Count, f.Thread, f.Event, f.Reason})
	}
	if !r.Interrupted {
		d.Comparison = s.comparison.Document(toleranceOfReplay)
	}
	return d
}

func seconds(nanos int64) float64 { return time.Duration(nanos).Seconds() }
