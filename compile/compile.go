// Package compile turns a recording into a benchmark. It resolves every path
// and maps it below the root, gives created files temporary names, and leaves
// out calls on anything but files. It finds what must exist before the first
// event, and which event of one thread must wait for which event of another. It
// turns start times into compute.
//
// The input is read once, by a goroutine that puts the events in causal order
// and keeps them in a spool. At least two passes read the spool; the first runs
// while the spool grows. Each pass runs the same simulation of threads,
// descriptor tables and the name space. The first pass finds the names and
// buffers; the last one writes the trace, through another goroutine. A pass is
// repeated if it learned that a name it had taken for a file is a symbolic
// link.
//
// A pass has concerns: names, descriptors, memory, contents of files, processes,
// rings, pipes, waits, locks, MPI and spans. Each asks for the facts and the
// calls that it is about, and answers with edges and events of the trace. No
// concern knows another one. The pass has the parts that all need, such as the
// names, the order, and the trace.
//
// Memory grows with the number of names, threads, open descriptors and,
// up to a bound, waits at pipes. It does not grow with the number of events.
package compile

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/spool"
)

// Sink takes the compiled events and, at the end, the header of the trace. The
// TID of an event is the number of its thread in the trace. At most one call
// runs at a time, but calls can come from different goroutines.
type Sink interface {
	format.Writer
	Close(h *format.Header) error
}

// Options are the choices of a compilation.
type Options struct {
	Paths Paths // how paths are mapped below the root

	// Compensate subtracts the recorder's own cost per event, if the recording
	// states it.
	Compensate bool

	// Names keeps the application's names of the paths in the trace. There are none
	// with Key or Bare.
	Names bool

	// Key replaces names by keyed hashes, and removes from the trace what
	// identifies the command, its user and the machine. It has at least MinKey
	// bytes; nil keeps everything.
	Key []byte

	// Accept is called with the report before out is closed; it may be nil. If
	// it returns an error, Compile returns that error and does not close out.
	Accept func(*Report) error

	// Memory is how many bytes the simulation may take for names, files,
	// threads and descriptors, 0 for DefaultMemory. A recording that needs more
	// is a LimitError. The memory of the Sink and the overhead of the Go
	// runtime come on top.
	Memory int64

	// Bare leaves durations and buffer addresses out of the trace. Scripts of
	// the older Pianola are compiled this way: they have 32-bit addresses, and
	// durations that include the time spent in logging ("May: Pianola", section
	// 3).
	Bare bool
}

// maxPasses bounds how often a pass is repeated because it learned something.
const maxPasses = 8

// batchSize is how many events are copied or written at once.
const batchSize = 1024

// Compile reads a recording, writes the trace to out and reports what it
// changed. Events that do not fit into memory are kept in tmp. Compile closes
// neither src nor tmp. Another goroutine reads src; it has ended when Compile
// returns. If err is not nil, the report covers the part that was compiled.
func Compile(src format.Reader, tmp spool.File, out Sink, o Options) (*Report, error) {
	if o.Key != nil && len(o.Key) < MinKey {
		return &Report{}, fmt.Errorf("the key has %d bytes, fewer than %d", len(o.Key), MinKey)
	}
	in := take(format.Submissions(src), tmp)
	defer in.stop()
	known := newLearned()
	for pass := 0; known.plan == nil; pass++ {
		known.first, known.more, known.closed = pass == 0, false, pass == maxPasses
		m := newModel(o, known, nil)
		m.order.planning = true
		err := m.run(in)
		if limit := (*LimitError)(nil); known.ordered && errors.As(err, &limit) {
			known, pass = newLearned(), -1
			known.lines = true
			continue
		}
		if err != nil {
			return &m.report, err
		}
		if known.first && !known.ordered && !known.lines && (m.report.Unexplained > 0 || m.disordered) && in.overlap.most > 0 {
			known, pass = newLearned(), -1
			known.ordered = true
			continue
		}
		if !known.more {
			known.plan = m.plan()
		}
	}
	known.first = false
	w := newWriter(out)
	m := newModel(o, known, w)
	err := m.run(in)
	if fault := w.end(); fault != nil {
		err = fault
	}
	if err != nil {
		return &m.report, err
	}
	m.report.MPI.Stats, m.report.MPI.Left, m.report.MPI.LeftOut = known.mpi.stats, known.mpi.left, leavesOutMPI(in.last, m.mpis)
	if known.lines {
		m.report.Tangled[tangleMemory]++
	}
	m.sumLogs()
	if text, ok := in.last.Value(format.MetaElapsed); ok {
		m.report.Elapsed, _, _ = format.ScanSeconds([]byte(text))
	}
	m.report.Substitutions, m.report.Threads = known.plan.substitutions, len(m.table)
	lost, ended := in.last.Value(format.MetaLost)
	total, _, _ := strings.Cut(lost, " ") // counts by operation and processor follow
	m.report.Lost, _ = strconv.ParseInt(total, 10, 64)
	m.report.Foreign = in.last.Foreign()
	m.report.filtered(in.last)
	if _, recorded := in.last.Value(format.MetaTool); recorded && !ended {
		m.report.Endless = true
	}
	recorded := coverage.Of(in.last)
	recorded.Uncached = known.plan.uncached
	m.report.Coverage = recorded.WithoutRequests(map[coverage.Kind]coverage.Missing{
		coverage.Uring: m.left[format.ViaUring], coverage.AIO: m.left[format.ViaAIO],
	})
	m.report.Coverage.Leave(m.left[format.ViaCall])
	if o.Accept != nil {
		if err := o.Accept(&m.report); err != nil {
			return &m.report, err
		}
	}
	return &m.report, out.Close(m.header(in.last))
}

// Copy writes compiled events to out unchanged: those of an intermediate script
// or of a compiled trace. A note that a trace can't hold is an error, because
// it may be a misspelt edge.
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

// run simulates the whole recording.
func (m *model) run(in *intake) error {
	var r interface {
		Read([]format.Event) (int, error)
	} = in.events.Reader()
	if m.learned.ordered {
		m.overlaps = newOverlaps(in, m.budget, &m.report)
		r = m.overlaps
	}
	batch := make([]format.Event, readBatch)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			if !m.started {
				m.start(in, &batch[i])
			}
			m.line++
			if m.overlaps != nil {
				m.overlaps.now = i
			}
			if m.apply(&batch[i]); m.broken != nil {
				return m.broken
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if text, _ := in.last.Value(format.MetaLeftOut); text == "" { // removed events may explain them
		m.settle()
	}
	m.tell(factOver, nil)
	m.report.Orphans = in.orphans
	if len(m.table) == 0 {
		return errors.New("no events in the recording")
	}
	m.flush()
	return m.broken
}

// readBatch is how many events a pass reads at once: few enough to fit into a
// processor's cache.
const readBatch = 64

// header returns the header of the trace, given that of the recording.
func (m *model) header(source *format.Header) *format.Header {
	h := &format.Header{Threads: m.table, Descriptors: m.naming.inherits, Files: m.learned.plan.files, Names: m.appNames.list(m.learned.plan), Ranks: ranksOf(source.Ranks, m.options.Key != nil)}
	for _, meta := range source.Meta {
		if m.options.Key != nil && meta.Key == format.MetaEnded {
			meta.Value = "reason left out" // it can name files
		} else if m.options.Key != nil && !keeps(meta) {
			continue
		}
		switch meta.Key {
		case format.MetaCwd, format.MetaUmask, format.MetaProcess, format.MetaCost, format.MetaLeftOut, // obsolete: paths and modes are resolved, the cost is subtracted, the events are counted
			format.MetaRequests, // which the trace does not hold
			format.MetaClock,    // the merge has used it
			format.MetaReplay:   // only logs have it
		default:
			h.Meta = append(h.Meta, meta)
		}
	}
	if m.report.Coverage.Known {
		m.report.Coverage.Put(h)
	}
	m.report.Coverage.Uncached.Put(h)
	if m.report.Clients > 0 {
		m.report.crowded().Put(h)
	}
	if m.options.Paths == Flat && !m.options.Bare { // scripts of the older Pianola have no remarks
		h.Set(format.MetaPaths, format.PathsFlat)
	}
	if s := m.report.LeftOut.String(); s != "" {
		h.Set(format.MetaLeftOut, s)
	}
	if !m.options.Bare {
		h.Set(format.MetaFloor, m.report.Floor.String())
	}
	if m.report.sharesSyncs() {
		h.Set(format.MetaGrouped, m.report.Grouping.String())
	}
	if text, _ := source.Value(format.MetaCPUs); m.learned.serves && text != "" {
		h.Set(format.MetaProcessors, text)
	}
	if m.processes.sharing > 0 {
		h.Set(format.MetaSharing, fmt.Sprint(m.processes.sharing))
	}
	if n := m.memory.mappedSize(); n > 0 {
		h.Set(format.MetaMapped, fmt.Sprint(n))
	}
	if n := m.report.Unexplained; n > 0 {
		h.Set(format.MetaUnexplained, fmt.Sprint(n))
	}
	return h
}
