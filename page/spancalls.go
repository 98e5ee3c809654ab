package page

import (
	"pianola/format"
	"pianola/profile"
)

// spanCalls are single calls of libraries of the threads that have a lane. Data is as that of
// calls, of spanColumns.
type spanCalls struct {
	Least     int64          `json:"least"` // nanoseconds; shorter calls are in lanes
	Kinds     []string       `json:"kinds"` // of the short ones in lanes
	Count     int            `json:"count"`
	Threads   []int32        `json:"threads"`
	Functions []spanFunction `json:"functions"`
	Files     []string       `json:"files"`
	Data      string         `json:"data"`
}

// spanFunction is a function of a library.
type spanFunction struct {
	Name string `json:"name"` // LAYER:FUNCTION
	Kind string `json:"kind"`
}

// spanColumns are the columns of spanCalls. Places count from 1.
var spanColumns = []func(w *spanWriter, one *profile.SpanCall) int64{
	func(w *spanWriter, one *profile.SpanCall) int64 { return since(&w.start, one.Start) },
	func(_ *spanWriter, one *profile.SpanCall) int64 { return one.Nanos },
	func(_ *spanWriter, one *profile.SpanCall) int64 { return one.Nanos - one.Self },
	func(w *spanWriter, one *profile.SpanCall) int64 { return placeOf(w.threads, &w.Threads, one.TID) },
	func(w *spanWriter, one *profile.SpanCall) int64 {
		f := placeOf(w.functions, &w.Functions, spanFunction{plain(one.Function), plain(one.Kind)})
		if one.Failed {
			return -f
		}
		return f
	},
	func(w *spanWriter, one *profile.SpanCall) int64 { // 0 for none
		if one.File == "" {
			return 0
		}
		return w.files.place(one.File)
	},
	func(_ *spanWriter, one *profile.SpanCall) int64 { return max(one.Bytes, format.Unknown) },
}

// spanWriter encodes calls of libraries.
type spanWriter struct {
	*spanCalls
	start     int64
	threads   map[int32]int64
	functions map[spanFunction]int64
	files     fileNames
}

// newSpanCalls returns nil where the profile has none.
func newSpanCalls(p *profile.Profile) *spanCalls {
	if p.SpanCalls == nil {
		return nil
	}
	shown := map[int32]bool{}
	for i := range p.Timeline.Lanes {
		shown[p.Timeline.Lanes[i].TID] = true
	}
	list := make([]profile.SpanCall, 0, len(p.SpanCalls.List))
	for _, one := range p.SpanCalls.List {
		if shown[one.TID] {
			list = append(list, one)
		}
	}
	out := &spanCalls{Least: p.SpanCalls.Least, Kinds: []string{}, Count: len(list), Threads: []int32{}, Functions: []spanFunction{}}
	for _, kind := range p.SpanCalls.Kinds {
		out.Kinds = append(out.Kinds, plain(kind))
	}
	w := &spanWriter{spanCalls: out, threads: map[int32]int64{}, functions: map[spanFunction]int64{}, files: newFileNames()}
	out.Data = packed(list, len(spanColumns), func(column int, one *profile.SpanCall) int64 { return spanColumns[column](w, one) })
	out.Files = w.files.list
	return out
}
