package compile

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/coverage"
)

// plan is the names and the fileset of the trace. Only the last pass has it.
type plan struct {
	mapped        []string // name of each entry: a component, or the whole path with Flat
	stays         []bool   // result of names.stays for each entry
	files         []format.File
	appNames      []format.AppName // with Flat, of files
	substitutions []Substitution
	uncached      coverage.Uncached
}

// tempPrefix is the prefix of temporary names, as in the original Pianola.
const tempPrefix = "pianola_tmp"

// standard holds the directories that keep their paths with Flat, because their
// files are in the same place on every system.
var standard = map[string]bool{
	"usr": true, "lib": true, "lib32": true, "lib64": true, "libx32": true, "bin": true, "sbin": true, "etc": true, "opt": true,
}

// The permissions of files whose permissions are unknown.
const (
	defaultMode    = 0o644
	defaultDirMode = 0o755
)

// plan decides on the names and the fileset.
func (m *model) plan() *plan {
	p := &plan{}
	m.settleNames()
	if m.options.Key != nil {
		m.hideNames()
	}
	for i := 0; i < len(m.names.entries); i++ { // m.target can add entries
		m.addFile(p, m.names.entries[i])
	}
	p.files = withParents(p.files)
	for _, e := range m.names.entries {
		p.mapped = append(p.mapped, e.mapped)
		p.stays = append(p.stays, m.names.stays(e))
		if e.node != nil && e.node.pseudo || !e.direct && !e.made {
			continue
		}
		if e.mapped == e.comp && m.options.Paths == Tree {
			continue
		}
		s := Substitution{m.names.original(e), m.names.mappedPath(e, m.options.Paths)}
		if s.Original != "/"+s.Mapped {
			p.substitutions = append(p.substitutions, s)
		}
	}
	return p
}

// settleNames gives every entry its name below the root.
func (m *model) settleNames() {
	taken := map[string]bool{}
	for _, e := range m.names.entries {
		if strings.HasPrefix(e.comp, tempPrefix) {
			taken[e.comp] = true
		}
	}
	for s := range standard {
		taken[s] = true
	}
	temps, next := 0, map[string]int{}
	for _, e := range m.names.entries {
		switch {
		case e.made:
			for temps++; taken[fmt.Sprint(tempPrefix, temps)]; temps++ {
			}
			e.mapped = fmt.Sprint(tempPrefix, temps)
		case m.options.Paths == Flat && (e.direct || e.existed) && m.standard(e):
			e.mapped = m.names.original(e)[1:]
		case m.options.Paths == Flat && e.direct:
			for e.mapped = e.comp; taken[e.mapped]; {
				next[e.comp]++
				e.mapped = fmt.Sprintf("%s~%d", e.comp, next[e.comp]+1)
			}
			taken[e.mapped] = true
		}
	}
}

// standard reports whether an entry is in a standard directory from the start to the
// end.
func (m *model) standard(e *entry) bool {
	for e.dir != m.names.root {
		if e.dir.at != e.dir.first {
			return false
		}
		e = e.dir.at
	}
	return standard[e.comp]
}

// addFile adds the file that an entry had at the start to the fileset.
func (m *model) addFile(p *plan, e *entry) {
	if e.state == unknown && e.refused != 0 && !e.dir.created && !e.dir.bars() {
		m.names.exists(e) // the directory is open, so the file was not
	}
	if !e.existed || e.first == nil || e.first.pseudo && !e.first.shown {
		return
	}
	if m.options.Paths == Flat && !e.direct && !m.standard(e) {
		return
	}
	name, ok := m.names.firstPath(e, m.options.Paths)
	if !ok || len(name) > maxPath {
		return
	}
	nd := e.first
	f := format.File{Path: name, Type: nd.kind(), Mode: nd.mode, Size: nd.size, Cached: nd.cached}
	if f.Type == format.TypeReg {
		f.Cached, f.Dirty = nd.cachedPages(&p.uncached), nd.unstored
		f.Blocks = nd.layout()
		f.Sparse = nd.sparse && f.Blocks == nil
	}
	if f.Mode == 0 {
		if f.Mode = defaultMode; f.Type == format.TypeDir {
			f.Mode = defaultDirMode
		}
		f.Mode |= nd.needs &^ 0o022 // no more write permission for others than by default
	}
	// The user of a replay owns all files, so what was closed by its owner or its group is
	// closed by its mode.
	if f.Type == format.TypeDir && nd.bars() {
		f.Mode &^= 0o111
	}
	f.Mode &^= e.refused &^ nd.needs
	if f.Type == format.TypeLnk {
		f.Size = 0
		if f.Target = "pianola_target"; nd.target != "" {
			f.Target = m.naming.target(e, nd.target)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nd.attrs)) {
		if size := nd.attrs[name]; size != notRead {
			f.Attrs = append(f.Attrs, format.Attr{Name: m.hideAttr(name), Size: size})
		}
	}
	if nd.link != nil && nd.link.first != nil && nd.link.first.id < e.id {
		f.Link, _ = m.names.firstPath(nd.link.first, m.options.Paths)
	}
	p.files = append(p.files, f)
	if m.options.named() && m.options.Paths == Flat {
		if called := m.names.original(e); called[1:] != name {
			p.appNames = append(p.appNames, format.AppName{Path: name, Name: called})
		}
	}
}

// withParents adds missing parent directories of files. They are missing with
// Flat if a directory was moved into a standard one.
func withParents(files []format.File) []format.File {
	there := make(map[string]bool, len(files))
	whole := make([]format.File, 0, len(files))
	var add func(f format.File)
	add = func(f format.File) {
		if dir := path.Dir(f.Path); dir != "." && !there[dir] {
			add(format.File{Path: dir, Type: format.TypeDir, Mode: defaultDirMode, Cached: -1})
		}
		there[f.Path] = true
		whole = append(whole, f)
	}
	for _, f := range files {
		if !there[f.Path] {
			add(f)
		}
	}
	return whole
}
