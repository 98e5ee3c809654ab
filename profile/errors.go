package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/table"
)

// Failure is how often an operation failed with an error.
type Failure struct {
	Op    format.Op
	Errno int
	Total
}

// failures counts calls that failed. Errors without a name count as one, so its memory is
// bounded by the numbers of operations and of named errors.
type failures map[failureKey]*Failure

type failureKey struct {
	op    format.Op
	errno int
}

func (f *failures) add(e *format.Event, t *Total) {
	key := failureKey{e.Op, int(-e.Ret)}
	if format.ErrnoName(key.errno)[0] != 'E' {
		key.errno = 0
	}
	one := (*f)[key]
	if one == nil {
		if *f == nil {
			*f = failures{}
		}
		one = &Failure{Op: key.op, Errno: key.errno}
		(*f)[key] = one
	}
	one.Total.add(t)
}

// list returns what was counted, the most frequent first.
func (f failures) list() []Failure {
	var list []Failure
	for _, one := range f {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Errno, b.Errno))
	})
	return list
}

// Name returns the symbol of the error, "other" for one without.
func (f *Failure) Name() string {
	if f.Errno == 0 {
		return "other"
	}
	return format.ErrnoName(f.Errno)
}

var failureColumns = []column[Failure]{
	{heading{"name", words}, func(f *Failure) value { return text(f.Op.String()) }},
	{heading{"error", words}, func(f *Failure) value { return text(f.Name()) }},
	{heading{"calls", number}, func(f *Failure) value { return integer(f.Calls) }},
	{heading{"seconds", duration}, func(f *Failure) value { return f.Total.seconds() }},
}

// errors says which calls failed, the most frequent errors first.
func (o *overview) errors() {
	byError := map[string]*strings.Builder{}
	calls := map[string]int64{}
	for i := range o.Failures {
		f := &o.Failures[i]
		name := f.Name()
		b := byError[name]
		if b == nil {
			b = new(strings.Builder)
			byError[name] = b
		}
		calls[name] += f.Calls
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s %s", table.Count(f.Calls), f.Op)
	}
	var facts []string
	for _, name := range slices.SortedFunc(maps.Keys(calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b))
	}) {
		facts = append(facts, fmt.Sprintf("%s (%s)", name, byError[name]))
	}
	if facts != nil {
		o.wrapped("%-13s%s", "errors", strings.Join(facts[:min(len(facts), o.top(len(facts), topErrors))], ", "))
	}
}

// topErrors is how many errors an overview names.
const topErrors = 5
