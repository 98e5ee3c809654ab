package profile

import (
	"cmp"
	"slices"

	"pianola/format"
)

// Layer is what the calls of a library above the system calls did.
type Layer struct {
	Name string
	Spent
	Functions []Function // those with the most time first
}

// Function is what the calls of a function of a layer did.
type Function struct {
	Layer, Name string
	Kind        string // what it is for, as layer.Span
	Spent
	Latency *Latency // nil where no call has a duration
}

// Spent is what calls of libraries did, with times in nanoseconds. A system call
// counts for the innermost function of a layer that was under way in its thread. So the
// figures of a layer are the sums of those of its functions, but for Nanos and Asked.
type Spent struct {
	Calls  int64
	Failed int64
	Nanos  int64 // a call within a call of the same function, or layer, counts once
	Asks   bool  // some calls say how many bytes they were asked to move
	Asked  int64 // the sum; of a layer that of reads and writes

	// Self is the part of Nanos that is in no inner function of the layer. It consists of
	// System, Waiting, Ready and Compute.
	Self    int64
	System  int64 // in the calls of Caused other than waits
	Waiting int64 // blocked outside of those
	Ready   int64 // able to run without a processor

	Categories Categories // of Caused
	Caused     OpTotals   // the most calls first
}

// OpTotal is the calls of an operation that a function caused, or that began in an interval;
// or the waits.
type OpTotal struct {
	Op format.Op
	Total
}

// OpTotals have each operation at most once.
type OpTotals []OpTotal

// Compute returns the time of the library itself on the processor.
func (s *Spent) Compute() int64 { return max(s.Self-s.System-s.Waiting-s.Ready, 0) }

// SystemCalls returns how many calls were caused, without waits.
func (s *Spent) SystemCalls() (n int64) {
	for i := range s.Caused {
		if s.Caused[i].Op != format.OpWait {
			n += s.Caused[i].Calls
		}
	}
	return n
}

// add adds what is the same of a layer and of its functions.
func (s *Spent) add(o *Spent) {
	s.Calls += o.Calls
	s.Failed += o.Failed
	s.Self += o.Self
	s.System += o.System
	s.Waiting += o.Waiting
	s.Ready += o.Ready
	for k := range s.Categories {
		s.Categories[k].add(&o.Categories[k])
	}
	for i := range o.Caused {
		s.Caused.add(o.Caused[i].Op, &o.Caused[i].Total)
	}
}

func (l *OpTotals) add(op format.Op, t *Total) {
	at := slices.IndexFunc(*l, func(o OpTotal) bool { return o.Op == op })
	if at < 0 {
		at = len(*l)
		*l = append(*l, OpTotal{Op: op})
	}
	(*l)[at].add(t)
}

func (l OpTotals) sort() {
	slices.SortFunc(l, func(a, b OpTotal) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Op, b.Op))
	})
}

// snapshot returns the layers that were called.
func (s *spans) snapshot() (list []Layer) {
	for t := range s.threads {
		s.settle(t)
	}
	for _, l := range s.layers {
		out := Layer{Name: l.name}
		for _, f := range l.list {
			out.Functions = append(out.Functions, f.snapshot())
		}
		if len(out.Functions) == 0 {
			continue
		}
		sortByTime(out.Functions, func(f Function) int64 { return f.Nanos }, func(f Function) string { return f.Name })
		for i := range out.Functions {
			out.add(&out.Functions[i].Spent)
		}
		out.Nanos, out.Asks, out.Asked = out.Self, l.asks, l.asked
		out.Caused.sort()
		list = append(list, out)
	}
	sortByTime(list, func(l Layer) int64 { return l.Nanos }, func(l Layer) string { return l.Name })
	return list
}

func (f *function) snapshot() Function {
	out := Function{Layer: f.layer.name, Name: f.name, Kind: f.kind, Latency: distribution(&f.durations), Spent: Spent{
		Calls: f.calls, Failed: f.failed, Nanos: max(f.nanos, 0), Self: f.self, Asks: f.asks, Asked: f.asked, Waiting: f.waited, Ready: f.ready,
	}}
	for cause, t := range f.caused {
		switch {
		case cause.what == DoingWaiting, cause.what == DoingTimer:
			out.Waiting += t.Nanos
		default:
			out.System += t.Nanos
		}
		if k := Category(cause.what); k < NumCategories {
			out.Categories[k].add(t)
		}
		out.Caused.add(cause.op, t)
	}
	out.Caused.sort()
	return out
}

// functions returns the functions of all layers, those with the most time first.
func (p *Profile) functions() (list []Function) {
	for i := range p.Layers {
		list = append(list, p.Layers[i].Functions...)
	}
	sortByTime(list, func(f Function) int64 { return f.Nanos }, Function.fullName)
	return list
}

func (f Function) fullName() string { return f.Layer + ":" + f.Name }

// spentColumns are the columns of layers and of functions.
func spentColumns[T any](of func(*T) *Spent) []column[T] {
	whole := func(name string, get func(s *Spent) int64) column[T] {
		return column[T]{heading{name, number}, func(row *T) value { return integer(get(of(row))) }}
	}
	seconds := func(name string, get func(s *Spent) int64) column[T] {
		return column[T]{heading{name, duration}, func(row *T) value { return integer(get(of(row))) }}
	}
	in := func(k Category) func(s *Spent) int64 {
		return func(s *Spent) int64 { return s.Categories[k].Nanos }
	}
	return []column[T]{
		whole("calls", func(s *Spent) int64 { return s.Calls }),
		whole("failed", func(s *Spent) int64 { return s.Failed }),
		seconds("seconds", func(s *Spent) int64 { return s.Nanos }),
		seconds("self_seconds", func(s *Spent) int64 { return s.Self }),
		seconds("system_seconds", func(s *Spent) int64 { return s.System }),
		seconds("waiting_seconds", func(s *Spent) int64 { return s.Waiting }),
		seconds("ready_seconds", func(s *Spent) int64 { return s.Ready }),
		seconds("compute_seconds", (*Spent).Compute),
		{heading{"bytes_asked", number}, func(row *T) value { s := of(row); return value{known: s.Asks, n: s.Asked} }},
		whole("bytes_read", func(s *Spent) int64 { return s.Categories.Fetched() }),
		whole("bytes_written", func(s *Spent) int64 { return s.Categories.Stored() }),
		whole("system_calls", (*Spent).SystemCalls),
		{heading{"caused", causes}, func(row *T) value { return value{known: true, calls: of(row).Caused} }},
		seconds("read_seconds", in(Reads)),
		seconds("write_seconds", in(Writes)),
		seconds("sync_seconds", in(Syncs)),
		seconds("metadata_seconds", in(Metadata)),
		seconds("mapped_read_seconds", in(MappedReads)),
		seconds("mapped_write_seconds", in(MappedWrites)),
		seconds("communication_seconds", in(Communication)),
	}
}

var layerColumns = slices.Concat(
	[]column[Layer]{
		{heading{"name", words}, func(l *Layer) value { return text(l.Name) }},
		{heading{"functions", number}, func(l *Layer) value { return integer(int64(len(l.Functions))) }},
	},
	spentColumns(func(l *Layer) *Spent { return &l.Spent }),
)

var functionColumns = slices.Concat(
	[]column[Function]{
		{heading{"name", words}, func(f *Function) value { return text(f.fullName()) }},
		{heading{"kind", words}, func(f *Function) value { return text(f.Kind) }},
	},
	spentColumns(func(f *Function) *Spent { return &f.Spent }),
	[]column[Function]{
		{heading{"p50_seconds", latencies}, functionQuantile(func(l *Latency) int64 { return l.P50 })},
		{heading{"p99_seconds", latencies}, functionQuantile(func(l *Latency) int64 { return l.P99 })},
		{heading{"max_seconds", latencies}, functionQuantile(func(l *Latency) int64 { return l.Max })},
	},
)

func functionQuantile(get func(l *Latency) int64) func(*Function) value {
	return func(f *Function) value {
		if f.Latency == nil {
			return value{}
		}
		return integer(get(f.Latency))
	}
}

// layers shows what the libraries did that were recorded.
func (o *overview) layers() {
	for _, view := range []string{"layer", "span"} {
		t, err := o.Table(view)
		if err != nil {
			panic("internal error: " + err.Error())
		}
		shown := o.top(len(t.rows), topOperations)
		all := t.Cut(shown)
		if all == 0 {
			return
		}
		o.b.WriteByte('\n')
		if err := t.WriteText(o.b, o.show); err != nil {
			panic("internal error: " + err.Error()) // a buffer takes everything
		}
		o.more(all, shown, "functions", view)
	}
}
