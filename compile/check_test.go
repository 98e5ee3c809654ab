package compile_test

import (
	"fmt"
	"path"
	"strings"

	"pianola/compile"
	"pianola/format"
)

// checker is a Sink that checks that its events form a valid trace, for any script. It
// keeps the first violation.
type checker struct {
	paths  compile.Paths
	counts []int64 // events so far, per thread
	events []format.Event
	header *format.Header
	begins map[string]bool // directories that paths begin in
	fault  error
}

func (c *checker) breach(form string, args ...any) {
	if c.fault == nil {
		c.fault = fmt.Errorf(form, args...)
	}
}

// Write checks that numbers are valid, that edges lead to what was emitted
// before (so that they have no cycles), and that names stay below the root.
func (c *checker) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if e.TID < 1 {
			c.breach("%s: thread %d", e.Op, e.TID)
			continue
		}
		for len(c.counts) <= int(e.TID) {
			c.counts = append(c.counts, 0)
		}
		for _, g := range e.Edges {
			if !g.Valid(e.TID, c.counts[e.TID]) || int(g.Thread) >= len(c.counts) || g.Thread > 0 && g.Event >= c.counts[g.Thread] {
				c.breach("%s, event %d of thread %d, waits for %s, which does not precede it", e.Op, c.counts[e.TID], e.TID, g.Append(nil))
			}
		}
		if e.Compute < 0 || e.Held < 0 || e.Held > e.Compute {
			c.breach("%s: compute %d, held %d", e.Op, e.Compute, e.Held)
		}
		if e.Dur < format.Unknown {
			c.breach("%s: duration %d", e.Op, e.Dur)
		}
		info := e.Op.Info()
		if info.Effect == format.EffectPipeline && (e.Ret != 0 || e.Args[0] < 1) {
			c.breach("%s(%d) = %d", e.Op, e.Args[0], e.Ret)
		}
		if info.Dropped || info.Canon != nil && info.Canon(e) != e.Op {
			c.breach("%s is not canonical", e.Op)
		}
		for k, a := range info.Args {
			if a.Kind != format.Path || e.Str[info.StringIndex(k)] == nil {
				continue
			}
			p := string(e.Str[info.StringIndex(k)])
			if dir, rest, split := strings.Cut(p, "//"); split {
				if c.begins == nil {
					c.begins = map[string]bool{}
				}
				c.begins[dir] = true
				p = dir + "/" + rest
			}
			if !below(p) {
				c.breach("%s: path %q", e.Op, p)
			}
		}
		c.counts[e.TID]++
		c.events = append(c.events, e.Clone())
	}
	return nil
}

// below reports whether a path is a plain one below the root.
func below(p string) bool {
	p, _ = strings.CutSuffix(p, "/") // which demands a directory, as it did in the recording
	return p == "." || p != "" && p[0] != '/' && path.Clean(p) == p && !strings.HasPrefix(p, "../") && p != ".." && !strings.Contains(p, "\x00")
}

// Close checks the header: dense numbers, parents before children, and a
// fileset that can be built in its order.
func (c *checker) Close(h *format.Header) error {
	c.header = h
	if len(c.counts) > len(h.Threads)+1 {
		c.breach("thread %d is not in the table of %d", len(c.counts)-1, len(h.Threads))
	}
	processes := int32(0)
	for i, t := range h.Threads {
		if t.Parent < 0 || t.Parent > int32(i) || t.Start < 0 || t.Process < 1 || t.Process > processes+1 {
			c.breach("thread %d: %+v", i+1, t)
		}
		processes = max(processes, t.Process)
	}
	dirs, seen := map[string]bool{".": true}, map[string]bool{}
	for _, f := range h.Files {
		switch {
		case !below(f.Path):
			c.breach("file %q", f.Path)
		case seen[f.Path]:
			c.breach("file %q twice", f.Path)
		case !dirs[path.Dir(f.Path)]:
			c.breach("file %q before its directory", f.Path)
		case f.Size < 0 || f.Cached < -1 || f.Type == format.TypeUnknown:
			c.breach("file %+v", f)
		case f.Link != "" && !seen[f.Link]:
			c.breach("file %q is a link to %q, which is not there", f.Path, f.Link)
		}
		seen[f.Path] = true
		if f.Type == format.TypeDir {
			dirs[f.Path] = true
		}
	}
	for dir := range c.begins {
		if !dirs[dir] {
			c.breach("a path begins in %q, which is not there", dir)
		}
	}
	for _, d := range h.Descriptors {
		if !below(d.Path) || !seen[d.Path] && d.Path != "." {
			c.breach("descriptor %+v", d)
		}
	}
	c.called()
	return nil
}

// called checks the application's names: each is that of a path of the trace or of
// a directory above one, and with Tree different paths have different names.
func (c *checker) called() {
	paths := map[string]bool{}
	for i := range c.events {
		for n := range c.events[i].Op.Info().At.Paths {
			if p := c.events[i].Path(n); p != nil {
				paths[path.Clean(string(p))] = true
			}
		}
	}
	for _, f := range c.header.Files {
		paths[f.Path] = true
	}
	for _, d := range c.header.Descriptors {
		paths[d.Path] = true
	}
	names, known := c.header.AppNames(), map[string]string{}
	for p := range paths {
		name := names.Of(p)
		if !path.IsAbs(name) || path.Clean(name) != name {
			c.breach("%q is called %q", p, name)
		}
		if other, two := known[name]; two && c.paths == compile.Tree {
			c.breach("%q and %q are called %q", p, other, name)
		}
		known[name] = p
	}
	for _, n := range c.header.Names {
		if n.Path != "." && !paths[n.Path] {
			c.breach("%q is called %q, and nothing uses it", n.Path, n.Name)
		}
	}
}

// names replays the names of the trace in the order of emission, and checks
// that what a call found was there. It stops where the results contradict
// each other, because no file system behaves like that.
func (c *checker) names() {
	if c.fault != nil || c.paths == compile.Flat {
		return
	}
	type file struct{ dir bool }
	at := map[string]*file{".": {true}} // names of one file lead to the same
	for _, f := range c.header.Files {
		if at[f.Path] = at[f.Link]; f.Link == "" {
			at[f.Path] = &file{f.Type == format.TypeDir}
		}
	}
	isDir := func(p string) bool { f := at[p]; return f != nil && f.dir }
	there := func(p string) bool { _, ok := at[p]; return ok }
	empty := func(p string) bool {
		for q := range at {
			if strings.HasPrefix(q, p+"/") || p == "." && q != "." {
				return false
			}
		}
		return true
	}
	for i := range c.events {
		e := &c.events[i]
		if e.Ret < 0 {
			continue
		}
		one, two := path.Clean(string(e.Str[0])), path.Clean(string(e.Str[1]))
		for dir := range c.begins {
			if !isDir(dir) {
				c.breach("event %d: a path begins in %q, which is gone by now", i, dir)
				return
			}
		}
		switch e.Op {
		case format.OpOpen, format.OpStat, format.OpLstat, format.OpStatx, format.OpAccess, format.OpTruncate, format.OpReadlink:
			if !there(one) {
				c.breach("event %d: %s %q found what is not there", i, e.Op, one)
				return
			}
		case format.OpOpenm:
			if e.Args[1]&format.TMPFILE == 0 {
				if there(one) {
					continue
				}
				if !isDir(path.Dir(one)) {
					return
				}
				at[one] = &file{}
			} else if !there(one) {
				c.breach("event %d: %s %q found what is not there", i, e.Op, one)
			}
		case format.OpMkdir, format.OpSymlink, format.OpMknod, format.OpBind:
			if e.Op == format.OpSymlink {
				one = two
			}
			if there(one) || !isDir(path.Dir(one)) {
				return
			}
			at[one] = &file{e.Op == format.OpMkdir}
		case format.OpUnlink, format.OpRmdir:
			if !there(one) {
				c.breach("event %d: %s %q found what is not there", i, e.Op, one)
				return
			}
			if isDir(one) != (e.Op == format.OpRmdir) || !empty(one) || one == "." {
				return
			}
			delete(at, one)
		case format.OpLink:
			if !there(one) {
				c.breach("event %d: %s %q found what is not there", i, e.Op, one)
				return
			}
			if isDir(one) || there(two) || !isDir(path.Dir(two)) {
				return
			}
			at[two] = at[one]
		case format.OpRename:
			if !there(one) {
				c.breach("event %d: %s %q found what is not there", i, e.Op, one)
				return
			}
			if at[one] == at[two] {
				continue // two names of one file stay as they are
			}
			if !isDir(one) && strings.HasPrefix(one, two) {
				return
			}
			if !isDir(path.Dir(two)) || strings.HasPrefix(two+"/", one+"/") || one == "." ||
				there(two) && (isDir(one) != isDir(two) || !empty(two)) || strings.HasPrefix(one, two+"/") {
				return
			}
			for q, f := range at {
				if q == one || strings.HasPrefix(q, one+"/") {
					delete(at, q)
					at["\x00"+two+q[len(one):]] = f
				}
			}
			for q, f := range at {
				if q[0] == 0 {
					delete(at, q)
					at[q[1:]] = f
				}
			}
		case format.OpRenameat2: // exchanges and the like: too rare to model
			return
		}
	}
}
