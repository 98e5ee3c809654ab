package profile

import (
	"math/bits"
	"slices"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
)

// usageColumns are the columns of what does or suffers I/O.
func usageColumns[T any](of func(*T) *Usage) []column[T] {
	total := func(get func(u *Usage) value) func(*T) value {
		return func(row *T) value { return get(of(row)) }
	}
	return []column[T]{
		{heading{"calls", number}, total(func(u *Usage) value { all := u.All(); return integer(all.Calls) })},
		{heading{"errors", number}, total(func(u *Usage) value { all := u.All(); return integer(all.Errors) })},
		{heading{"reads", number}, total(func(u *Usage) value { return integer(u.Categories[Reads].Calls) })},
		{heading{"writes", number}, total(func(u *Usage) value { return integer(u.Categories[Writes].Calls) })},
		{heading{"bytes", number}, total(func(u *Usage) value { all := u.IO(); return integer(all.Bytes) })},
		{heading{"bytes_read", number}, total(func(u *Usage) value { return integer(u.Categories[Reads].Bytes) })},
		{heading{"bytes_written", number}, total(func(u *Usage) value { return integer(u.Categories[Writes].Bytes) })},
		{heading{"seconds", duration}, total(func(u *Usage) value { io := u.IO(); return io.seconds() })},
		{heading{"read_seconds", duration}, total(func(u *Usage) value { return u.Categories[Reads].seconds() })},
		{heading{"write_seconds", duration}, total(func(u *Usage) value { return u.Categories[Writes].seconds() })},
		{heading{"sync_seconds", duration}, total(func(u *Usage) value { return u.Categories[Syncs].seconds() })},
		{heading{"metadata_seconds", duration}, total(func(u *Usage) value { return u.Categories[Metadata].seconds() })},
		{heading{"mapped_reads", number}, total(func(u *Usage) value { return integer(u.Categories[MappedReads].Calls) })},
		{heading{"mapped_writes", number}, total(func(u *Usage) value { return integer(u.Categories[MappedWrites].Calls) })},
		{heading{"bytes_mapped_read", number}, total(func(u *Usage) value { return integer(u.Categories[MappedReads].Bytes) })},
		{heading{"bytes_mapped_written", number}, total(func(u *Usage) value { return integer(u.Categories[MappedWrites].Bytes) })},
		{heading{"mapped_read_seconds", duration}, total(func(u *Usage) value { return u.Categories[MappedReads].seconds() })},
		{heading{"mapped_write_seconds", duration}, total(func(u *Usage) value { return u.Categories[MappedWrites].seconds() })},
		{heading{"communication_calls", number}, total(func(u *Usage) value { return integer(u.Categories[Communication].Calls) })},
		{heading{"communication_bytes", number}, total(func(u *Usage) value { return integer(u.Categories[Communication].Bytes) })},
		{heading{"communication_seconds", duration}, total(func(u *Usage) value { return u.Categories[Communication].seconds() })},
	}
}

// spanColumns say when something was first and last done.
func spanColumns[T any](of func(*T) *Usage) []column[T] {
	return []column[T]{
		{heading{"first_seconds", duration}, func(row *T) value { return integer(of(row).First) }},
		{heading{"last_seconds", duration}, func(row *T) value { return integer(of(row).Last) }},
	}
}

// timesColumns say what the time of threads was spent with.
func timesColumns[T any](of func(*T) *Times) []column[T] {
	return []column[T]{
		{heading{"ready_seconds", duration}, func(row *T) value { return integer(of(row).Ready) }},
		{heading{"own_seconds", duration}, func(row *T) value { return integer(of(row).Own) }},
		{heading{"waiting_seconds", duration}, func(row *T) value { return integer(of(row).Waiting()) }},
		{heading{"timer_seconds", duration}, func(row *T) value { return integer(of(row).Timer) }},
		{heading{"storage_seconds", duration}, func(row *T) value { return integer(of(row).Storage) }},
		{heading{"other_seconds", duration}, func(row *T) value { return integer(of(row).Other) }},
		{heading{"compute_seconds", duration}, func(row *T) value { return integer(of(row).Compute) }},
	}
}

func (a *Access) shares() value {
	f, ok := a.SequentialShare()
	return value{known: ok, f: f}
}

func frequentValues(list []Frequent) value { return value{known: len(list) > 0, list: list} }

var fileColumns = slices.Concat(
	[]column[File]{{heading{"name", words}, func(f *File) value { return text(f.Name) }}},
	usageColumns(func(f *File) *Usage { return &f.Usage }),
	[]column[File]{
		{heading{"sequential_reads", share}, func(f *File) value { return f.Access[Reads].shares() }},
		{heading{"sequential_writes", share}, func(f *File) value { return f.Access[Writes].shares() }},
		{heading{"read_sizes", frequents}, func(f *File) value { return frequentValues(f.Access[Reads].Sizes) }},
		{heading{"write_sizes", frequents}, func(f *File) value { return frequentValues(f.Access[Writes].Sizes) }},
		{heading{"read_asked", frequents}, func(f *File) value { return frequentValues(f.Access[Reads].Asked) }},
		{heading{"write_asked", frequents}, func(f *File) value { return frequentValues(f.Access[Writes].Asked) }},
		{heading{"read_strides", frequents}, func(f *File) value { return frequentValues(f.Access[Reads].Strides) }},
		{heading{"write_strides", frequents}, func(f *File) value { return frequentValues(f.Access[Writes].Strides) }},
	},
	spanColumns(func(f *File) *Usage { return &f.Usage }),
)

var directoryColumns = slices.Concat(
	[]column[Directory]{
		{heading{"name", words}, func(d *Directory) value { return text(d.Name) }},
		{heading{"files", number}, func(d *Directory) value { return integer(int64(d.Files)) }},
	},
	usageColumns(func(d *Directory) *Usage { return &d.Usage }),
	[]column[Directory]{
		{heading{"sequential_reads", share}, func(d *Directory) value { return d.Access[Reads].shares() }},
		{heading{"sequential_writes", share}, func(d *Directory) value { return d.Access[Writes].shares() }},
	},
	spanColumns(func(d *Directory) *Usage { return &d.Usage }),
)

var processColumns = slices.Concat(
	[]column[Process]{
		{heading{"process", words}, func(p *Process) value { return text(table.Count(int64(p.ID))) }},
		{heading{"command", words}, func(p *Process) value { return text(p.Command) }},
		{heading{"threads", number}, func(p *Process) value { return integer(int64(p.Threads)) }},
	},
	usageColumns(func(p *Process) *Usage { return &p.Usage }),
	timesColumns(func(p *Process) *Times { return &p.Times }),
	spanColumns(func(p *Process) *Usage { return &p.Usage }),
)

var threadColumns = slices.Concat(
	[]column[Thread]{
		{heading{"thread", words}, func(t *Thread) value { return text(threadName(t)) }},
		{heading{"process", number}, func(t *Thread) value { return value{known: t.TID != othersTID, n: int64(t.Process)} }},
	},
	usageColumns(func(t *Thread) *Usage { return &t.Usage }),
	timesColumns(func(t *Thread) *Times { return &t.Times }),
	spanColumns(func(t *Thread) *Usage { return &t.Usage }),
)

func threadName(t *Thread) string {
	if t.TID == othersTID {
		return othersName
	}
	return table.Count(int64(t.TID))
}

// operation is a row of the table by operation.
type operation struct {
	op format.Op
	Total
	comm    Total // the part that is communication
	latency *Latency
}

func (p *Profile) operations() (rows []operation) {
	for _, op := range p.byTime() {
		rows = append(rows, operation{op, p.Ops[op], p.OpComm[op], p.OpLatency[op]})
	}
	return rows
}

func quantile(get func(l *Latency) int64) func(*operation) value {
	return func(o *operation) value {
		if o.latency == nil {
			return value{}
		}
		return integer(get(o.latency))
	}
}

var operationColumns = []column[operation]{
	{heading{"name", words}, func(o *operation) value { return text(o.op.String()) }},
	{heading{"class", words}, func(o *operation) value { return text(o.op.Info().Class.String()) }},
	{heading{"calls", number}, func(o *operation) value { return integer(o.Calls) }},
	{heading{"errors", number}, func(o *operation) value { return integer(o.Errors) }},
	{heading{"bytes", number}, func(o *operation) value { return integer(o.Bytes) }},
	{heading{"seconds", duration}, func(o *operation) value { return o.Total.seconds() }},
	{heading{"communication_calls", number}, func(o *operation) value { return integer(o.comm.Calls) }},
	{heading{"communication_seconds", duration}, func(o *operation) value { return o.comm.seconds() }},
	{heading{"min_seconds", latencies}, quantile(func(l *Latency) int64 { return l.Min })},
	{heading{"p50_seconds", latencies}, quantile(func(l *Latency) int64 { return l.P50 })},
	{heading{"p90_seconds", latencies}, quantile(func(l *Latency) int64 { return l.P90 })},
	{heading{"p99_seconds", latencies}, quantile(func(l *Latency) int64 { return l.P99 })},
	{heading{"p999_seconds", latencies}, quantile(func(l *Latency) int64 { return l.P999 })},
	{heading{"max_seconds", latencies}, quantile(func(l *Latency) int64 { return l.Max })},
}

// sizeRow is a row of the table by size: a class of reads and of writes.
type sizeRow struct {
	from, to int64
	by       [2]Total
}

// sizeRows returns the classes from the smallest that occurred to the largest.
func (p *Profile) sizeRows() (rows []sizeRow) {
	var all [64]sizeRow
	first, last := len(all), -1
	for k := range p.Sizes {
		for _, c := range p.Sizes[k] {
			n := bits.Len64(uint64(c.From))
			all[n].by[k] = c.Total
			first, last = min(first, n), max(last, n)
		}
	}
	for n := first; n <= last; n++ {
		all[n].from, all[n].to = classBounds(n)
		rows = append(rows, all[n])
	}
	return rows
}

func sizeTotal(k Category, get func(t *Total) value) func(*sizeRow) value {
	return func(r *sizeRow) value { return get(&r.by[k]) }
}

var sizeColumns = []column[sizeRow]{
	{heading{"from", number}, func(r *sizeRow) value { return integer(r.from) }},
	{heading{"below", number}, func(r *sizeRow) value { return integer(r.to) }},
	{heading{"reads", number}, sizeTotal(Reads, func(t *Total) value { return integer(t.Calls) })},
	{heading{"bytes_read", number}, sizeTotal(Reads, func(t *Total) value { return integer(t.Bytes) })},
	{heading{"read_seconds", duration}, sizeTotal(Reads, (*Total).seconds)},
	{heading{"writes", number}, sizeTotal(Writes, func(t *Total) value { return integer(t.Calls) })},
	{heading{"bytes_written", number}, sizeTotal(Writes, func(t *Total) value { return integer(t.Bytes) })},
	{heading{"write_seconds", duration}, sizeTotal(Writes, (*Total).seconds)},
}

func (p *Profile) intervalTable(of *Intervals) *Table {
	columns := []column[Span]{
		{heading{"start_seconds", duration}, func(v *Span) value { return integer(v.Start) }},
		{heading{"calls", number}, func(v *Span) value { io := v.IO(); return integer(io.Calls) }},
		{heading{"reads", number}, func(v *Span) value { return integer(v.Categories[Reads].Calls) }},
		{heading{"writes", number}, func(v *Span) value { return integer(v.Categories[Writes].Calls) }},
		{heading{"syncs", number}, func(v *Span) value { return integer(v.Categories[Syncs].Calls) }},
		{heading{"metadata_calls", number}, func(v *Span) value { return integer(v.Categories[Metadata].Calls) }},
		{heading{"faults", number}, func(v *Span) value {
			return integer(v.Categories[MappedReads].Calls + v.Categories[MappedWrites].Calls)
		}},
		{heading{"bytes_read", number}, func(v *Span) value { return integer(v.Categories[Reads].Bytes) }},
		{heading{"bytes_written", number}, func(v *Span) value { return integer(v.Categories[Writes].Bytes) }},
		{heading{"seconds", duration}, func(v *Span) value { io := v.IO(); return integer(io.Nanos) }},
		{heading{"read_seconds", duration}, func(v *Span) value { return integer(v.Categories[Reads].Nanos) }},
		{heading{"write_seconds", duration}, func(v *Span) value { return integer(v.Categories[Writes].Nanos) }},
		{heading{"sync_seconds", duration}, func(v *Span) value { return integer(v.Categories[Syncs].Nanos) }},
		{heading{"metadata_seconds", duration}, func(v *Span) value { return integer(v.Categories[Metadata].Nanos) }},
		{heading{"mapped_read_seconds", duration}, func(v *Span) value { return integer(v.Categories[MappedReads].Nanos) }},
		{heading{"mapped_write_seconds", duration}, func(v *Span) value { return integer(v.Categories[MappedWrites].Nanos) }},
		{heading{"bytes_mapped_read", number}, func(v *Span) value { return integer(v.Categories[MappedReads].Bytes) }},
		{heading{"bytes_mapped_written", number}, func(v *Span) value { return integer(v.Categories[MappedWrites].Bytes) }},
		{heading{"communication_seconds", duration}, func(v *Span) value { return integer(v.Categories[Communication].Nanos) }},
		{heading{"in_flight_seconds", duration}, func(v *Span) value { io := v.IO(); return integer(io.Flight) }},
		{heading{"files", nameList}, func(v *Span) value { return value{known: true, names: p.touched(v)} }},
	}
	if slices.ContainsFunc(of.List, func(v Span) bool { return v.Commits > 0 }) {
		columns = slices.Insert(columns, 1,
			column[Span]{heading{"commits", number}, func(v *Span) value { return integer(v.Commits) }},
			column[Span]{heading{"commit_groups", number}, func(v *Span) value { return integer(v.Groups) }})
	}
	if slices.ContainsFunc(of.List, func(v Span) bool { return v.Replies > 0 }) {
		columns = slices.Insert(columns, 1, column[Span]{heading{"replies", number}, func(v *Span) value { return integer(v.Replies) }})
	}
	if of.Tails {
		for k := range NumIO {
			columns = append(columns, column[Span]{heading{k.Key() + "_in_flight_seconds", duration}, func(v *Span) value { return integer(v.Categories[k].Flight) }})
			for i, quantile := range stats.QuantileKeys {
				columns = append(columns, column[Span]{heading{k.Key() + "_" + quantile + "_seconds", latencies}, func(v *Span) value {
					if v.Latency[k] == nil {
						return value{}
					}
					return integer(v.Latency[k].List()[i])
				}})
			}
		}
		bySize := func(v *Span, k Category) value {
			if v.Sizes == nil {
				return frequentValues(nil)
			}
			return frequentValues(v.Sizes[k].list())
		}
		columns = append(columns,
			column[Span]{heading{"calls_by_operation", causes}, func(v *Span) value { return value{known: true, calls: v.Ops} }},
			column[Span]{heading{"reads_by_size", frequents}, func(v *Span) value { return bySize(v, Reads) }},
			column[Span]{heading{"writes_by_size", frequents}, func(v *Span) value { return bySize(v, Writes) }})
	}
	columns = append(columns,
		column[Span]{heading{"mapped_reads", number}, func(v *Span) value { return integer(v.Categories[MappedReads].Calls) }},
		column[Span]{heading{"mapped_writes", number}, func(v *Span) value { return integer(v.Categories[MappedWrites].Calls) }})
	return tableOf(of.List, columns)
}

// touched returns the names of the files that calls of an interval began on.
func (p *Profile) touched(v *Span) (names []string) {
	for _, i := range v.Files {
		if i < 0 {
			names = append(names, othersName)
		} else {
			names = append(names, p.Files[i].Name)
		}
	}
	if v.MoreFiles {
		names = append(names, "…")
	}
	return names
}
