// Package parts makes scripts of parts of a recording. Each begins with how the processes stood
// by then, so that it replays by itself:
//
//	Rotate  goes on in a new script after a size or a time
//	Flight  keeps the newest events in memory, and writes them when it is told to
//
// They are record.Sinks, whose methods belong to one goroutine, and write to Scripts, which the
// caller opens.
package parts

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/process"
	"pianola/record"
)

// Script is a script that is being written.
type Script interface {
	record.Sink
	Flush() error
	Written() int64 // bytes of the script so far, as far as they are known
	Close() error   // completes it
	Name() string
}

// Open begins the next script.
type Open func() (Script, error)

// source is what the sinks of this package know of the recording.
type source struct {
	head     *format.Header // of the recording; nil before it has begun
	tail     *format.Header // what the last one said; nil before its end
	standing *process.Standing
	began    time.Time
	ends     func() (*format.Header, error) // nil if nothing is ever lost
	now      int64                          // the end of the latest event, nanoseconds since the start of the recording
	event    format.Event                   // memory
	notes    format.Notes                   // memory
}

// Ends implements record.Parted.
func (s *source) Ends(soFar func() (*format.Header, error)) { s.ends = soFar }

// begin takes the header that the recording begins with.
func (s *source) begin(h *format.Header) {
	s.head = &format.Header{Meta: slices.Clone(h.Meta), Descriptors: slices.Clone(h.Descriptors)}
	s.standing = process.NewStanding(s.head)
	text, _ := h.Value(format.MetaStart)
	s.began, _ = time.Parse(time.RFC3339Nano, text)
}

// enter takes a later header, and reports whether it has processes.
func (s *source) enter(h *format.Header) bool {
	if len(h.Running()) == 0 {
		return false
	}
	s.standing.Enter(h)
	return true
}

// stands returns a header of how the processes stand now.
func (s *source) stands() *format.Header {
	h := &format.Header{}
	s.standing.Header(h)
	return h
}

// mark is a moment of a recording.
type mark struct {
	at      int64            // nanoseconds since its start
	lost    int64            // events until then
	account coverage.Account // of what came until then; not known where the recorder has none in mid-run
}

// mark returns the moment after the events that were handed over before these.
func (s *source) mark() (m mark, err error) {
	h := s.tail
	if h == nil && s.ends != nil {
		if h, err = s.ends(); err != nil {
			return m, err
		}
	}
	m.at = s.now
	if h != nil {
		m.lost, m.account = lostIn(h), coverage.Of(h)
	}
	return m, nil
}

func lostIn(h *format.Header) int64 {
	text, _ := h.Value(format.MetaLost)
	number, _, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

// part is a script of events from a time on.
type part struct {
	Script
	from   mark // which is its time 0
	events int64
	one    [1]format.Event
}

// begins begins a script with how the processes stood at a moment.
func (s *source) begins(open Open, from mark, stood *format.Header) (*part, error) {
	script, err := open()
	if err != nil {
		return nil, err
	}
	h := &format.Header{Descriptors: stood.Descriptors, Files: stood.Files}
	for _, m := range s.head.Meta {
		switch m.Key {
		case format.MetaProcess, format.MetaCwd, format.MetaUmask:
			continue
		case format.MetaStart:
			if !s.began.IsZero() {
				m.Value = s.began.Add(time.Duration(from.at)).Format(time.RFC3339Nano)
			}
		}
		h.Meta = append(h.Meta, m)
	}
	h.Set(format.MetaPart, string(format.AppendSeconds(nil, from.at)))
	h.Meta = append(h.Meta, stood.Meta...)
	if err := script.WriteHeader(h); err != nil {
		return nil, err
	}
	return &part{Script: script, from: from}, nil
}

// write writes an event. The part has the rest of a call that began before it.
func (p *part) write(e *format.Event) error {
	one := &p.one[0]
	*one = *e
	if one.Start -= p.from.at; one.Start < 0 {
		if one.Dur != format.Unknown {
			one.Dur = max(one.Dur+one.Start, 0)
		}
		one.Start = 0
	}
	p.events++
	return p.Script.Write(p.one[:])
}

// end writes what is known at the end of a part. Of h, which can be nil, it takes what a
// recording's last header says and a part can say, too.
func (p *part) end(h *format.Header, to mark) error {
	out := &format.Header{}
	if h != nil {
		for _, m := range h.Meta {
			switch m.Key {
			case format.MetaCoverage, format.MetaRequests, format.MetaUnsupported, format.MetaProcess: // of all of the recording
			default:
				out.Meta = append(out.Meta, m)
			}
		}
	}
	out.Set(format.MetaLost, strconv.FormatInt(to.lost-p.from.lost, 10))
	out.Set(format.MetaElapsed, string(format.AppendSeconds(nil, max(to.at-p.from.at, 0))))
	if account := to.account.Since(&p.from.account); account.Known {
		account.Put(out)
	}
	return p.Script.WriteHeader(out)
}
