package profile

import (
	"cmp"
	"slices"
	"strings"

	"pianola/format"
)

// SpanCalls are single calls of libraries, by when they began: all that took at least so long,
// in the part of the run that Calls has. Shorter ones are in Lane.Short. A call that has
// another one within it took at least as long, so no outer call is missing.
type SpanCalls struct {
	Least int64    // nanoseconds; 0 for all
	Kinds []string // what calls are for, in the order of Lane.Short; the last may stand for others
	List  []SpanCall
}

// SpanCall is a single call of a function of a library.
type SpanCall struct {
	TID      int32
	Function string // LAYER:FUNCTION
	Kind     string
	File     string // that the call names, or the only one that its system calls were about; empty for none
	Start    int64
	Nanos    int64
	Self     int64 // without inner calls of its layer
	Bytes    int64 // that it was asked to move, or format.Unknown
	Failed   bool
}

// MaxSpanCalls is how many calls of libraries there are at most.
const MaxSpanCalls = 1 << 16

const (
	// maxSpanKinds bounds what calls of libraries are for. Layers have 12 kinds.
	maxSpanKinds = 16

	// maxSpanPaths bounds the paths that calls of libraries name, in bytes. Later calls have
	// the file of their system calls.
	maxSpanPaths = 1 << 20
)

// SpanTimes are times in calls of libraries by kind, without inner calls of their layers.
type SpanTimes [maxSpanKinds]int64

func (t *SpanTimes) add(o *SpanTimes) {
	for k, nanos := range o {
		t[k] += nanos
	}
}

// spanCalls gathers SpanCalls. It is thinned as singles are.
type spanCalls struct {
	from, to int64 // the part of the run; to is 0 for none
	least    int64
	list     []spanCall
	nanos    []int64 // memory of thin
	kinds    []string
	paths    map[string]string
	bytes    int // of paths
	lanes    *lanes
}

// spanCall is a SpanCall as it is gathered.
type spanCall struct {
	function   *function
	lane       *lane
	file       string
	start, end int64
	self       int64
	bytes      int64
	failed     bool
}

// path returns the path that a call names, empty for none. Equal ones share their memory.
func (s *spanCalls) path(span *format.Span) string {
	for i := range span.Args {
		v := &span.Args[i]
		if v.Kind != format.ValuePath || len(v.Text) == 0 {
			continue
		}
		path, known := s.paths[string(v.Text)]
		if !known && s.bytes < maxSpanPaths {
			if s.paths == nil {
				s.paths = map[string]string{}
			}
			path = string(v.Text)
			s.paths[path] = path
			s.bytes += len(path)
		}
		return path
	}
	return ""
}

// kind returns the place of a kind.
func (s *spanCalls) kind(kind string) int {
	at := slices.Index(s.kinds, kind)
	if at < 0 {
		if at = len(s.kinds); at == maxSpanKinds {
			return at - 1
		}
		s.kinds = append(s.kinds, strings.Clone(kind))
	}
	return at
}

// add adds a call of a thread that has a lane.
func (s *spanCalls) add(one spanCall) {
	if one.start >= s.to || one.end < s.from || one.lane.row == nil {
		return
	}
	if one.end-one.start < s.least {
		s.short(&one)
		return
	}
	if s.list == nil {
		s.list = make([]spanCall, 0, 2*MaxSpanCalls)
	}
	if s.list = append(s.list, one); len(s.list) == cap(s.list) {
		s.thin()
	}
}

// thin leaves the longest calls, at most MaxSpanCalls.
func (s *spanCalls) thin() {
	s.nanos = s.nanos[:0]
	for i := range s.list {
		s.nanos = append(s.nanos, s.list[i].end-s.list[i].start)
	}
	s.least = leastOf(s.nanos, MaxSpanCalls)
	s.list = slices.DeleteFunc(s.list, func(c spanCall) bool {
		if c.end-c.start >= s.least {
			return false
		}
		s.short(&c)
		return true
	})
}

// short adds a call to the sum of the short ones of its thread.
func (s *spanCalls) short(c *spanCall) {
	s.lanes.short(c.lane, s.kind(c.function.kind), c.self, c.start, c.end)
}

// snapshot returns nil if there are none.
func (s *spanCalls) snapshot() *SpanCalls {
	if len(s.list) > MaxSpanCalls {
		s.thin()
	}
	if len(s.list) == 0 {
		return nil
	}
	out := &SpanCalls{Least: s.least, Kinds: slices.Clone(s.kinds), List: make([]SpanCall, len(s.list))}
	names := map[*function]string{}
	for i := range s.list {
		c := &s.list[i]
		if names[c.function] == "" {
			names[c.function] = c.function.layer.name + ":" + c.function.name
		}
		out.List[i] = SpanCall{TID: c.lane.row.TID, Function: names[c.function], Kind: c.function.kind, File: c.file,
			Start: c.start, Nanos: c.end - c.start, Self: c.self, Bytes: c.bytes, Failed: c.failed}
	}
	slices.SortStableFunc(out.List, func(a, b SpanCall) int { // an outer call before those within it
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Nanos, a.Nanos))
	})
	return out
}

// manyFiles stands for more files than one.
var manyFiles = &file{}

// sharedFile returns the file that two blocks are about, nil for none.
func sharedFile(a, b *file) *file {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	return manyFiles
}
