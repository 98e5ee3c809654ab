package engine

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// trace is a compiled trace in memory: the records of each thread and what they wait for.
type trace struct {
	format.Trace // nil: a method that no test expects
	header       format.Header
	records      [][]format.Record
	waits        [][]format.Wait
}

func (t *trace) Header() *format.Header                    { return &t.header }
func (t *trace) Strings() []string                         { return nil }
func (t *trace) Len(thread int32) int64                    { return int64(len(t.records[thread-1])) }
func (t *trace) Waits(thread int32) ([]format.Wait, error) { return t.waits[thread-1], nil }
func (t *trace) Records(thread int32) format.RecordReader  { return &reader{t.records[thread-1]} }
func (t *trace) Ways(int32) format.WayReader               { return noWays{} }
func (t *trace) Durations(thread int32) format.DurationReader {
	return unknownDurations{int(t.Len(thread))}
}

type reader struct{ left []format.Record }

func (r *reader) Read(batch []format.Record) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(batch, r.left)
	r.left = r.left[n:]
	return n, nil
}

type noWays struct{}

func (noWays) Read([]format.Way) (int, error) { return 0, io.EOF }

type unknownDurations struct{ left int }

func (d unknownDurations) Read(batch []int64) (int, error) {
	for i := range batch {
		batch[i] = format.Unknown
	}
	return len(batch), nil
}

// thread adds a thread with so many events of one operation, and returns its number.
func (t *trace) thread(th format.Thread, op format.Op, events int) int32 {
	records := make([]format.Record, events)
	for i := range records {
		records[i].Op = op
	}
	t.header.Threads = append(t.header.Threads, th)
	t.records, t.waits = append(t.records, records), append(t.waits, nil)
	return int32(len(t.records))
}

// scripted is an executor whose events are what play does; nil for nothing.
type scripted struct {
	play func(w *Worker, r *format.Record) int64
}

func (s scripted) Operations() *[format.NumOps]Operation { return &All }
func (s scripted) NewSlotState(*Slot, int) SlotState     { return nil }
func (s scripted) Player(w *Worker) (Player, error)      { return &scriptedPlayer{script: s, w: w}, nil }

type scriptedPlayer struct {
	Stateless
	script scripted
	w      *Worker
}

func (p *scriptedPlayer) Play(r *format.Record) int64 {
	if r.Op == format.OpRingSubmit {
		p.w.Submit(r)
	}
	if p.script.play == nil {
		return r.Ret
	}
	return p.script.play(p.w, r)
}

// options are those of a replay as fast as possible.
var options = Options{Timing: AFAP, Speed: 1, Threads: 1000, Memory: 64 << 20}

// built returns an engine for a trace, which is built, and not played.
func built(t *testing.T, of *trace, o Options, play func(w *Worker, r *format.Record) int64) *Engine {
	t.Helper()
	e := NewStage(NewClock(nil)).NewEngine("", of, of, o)
	require.NoError(t, e.Build(t.Context(), scripted{play}))
	return e
}
