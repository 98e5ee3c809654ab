// Package spans replays the calls of a library that a trace holds, its spans, in place of
// its system calls. A program that calls the library itself, a player, executes them: one
// for each process of the recording, since handles belong to a process.
//
//	trace ──survey──► outermost spans of each thread, and what they wait for
//	trace ──dispatch► a queue for each thread ──► worker of the engine ──► player
//
// Spans within another span of their layer are not replayed: the outer call makes them
// again. Spans within a call with a callback of the program belong to the program, and are
// replayed before it. System calls are not replayed either. The time of system calls between
// spans is part of the compute.
package spans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pianola/format"
	"pianola/format/layer"
	"pianola/format/script"
	"pianola/internal/plugin"
	"pianola/internal/stats"
	"pianola/replay"
	"pianola/replay/engine"
	"pianola/replay/posix"
)

// Player executes spans. Threads may call PlaySpan concurrently, each one call at a time.
type Player interface {
	PlaySpan(thread int32, e *format.Event) (plugin.Answer, error)
	Close() error
}

// Options are the choices of a replay of spans. Open and Place are required.
type Options struct {
	Timing replay.Timing
	Wait   replay.Wait
	Speed  float64 // scales the time between spans; 0 stands for 1
	Strict bool    // end at the first result that differs

	// Open starts a player for a process of the recording. It gets a context that is done
	// when the replay ends early.
	Open func(ctx context.Context, process int32) (Player, error)

	// Place returns the name for the player of a file of the application, or false if the
	// file has none. It is called once for each of Paths.
	Place func(path string) (name string, ok bool)

	// Log, if not nil, gets the spans that were played as a script, in order of completion,
	// with the remarks of About.
	Log   io.Writer
	About []format.Meta
}

// Result is the result of a replay of spans.
type Result struct {
	Layer     string
	Functions []Function      // those that were called, in the order of the layer
	Reasons   []Reason        // why spans were not played, the most frequent first
	Remarks   []Reason        // how spans were played otherwise than recorded, the most frequent first
	Lateness  stats.Quantiles // nanoseconds
	Elapsed   time.Duration   // from the start to the end of the last span
	Recorded  time.Duration   // the same in the recording, from the start of the trace
	Nested    int64           // spans of the layer within others
	Inside    int64           // system calls within spans of the layer
	Outside   int64           // system calls that are not
	OutNanos  int64           // their recorded time
}

// Function is the result of the calls of a function.
type Function struct {
	Name     string
	Kind     string // layer.Span
	Calls    int64  // that were played
	Refused  int64  // that were not
	Failed   int64  // of those played
	Differed int64  // of those played: success or bytes are not as recorded
	Nanos    int64  // that calls took
	Recorded int64  // nanoseconds that these calls took in the recording

	Bytes  int64 // that calls moved, as far as known
	Moving int64 // nanoseconds that the calls took whose bytes are known

	First *Difference // the first of Differed; nil if there is none
}

// Reason is what a player says about spans.
type Reason struct {
	Text  string
	Count int64
}

// Difference is a span whose result differs.
type Difference struct {
	Thread        int32
	Call          string // the function with all arguments
	Recorded, Got int64
	Failed        bool // the call failed in the recording
}

// String describes the difference in one line.
func (d *Difference) String() string {
	was := "succeeded"
	if d.Failed {
		was = "failed"
	}
	return fmt.Sprintf("%s of thread %d: recorded %d, which %s, got %d", d.Call, d.Thread, d.Recorded, was, d.Got)
}

// ErrDiffers is wrapped by the error of a strict replay.
var ErrDiffers = errors.New("result differs")

// Source is a trace: its header, and its events, which can be read several times.
type Source interface {
	Header() *format.Header
	Events() format.Reader
}

// Replay is a replay of the spans of a layer.
type Replay struct {
	Options
	layer   *layer.Layer
	header  *format.Header
	source  Source
	memory  int64             // bytes
	byName  map[string]int    // of the layer's functions
	places  map[string]string // of files, by the application's names; "" for one that has none
	threads []*thread
	players map[int32]Player
	engine  *engine.Engine

	lock    sync.Mutex
	result  Result
	log     *script.Writer // nil without Options.Log
	logged  [1]format.Event
	calls   []Function // by the place of the function in the layer
	reasons map[string]int64
	remarks map[string]int64
	args    []int64 // of the span that is accounted for
}

// New prepares a replay of the spans of a layer in a trace. memory bounds the bytes for
// their state.
func New(s Source, l *layer.Layer, memory int64) (*Replay, error) {
	r := &Replay{
		layer: l, memory: memory, header: s.Header(), source: s, byName: map[string]int{}, places: map[string]string{}, players: map[int32]Player{},
		calls: make([]Function, len(l.Functions)), reasons: map[string]int64{}, remarks: map[string]int64{},
	}
	for i, f := range l.Functions {
		r.byName[f.Name] = i
	}
	return r, r.survey(memory)
}

// Recorded returns the time in the recording from the start of the trace to the end of the last
// span.
func (r *Replay) Recorded() time.Duration { return r.result.Recorded }

// Paths returns the files that the spans name, as the application does, in no order.
func (r *Replay) Paths() []string { return slices.Collect(maps.Keys(r.places)) }

// Run replays the spans, once. After an error the Result is that of the spans until then.
func (r *Replay) Run(ctx context.Context, o Options) (*Result, error) {
	r.Options = o
	r.Speed = cmp.Or(r.Speed, 1)
	for app := range r.places {
		if name, ok := r.Place(app); ok {
			r.places[app] = name
		}
	}
	err := r.begin()
	if err == nil {
		err = r.open(ctx)
	}
	if err == nil {
		err = r.play(ctx)
	}
	if r.log != nil {
		err = cmp.Or(err, r.log.Flush())
	}
	for _, p := range r.players {
		if cerr := p.Close(); err == nil {
			err = cerr
		}
	}
	return r.collect(), err
}

// begin writes the header of the log.
func (r *Replay) begin() error {
	if r.Log == nil {
		return nil
	}
	r.log = script.NewWriter(r.Log)
	h := replay.LogHeader(r.header, r.About)
	for _, m := range r.header.Meta {
		if m.Key == format.MetaLayer {
			h.Meta = append(h.Meta, m)
		}
	}
	h.Set(format.MetaReplay, fmt.Sprintf("timing=%s speed=%g wait=%s layer=%s backend=program", r.Timing, r.Speed, r.Wait, r.layer.Name))
	return r.log.WriteHeader(h)
}

// open starts the players of the processes that have spans.
func (r *Replay) open(ctx context.Context) error {
	for _, t := range r.threads {
		if len(t.outer) == 0 || r.players[t.process] != nil {
			continue
		}
		p, err := r.Open(ctx, t.process)
		if err != nil {
			return err
		}
		r.players[t.process] = p
	}
	return nil
}

// play lets the engine play the spans of each thread, and dispatches them meanwhile.
func (r *Replay) play(ctx context.Context) error {
	s := engine.NewStage(engine.NewClock(posix.ReadyThread))
	s.Sleeper, s.Collect = posix.ReadyThread, true
	t := &trace{r}
	r.engine = s.NewEngine("", t, t, engine.Options{
		Timing: r.Timing, Wait: r.Wait, Speed: r.Speed, Threads: len(r.threads), Memory: r.memory,
	})
	if err := r.engine.Build(ctx, executor{r}); err != nil {
		return err
	}
	var dealing sync.WaitGroup
	dealing.Go(func() {
		if err := r.dispatch(s.Done()); err != nil {
			s.Fail(err)
		}
		for _, t := range r.threads {
			close(t.queue)
		}
	})
	err := s.Play(ctx)
	s.Stop() // dispatch may wait for a thread that ended early
	dealing.Wait()
	r.result.Lateness = r.lateness()
	return err
}

// each reads the events and spans of the trace.
func (r *Replay) each(take func(e *format.Event) error) error {
	return format.Each(r.source.Events(), take)
}

// ErrNoSpans is the error of a trace without spans of the layer.
var ErrNoSpans = errors.New("no calls of the layer were recorded")

// survey finds the spans of each thread that no other span of the layer encloses, the files
// that they name, and their waits.
func (r *Replay) survey(memory int64) error {
	for i, th := range engine.ThreadsOf(r.header) {
		r.threads = append(r.threads, &thread{r: r, number: int32(i + 1), process: th.Process, queue: make(chan *item, queued)})
	}
	total := 0
	err := r.each(func(e *format.Event) error {
		if e.Span == nil || e.Span.Layer != r.layer.Name {
			return nil
		}
		t := r.threads[e.TID-1]
		n := len(t.outer)
		if i, ok := r.byName[e.Span.Function]; !ok || !r.layer.Functions[i].CallsBack() {
			for n > 0 && t.outer[n-1].within(e) {
				n--
			}
		}
		r.result.Nested += int64(len(t.outer) - n)
		total += 1 + n - len(t.outer)
		t.outer = append(t.outer[:n], outer{t.spans, e.Start, e.End()})
		t.spans++
		r.result.Recorded = max(r.result.Recorded, time.Duration(e.End()))
		if int64(total)*outerBytes > memory {
			return fmt.Errorf("the spans take more than %d bytes: %w", memory, replay.ErrLimit)
		}
		return r.name(e.Span)
	})
	if err == nil && total == 0 {
		err = ErrNoSpans
	}
	if err != nil {
		return err
	}
	return r.order(memory)
}

// name records the files that a span names.
func (r *Replay) name(s *format.Span) error {
	for _, v := range s.Args {
		if v.Kind != format.ValuePath || v.Text == nil {
			continue
		}
		if _, ok := r.places[string(v.Text)]; ok {
			continue
		}
		if len(r.places) == maxPaths {
			return fmt.Errorf("the spans name more than %d files: %w", maxPaths, replay.ErrLimit)
		}
		r.places[string(v.Text)] = ""
	}
	return nil
}

// maxPaths bounds the files that spans name.
const maxPaths = 1 << 20

// collect completes the result.
func (r *Replay) collect() *Result {
	for i, f := range r.calls {
		if f.Calls+f.Refused > 0 {
			f.Name, f.Kind = r.layer.Functions[i].Name, string(r.layer.Functions[i].Span)
			r.result.Functions = append(r.result.Functions, f)
		}
	}
	r.result.Reasons, r.result.Remarks = sorted(r.reasons), sorted(r.remarks)
	r.result.Layer = r.layer.Name
	return &r.result
}

// maxReasons bounds the texts of a player.
const maxReasons = 100

func count(counts map[string]int64, text string) {
	if counts[text] > 0 || len(counts) < maxReasons {
		counts[text]++
	}
}

// sorted returns the texts, the most frequent first.
func sorted(counts map[string]int64) (list []Reason) {
	for text, n := range counts {
		list = append(list, Reason{text, n})
	}
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text))
	})
	return list
}
