package compile

import (
	"pianola/format"
)

// appNames holds the application's names of the paths in the trace, if they differ from
// the path below the root. A nil appNames holds none.
type appNames struct {
	byPath map[string]string
	bytes  int // of both, with what holds them
}

// named reports whether the trace has the application's names.
func (o *Options) named() bool { return o.Names && o.Key == nil && !o.Bare }

// callAll records the application's names of an event's paths.
func (p *pass) callAll(s *simEvent) {
	if p.appNames == nil {
		return
	}
	for n, at := range s.out.Op.Info().At.Paths {
		if at.Arg >= 0 && s.at[n] != nil && s.out.Str[at.Str] != nil {
			p.call(s.at[n])
		}
	}
}

// call records the application's name of an entry at its current path, unless the path
// already has one. With Flat, several directories can have held the entry.
func (p *pass) call(e *entry) {
	n, paths := p.names, p.options.Paths
	if p.appNames == nil || e.dir == nil || paths == Tree && !n.replaced(e) {
		return
	}
	n.scratch = n.appendMapped(n.scratch[:0], e, paths)
	if _, known := p.appNames.byPath[string(n.scratch)]; known {
		return
	}
	path := string(n.scratch)
	name := n.original(e)
	if name[1:] == path {
		return
	}
	p.appNames.byPath[path] = name
	bytes := calledBytes + len(path) + len(name)
	p.appNames.bytes += bytes
	p.budget.take(forNames, bytes)
}

// replaced reports whether the trace renames a component of the path of an entry.
func (n *names) replaced(e *entry) bool {
	for ; e.dir != nil; e = e.dir.at {
		if e.mapped != e.comp {
			return true
		}
	}
	return false
}

func (c *appNames) size() int {
	if c == nil {
		return 0
	}
	return c.bytes
}

// list returns the names in order, with those of files that no event names.
func (c *appNames) list(p *plan) []format.AppName {
	if c == nil {
		return nil
	}
	all := make([]format.AppName, 0, len(c.byPath)+len(p.appNames)+1)
	all = append(all, format.AppName{Path: ".", Name: "/"})
	for path, name := range c.byPath {
		all = append(all, format.AppName{Path: path, Name: name})
	}
	return format.SortNames(append(all, p.appNames...))
}
