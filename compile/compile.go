// Package compile turns a recording into a benchmark: it resolves every path,
// maps it below the root, gives created files temporary names, leaves out what
// is no file, finds what must exist before the first event and which event of
// one thread must wait for which of another, and turns start times into
// compute.
//
// The input is read once, by a goroutine of its own, which puts the events in
// causal order and keeps them in a spool. At least two passes read the spool,
// the first while it grows. Each runs the same simulation of threads,
// descriptor tables and the name space over the events; the first finds out what
// the names and buffers will be, the last writes, by another goroutine. A pass
// is repeated where it learned that a name it had taken for a file is a symbolic
// link. Memory grows with the number of names, threads and open descriptors,
// and to a bound with that of waits at pipes, not with the number of events.
package compile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pianola/filter"
	"pianola/format"
	"pianola/format/spool"
)

// Sink takes the compiled events and, at the end, the header of the trace.
// Events carry the number of their thread in TID. Calls come from one goroutine
// at a time, but not all from the same.
type Sink interface {
	format.Writer
	Close(h *format.Header) error
}

// Options are the choices of a compilation.
type Options struct {
	Paths Paths // how paths are mapped below the root

	// Compensate subtracts the recorder's own cost per event, where the
	// recording says what it was.
	Compensate bool

	// Filter says which events stay in the trace, nil for all. Events that
	// the others need stay in any case: see docs/compile.md.
	Filter filter.Filter

	// Key, of at least MinKey bytes, replaces names by keyed hashes and takes
	// out of the trace what tells of the command, its user and the machine.
	Key []byte

	// Accept is called with the report before out is closed, nil for never: an
	// error is that of Compile, and out is not closed.
	Accept func(*Report) error

	// Memory is how many bytes the names, files, threads, descriptors and what
	// is kept of them may take, 0 for DefaultMemory. A recording that needs more
	// is a LimitError. Besides, there are what the Sink holds and what the Go
	// runtime adds.
	Memory int64

	// Bare leaves durations and buffer addresses out of the trace. The older
	// Pianola wrote 32-bit addresses, and durations that hold the time spent
	// in logging ("May: Pianola", section 3), so its scripts are compiled so.
	Bare bool
}

// maxPasses bounds how often a pass is repeated for what it learned.
const maxPasses = 8

// batchSize is how many events are read or written at once.
const batchSize = 512

// Compile reads a recording, writes the trace to out and reports what it
// changed. Events that do not fit into memory stand in tmp until it returns; it
// closes neither. src is read by another goroutine, which has ended when Compile
// returns. The report is valid even when err is not nil, as far as it got.
func Compile(src format.Reader, tmp spool.File, out Sink, o Options) (*Report, error) {
	if o.Key != nil && len(o.Key) < MinKey {
		return &Report{}, fmt.Errorf("the key has %d bytes, fewer than %d", len(o.Key), MinKey)
	}
	in := take(src, tmp)
	defer in.stop()
	var (
		known = &lore{links: map[string]string{}, named: map[string]bool{}, strays: map[stray]bool{}}
		p     *plan
	)
	for pass := 0; p == nil; pass++ {
		known.more, known.closed = false, pass == maxPasses
		m := newModel(o, known, nil, nil)
		if err := m.run(in); err != nil {
			return &m.report, err
		}
		if !known.more {
			p = m.plan()
		}
	}
	w := newWriter(out)
	m := newModel(o, known, p, w)
	err := m.run(in)
	if fault := w.end(); fault != nil {
		err = fault
	}
	if err != nil {
		return &m.report, err
	}
	m.report.Substitutions, m.report.Threads = p.substitutions, len(m.table)
	lost, ended := in.last.Value(format.MetaLost)
	total, _, _ := strings.Cut(lost, " ") // by operation and processor comes after it
	m.report.Lost, _ = strconv.ParseInt(total, 10, 64)
	if _, recorded := in.last.Value(format.MetaTool); recorded && !ended {
		m.report.Endless = true
	}
	if o.Accept != nil {
		if err := o.Accept(&m.report); err != nil {
			return &m.report, err
		}
	}
	return &m.report, out.Close(m.header(in.last))
}

// Copy writes events that are compiled already, those of an intermediate
// script or of a compiled trace, to out as they are. A note that a trace can't
// hold is an error: it may be a misspelt edge.
func Copy(r format.Reader, out Sink) error {
	batch := make([]format.Event, batchSize)
	for copied := 0; ; {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			if notes := batch[i].Notes; notes != nil {
				return fmt.Errorf("event %d: unknown note in {%.100s}", copied+i+1, notes.Text)
			}
		}
		copied += n
		if n > 0 {
			if werr := out.Write(batch[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Close(r.Header())
		}
		if err != nil {
			return err
		}
	}
}

// run takes the whole recording through the model.
func (m *model) run(in *intake) error {
	r, batch := in.events.Reader(), make([]format.Event, readBatch)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			if !m.started {
				m.start(in.first, &batch[i])
			}
			m.line++
			if err := m.apply(&batch[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	m.report.Orphans = in.orphans
	if len(m.table) == 0 {
		return errors.New("no events in the recording")
	}
	return m.flush()
}

// readBatch is how many events a pass reads at once: few enough for the cache
// of a processor.
const readBatch = 64

// header returns the header of the trace, of a recording with such a header.
func (m *model) header(source *format.Header) *format.Header {
	h := &format.Header{Threads: m.table, Descriptors: m.descriptors, Files: m.names.plan.files}
	for _, meta := range source.Meta {
		if m.options.Key != nil && !kept[meta.Key] {
			continue
		}
		switch meta.Key {
		case format.MetaCwd, format.MetaProcess, format.MetaCost: // spent: paths are resolved, the cost is subtracted
		default:
			h.Meta = append(h.Meta, meta)
		}
	}
	if m.options.Paths == Flat && !m.options.Bare { // an older script has no remarks
		h.Set(format.MetaPaths, format.PathsFlat)
	}
	if s := m.report.LeftOut.String(); s != "" {
		h.Set(format.MetaLeftOut, s)
	}
	if m.sharing > 0 {
		h.Set(format.MetaSharing, fmt.Sprint(m.sharing))
	}
	if n := m.report.Unexplained; n > 0 {
		h.Set(format.MetaUnexplained, fmt.Sprint(n))
	}
	return h
}
