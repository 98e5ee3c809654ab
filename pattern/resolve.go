package pattern

import (
	"reflect"
	"slices"
)

// The variables that every thread has, in their slots.
var builtin = []string{"process", "thread", "rank", "processes", "threads", "ranks"}

// use is a descriptor that a step names.
type use struct {
	name handle
	line int
}

// resolver compiles the expressions of a group, and finds the names in them.
type resolver struct {
	pattern *Pattern
	group   int
	opened  map[handle]bool
	used    []use
}

// resolve checks what decode can't, and compiles all expressions.
func (p *Pattern) resolve() error {
	if _, err := p.doc.Version.constant(version, version); err != nil {
		return err
	}
	if _, err := p.doc.Seed.constant(0, 1<<62); err != nil {
		return err
	}
	for i, entries := range [][]entry{p.doc.Directories, p.doc.Files} {
		for j := range entries {
			if e := &entries[j]; i == 0 && e.Size.text != "0" {
				return fault(e.Line, "a directory has no size")
			} else if err := e.resolve(); err != nil {
				return err
			}
		}
	}
	p.some = make([]bool, len(p.doc.Groups))
	threads := int64(0)
	for i := range p.doc.Groups {
		g := &p.doc.Groups[i]
		processes, err := g.Processes.constant(1, maxThreads)
		if err != nil {
			return err
		}
		each, err := g.Threads.constant(1, maxThreads)
		if err != nil {
			return err
		}
		if threads += processes * each; threads > maxThreads {
			return fault(g.Line, "more than %d threads in total", maxThreads)
		}
		slots := len(builtin)
		s := &scope{next: &slots}
		for slot, name := range builtin {
			s.names, s.slots = append(s.names, name), append(s.slots, slot)
		}
		r := &resolver{pattern: p, group: i, opened: map[handle]bool{}}
		if err := r.steps(g.Steps, s); err != nil {
			return err
		}
		if slots > maxVars {
			return fault(g.Line, "more than %d variables", maxVars)
		}
		for _, u := range r.used {
			if !r.opened[u.name] {
				return fault(u.line, "no step of the group opens a file as %q", u.name)
			}
		}
		p.slot = max(p.slot, slots)
	}
	return nil
}

func (e *entry) resolve() error {
	slots := 0
	s := &scope{next: &slots}
	s.declare("i")
	if err := e.Path.compile(s); err != nil {
		return err
	}
	if err := e.Size.compile(s); err != nil {
		return err
	}
	_, err := e.Count.constant(1, maxFiles)
	return err
}

// steps resolves a list of steps, whose variables end with it.
func (r *resolver) steps(steps []step, outer *scope) error {
	inner := *outer
	for i := range steps {
		s := &steps[i]
		if err := r.fields(reflect.ValueOf(s.action).Elem(), s.line, &inner); err != nil {
			return err
		}
		if err := r.check(s); err != nil {
			return err
		}
	}
	return nil
}

// fields resolves the values of a step in their order.
func (r *resolver) fields(v reflect.Value, line int, outer *scope) error {
	s := outer
	if v.FieldByName("Steps").IsValid() || v.FieldByName("Of").Kind() == reflect.Slice {
		inner := *outer // what it declares is for its own steps
		s = &inner
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.IsExported() || f.Name == "Line" {
			continue
		}
		var err error
		switch p := v.FieldByIndex(f.Index).Addr().Interface().(type) {
		case *number:
			if p.text != "" || p.line != 0 {
				err = p.compile(s)
			}
		case *template:
			err = p.compile(s)
		case *variable:
			if p.name != "" {
				p.slot = s.declare(p.name)
			}
		case *handle:
			if _, opens := v.Addr().Interface().(*open); opens {
				r.opened[*p] = true
			} else if !r.byPath(v) {
				r.used = append(r.used, use{*p, line})
			}
		case *[]step:
			err = r.steps(*p, s)
		case *[]alternative:
			for i := range *p {
				a := &(*p)[i]
				if err = r.fields(reflect.ValueOf(a).Elem(), a.Line, s); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byPath reports whether a step names a file instead of a descriptor.
func (r *resolver) byPath(v reflect.Value) bool {
	t, ok := v.Addr().Interface().(*truncate)
	return ok && t.Path.text != ""
}

// check checks what one key says against others.
func (r *resolver) check(s *step) error {
	switch a := s.action.(type) {
	case *open:
		if a.Access == "read" && slices.ContainsFunc(a.Flags, func(f string) bool { return f == "append" || f == "truncate" }) {
			return fault(s.line, "append and truncate need a file opened for writing")
		}
	case *transfer:
		switch {
		case a.Count.eval != nil && a.Total.eval != nil:
			return fault(s.line, "use either count or total, not both")
		case (a.Stride.eval != nil) != (a.Order == "strided"):
			return fault(s.line, "the order strided needs a stride, and other orders do not take one")
		case a.Align.eval != nil && a.Order != "random":
			return fault(s.line, "align applies only to the order random")
		case a.Range.eval != nil && (a.Order == "sequential" || a.Order == "strided"):
			return fault(s.line, "range applies only to the orders random, shuffled and reverse")
		}
	case *barrier:
		if a.group = r.group; a.Of == "all" {
			r.pattern.all = true
		} else {
			r.pattern.some[r.group] = true
		}
	case *mix:
		for i := range a.Of {
			weight, err := a.Of[i].Weight.constant(1, 1<<32)
			if err != nil {
				return err
			}
			a.Of[i].weight = weight
			a.weight += weight
		}
	}
	return nil
}
