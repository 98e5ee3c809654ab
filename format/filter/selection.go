package filter

import (
	"fmt"
	"io"
	"slices"

	"pianola/format"
	"pianola/format/process"
	"pianola/internal/limit"
)

// Trace is a compiled trace whose events can be read in their order, several times.
type Trace interface {
	Header() *format.Header
	Len(thread int32) int64
	Events() format.Reader
}

// Selection is the events of a compiled trace for which an expression is true: a bit for each
// event of each thread.
type Selection [][]uint64

// Has reports whether an event of a thread is selected. Threads count from 1, events from 0.
func (s Selection) Has(thread int32, event int64) bool {
	return s[thread-1][event>>6]>>(event&63)&1 != 0
}

// maxFiles bounds the files that an expression tells apart.
const maxFiles = 1 << 20

// Select returns the events of a trace for which an expression is true, in at most so many
// bytes of memory. The numbers of threads and processes are those of the trace, and a file
// without a name of the application has the one below the root. No event is an error. Events of the
// classes always are selected, too.
func Select(t Trace, expr string, memory int64, always ...format.Class) (Selection, error) {
	f, err := Parse(expr)
	if err != nil {
		return nil, err
	}
	s := make(Selection, max(len(t.Header().Threads), 1))
	for i := range s {
		words := (t.Len(int32(i+1)) + 63) >> 6
		if memory -= 8 * words; memory < 0 {
			return nil, fmt.Errorf("filter %q: a bit for each event: %w", expr, limit.Of("memory"))
		}
		s[i] = make([]uint64, words)
	}
	var around *Around
	if UsesSpan(expr) {
		if around, err = NewAround(t.Events()); err != nil {
			return nil, fmt.Errorf("filter %q: %w", expr, err)
		}
	}
	follower := process.New(t.Header(), maxFiles)
	read, some := make([]int64, len(s)), false
	err = format.Each(format.NewCausalReader(format.WithoutSpans(t.Events())), func(e *format.Event) error {
		fact, at := follower.Fact(e), read[e.TID-1]
		read[e.TID-1]++
		if at >= t.Len(e.TID) {
			return io.ErrUnexpectedEOF
		}
		name := ""
		if fact.File != nil {
			name = fact.File.Name
		}
		p := fact.Thread.Process
		about := NewSubject(e, p.ID, p.Rank, p.Command, name)
		about.Path = name
		if around != nil {
			about.Spans = around.Of(e)
		}
		wanted := f(&about)
		if some = some || wanted; wanted || slices.Contains(always, e.Op.Info().Class) {
			s[e.TID-1][at>>6] |= 1 << (at & 63)
		}
		follower.Apply(fact)
		return nil
	})
	if err == nil && !some {
		err = fmt.Errorf("filter %q selects no event of the trace", expr)
	}
	return s, err
}
