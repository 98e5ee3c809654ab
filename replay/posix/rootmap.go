package posix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/glob"
	"pianola/internal/limit"
	"pianola/replay/sandbox"
)

// Map places names in another root: names whose application's path, or that of a parent
// directory, matches Glob. In Glob, * matches anything. If several maps match, the one
// that matches the longest path applies, then the first. Names keep their paths
// relative to the root.
type Map struct {
	Glob string
	Root string // a directory as Options.Root
}

func (m Map) String() string { return m.Glob + "=" + m.Root }

// ParseMap parses GLOB=DIR, split at the last =.
func ParseMap(text string) (Map, error) {
	i := strings.LastIndexByte(text, '=')
	if i <= 0 || i == len(text)-1 {
		return Map{}, fmt.Errorf("%q is not GLOB=DIR", text)
	}
	return Map{text[:i], text[i+1:]}, nil
}

// rootIndex numbers the roots: 0 is that of the replay, and others count the different
// directories of the maps from 1.
type rootIndex uint16

// MaxRoots bounds the roots of maps. Each takes some descriptors, and a thread is
// bound to all.
const MaxRoots = 64

// BranchRoots returns the different directories of the maps, by rootIndex less 1.
func BranchRoots(maps []Map) (dirs []string) {
	for _, m := range maps {
		if dir := filepath.Clean(m.Root); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// rootMap finds the root of each name of a trace. It decides by the names alone, before the start,
// so it refuses events that would depend on the path to a file: a rename, a link or a symbolic link
// that leads from one root to another.
type rootMap struct {
	trace   format.Trace   // what this process replays
	header  *format.Header // of the whole trace
	maps    []Map
	roots   []rootIndex // of each map
	matched []bool      // each map

	maxNames    int // names that known may hold
	app         *format.AppNames
	known       map[string]rootIndex // by clean path; all names looked up so far
	dirs        map[string]bool      // paths that exist or are created and are, or may be, directories
	files       map[string]bool      // names of the fileset
	removedDirs map[string]bool      // directories that are removed
	boundaries  []string             // names in another root than their directory, in order
}

// cleanPath returns a path of a trace without ".", ".." and empty components, "."
// for the root.
func cleanPath(p string) string {
	if p = path.Clean("/" + p)[1:]; p == "" {
		return "."
	}
	return p
}

// newRootMap finds the roots of all names. It reads the events twice: it checks events
// that move a name when all names are known. With a session, all processes call it, and
// each reads its own events.
func (e *Executor) newRootMap(ctx context.Context) (*rootMap, error) {
	o, h := &e.Options, e.Whole.Header()
	p := &rootMap{
		trace: e.Trace, header: h, maps: o.Maps, maxNames: int(min(4*o.Limits.Files, math.MaxInt32)), matched: make([]bool, len(o.Maps)), app: h.AppNames(), known: map[string]rootIndex{".": 0},
		dirs: map[string]bool{}, files: map[string]bool{}, removedDirs: map[string]bool{},
	}
	dirs := BranchRoots(o.Maps)
	for _, m := range o.Maps {
		p.roots = append(p.roots, rootIndex(slices.Index(dirs, filepath.Clean(m.Root))+1))
	}
	for i := range h.Files {
		f := &h.Files[i]
		p.files[cleanPath(f.Path)] = true
		if p.rootOf(f.Path); f.Type == format.TypeDir || f.Type == format.TypeLnk {
			p.dirs[cleanPath(f.Path)] = true
		}
	}
	for _, d := range h.Descriptors {
		p.rootOf(d.Path)
	}
	all := make([]uses, len(e.Trace.Strings()))
	if err := p.events(func(_ int32, _ int64, r *format.Record) error {
		note(r, all)
		return nil
	}); err != nil {
		return nil, err
	}
	if o.Session != nil {
		if err := o.Session.Union(ctx, all); err != nil {
			return nil, err
		}
	}
	for id, use := range all {
		if use == 0 {
			continue
		}
		name := e.Trace.Strings()[id]
		p.rootOf(name)
		if use&created != 0 {
			p.dirs[cleanPath(name)] = true
		}
		if use&removed != 0 {
			p.removedDirs[cleanPath(name)] = true
		}
	}
	if len(p.known) > p.maxNames {
		return nil, fmt.Errorf("the trace has more than %d names and parent directories: %w", p.maxNames, limit.Of("files"))
	}
	for name, at := range p.known {
		if name != "." && at != p.known[path.Dir(name)] {
			p.boundaries = append(p.boundaries, name)
		}
	}
	slices.Sort(p.boundaries)
	if e.isFirst() { // all would find the same
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	return p, p.events(p.checkEvent)
}

// rootOf returns the root of a path.
func (p *rootMap) rootOf(name string) rootIndex {
	name = cleanPath(name)
	if at, ok := p.known[name]; ok {
		return at
	}
	if len(p.known) > p.maxNames {
		return 0 // newRootMap ends with an error
	}
	above := path.Dir(name)
	at := p.rootOf(above)
	// A parent directory of the application's path may not exist below the root
	// (--paths flat).
	for app, end := p.appName(name), p.appName(above); len(app) > 1 && app != end; app = path.Dir(app) {
		if own, ok := p.match(app); ok {
			at = own
			break
		}
	}
	p.known[name] = at
	return at
}

// appName returns the application's name of a clean path. Without names, the root
// stands for the application's.
func (p *rootMap) appName(name string) string {
	if p.app == nil {
		return "/" + name
	}
	return p.app.Of(name)
}

// match returns the root of the first map that matches an application's name.
func (p *rootMap) match(name string) (at rootIndex, ok bool) {
	for i := range p.maps {
		if glob.Match(p.maps[i].Glob, name) {
			p.matched[i] = true
			return p.roots[i], true
		}
	}
	return 0, false
}

// events calls f with each record.
func (p *rootMap) events(f func(thread int32, event int64, r *format.Record) error) error {
	batch := make([]format.Record, 1024)
	for thread := range int32(max(len(p.trace.Header().Threads), 1)) {
		if p.trace.Len(thread+1) == 0 {
			continue
		}
		records := p.trace.Records(thread + 1)
		for event := int64(0); ; {
			n, err := records.Read(batch)
			for i := range n {
				if err := f(thread+1, event, &batch[i]); err != nil {
					return err
				}
				event++
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("read event %d of thread %d: %w", event, thread+1, err)
			}
		}
	}
	return nil
}

// pathArgs returns the numbers of the strings that are the first two paths of a record,
// -1 for none.
func pathArgs(r *format.Record, strings int) (ids [2]int64) {
	ids, k := [2]int64{-1, -1}, 0
	for i, a := range r.Op.Info().Args {
		if a.Kind == format.Path && k < len(ids) {
			if id := r.Args[i]; id >= 0 && id < int64(strings) {
				ids[k] = id
			}
			k++
		}
	}
	return ids
}

// names returns the strings that are the first two paths of a record, "" for none.
func (p *rootMap) names(r *format.Record) (names [2]string) {
	for k, id := range pathArgs(r, len(p.trace.Strings())) {
		if id >= 0 {
			names[k] = p.trace.Strings()[id]
		}
	}
	return names
}

// uses are the ways in which events use a string.
type uses = byte

const (
	named   uses = 1 << iota // it is a path
	created                  // a directory, or a link that may lead to one, is made with this path
	removed                  // a directory is removed that has it
)

// note adds how a record uses its paths.
func note(r *format.Record, all []uses) {
	if !r.Op.Valid() {
		return
	}
	for i, a := range r.Op.Info().Args {
		if id := r.Args[i]; a.Kind == format.Path && id >= 0 && id < int64(len(all)) {
			all[id] |= named
		}
	}
	if r.Ret < 0 {
		return
	}
	ids := pathArgs(r, len(all))
	add := func(id int64, use uses) {
		if id >= 0 {
			all[id] |= use
		}
	}
	switch acts, at := r.Op.Info().Acts, &r.Op.Info().At; {
	case acts.Any(format.Removes):
		if acts.Any(format.Directories) {
			add(ids[at.Gone], removed)
		}
	case acts.Any(format.Directories | format.Symlinks | format.Renames):
		add(ids[at.Came], created)
	}
}

// The errors of maps.
var (
	// ErrAcross is wrapped by the error for a trace whose files a map separates
	// although they must be in one root.
	ErrAcross = errors.New("a map separates them")

	// ErrUnmatched is wrapped by the error for a map that matches no name of any trace.
	ErrUnmatched = errors.New("no name of the trace matches")
)

func (p *rootMap) name(name string) string {
	return format.BothNames(name, p.app.Of(name))
}

func (p *rootMap) dirOf(at rootIndex) string {
	if at == 0 {
		return "the root"
	}
	return p.maps[slices.Index(p.roots, at)].Root
}

func (p *rootMap) acrossError(what, from, to string) error {
	return fmt.Errorf("%s %s, in %s, to %s, in %s: %w", what, p.name(from), p.dirOf(p.rootOf(from)), p.name(to), p.dirOf(p.rootOf(to)), ErrAcross)
}

// check refuses links of the fileset that lead from one root to another.
func (p *rootMap) check() error {
	for i := range p.header.Files {
		f := &p.header.Files[i]
		switch {
		case f.Link != "" && p.rootOf(f.Link) != p.rootOf(f.Path):
			return p.acrossError("hard link of", f.Link, f.Path)
		case f.Type == format.TypeLnk:
			if err := p.checkLink(f.Path, f.Target); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkLink refuses a symbolic link by which a path can lead into another root than
// its text suggests.
func (p *rootMap) checkLink(name, target string) error {
	to := target
	if !strings.HasPrefix(target, "/") {
		to = path.Join("/", path.Dir(cleanPath(name)), target)
	}
	to = cleanPath(to)
	switch stray := p.boundaryBelow(to); {
	case p.rootOf(name) != p.rootOf(to):
		return p.acrossError("symbolic link", name, to)
	case stray != "":
		return p.acrossError("symbolic link "+p.name(name)+" to a directory of", to, stray)
	case p.rootOf(name) != 0 && strings.HasPrefix(target, "/"):
		return fmt.Errorf("symbolic link %s, in %s, to %q: %w, because an absolute link leads to the root", p.name(name), p.dirOf(p.rootOf(name)), target, ErrAcross)
	}
	return nil
}

// boundaryBelow returns a name below a directory that is in another root than its parent
// directory, "" if there is none.
func (p *rootMap) boundaryBelow(dir string) string {
	if dir == "." {
		if len(p.boundaries) > 0 {
			return p.boundaries[0]
		}
		return ""
	}
	i, _ := slices.BinarySearch(p.boundaries, dir+"/")
	if i < len(p.boundaries) && strings.HasPrefix(p.boundaries[i], dir+"/") {
		return p.boundaries[i]
	}
	return ""
}

// checkEvent refuses an event that leads from one root to another.
func (p *rootMap) checkEvent(thread int32, event int64, r *format.Record) (err error) {
	if r.Ret < 0 || !r.Op.Valid() {
		return nil
	}
	names := p.names(r)
	switch acts := r.Op.Info().Acts; {
	case acts.Any(format.Symlinks):
		if id := r.Args[0]; id >= 0 && id < int64(len(p.trace.Strings())) { // a text, and no path
			err = p.checkLink(names[0], p.trace.Strings()[id])
		}
	case acts.Any(format.Renames|format.Links) && names[0] != "": // else that of a descriptor
		from, to := cleanPath(names[0]), cleanPath(names[1])
		moved := p.boundaryBelow(from)
		if moved == "" {
			moved = p.boundaryBelow(to)
		}
		switch {
		case p.rootOf(from) != p.rootOf(to):
			err = p.acrossError(r.Op.Info().Name, from, to)
		case moved != "":
			err = p.acrossError(fmt.Sprintf("%s %s to %s, a directory of", r.Op.Info().Name, p.name(from), p.name(to)), path.Dir(moved), moved)
		}
	}
	if err != nil {
		err = fmt.Errorf("event %d of thread %d: %w", event, thread, err)
	}
	return err
}

// assignRoots assigns the names of the engine to their roots. The guard must be bound.
func (p *rootMap) assignRoots(e *Executor) {
	for i, text := range e.texts {
		at, known := p.known[cleanPath(text)]
		if !known {
			continue // no path
		}
		if strings.Contains(text, "..") && (at != 0 || p.crossesRoot(text)) {
			// In another root, a path cannot lead through directories of the root.
			clean := cleanPath(text)
			if strings.HasSuffix(text, "/") {
				clean += "/"
			}
			e.texts[i], e.names[i] = clean, sandbox.NewName(clean)
		}
		if at != 0 {
			e.names[i].SetBranch(e.guard.Branches[at-1])
		}
	}
}

// crossesRoot reports whether a path leads through the root of a map.
func (p *rootMap) crossesRoot(text string) bool {
	for i := range text {
		if text[i] == '/' && p.rootOf(text[:i]) != 0 {
			return true
		}
	}
	return false
}

// splitDirs reports, for each name of the engine, whether it is a directory with
// names in another root, which its listing lacks.
func (p *rootMap) splitDirs(e *Executor) []bool {
	dirs := make(map[string]bool)
	for _, name := range p.boundaries {
		dirs[path.Dir(name)] = true
	}
	lacks := make([]bool, len(e.texts))
	for i, text := range e.texts {
		lacks[i] = dirs[cleanPath(text)]
	}
	return lacks
}

// Unmatched returns an error for a map that no trace of a run has a name for, after Plan.
func Unmatched(all []*Executor) error {
	for i, m := range all[0].Maps {
		if slices.ContainsFunc(all, func(e *Executor) bool { return e.rootMap.matched[i] }) {
			continue
		}
		return fmt.Errorf("map %s: %w", m, ErrUnmatched)
	}
	return nil
}
