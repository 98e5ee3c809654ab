package posix

import (
	"path"
	"strings"

	"pianola/format"
)

// filesets returns the fileset of each root. A name in another root than its directory
// also has an empty file or directory in the directory's root, so that a listing has
// its name, unless the trace removes the directory. A root also has the parent
// directories of its names.
func (p *rootMap) filesets(all []format.File, roots int) [][]format.File {
	if p == nil {
		return [][]format.File{all}
	}
	type key struct {
		at   rootIndex
		name string
	}
	sets, listed := make([][]format.File, roots), make(map[key]bool)
	dirs := make(map[string]*format.File, len(p.dirs))
	for i := range all {
		f := &all[i]
		name := cleanPath(f.Path)
		at := p.rootOf(name)
		sets[at] = append(sets[at], *f)
		if f.Type == format.TypeDir {
			dirs[name] = f
		}
		if dir := path.Dir(name); name != "." && p.rootOf(dir) != at && !p.removedDirs[dir] {
			stand := format.File{Path: f.Path, Type: format.TypeReg, Mode: f.Mode, Cached: -1}
			if f.Type == format.TypeDir {
				stand.Type = format.TypeDir
			}
			sets[p.rootOf(dir)] = append(sets[p.rootOf(dir)], stand)
			listed[key{p.rootOf(dir), name}] = true
		}
	}
	for name, at := range p.known {
		if at == 0 {
			continue
		}
		for i := 0; ; {
			n := strings.IndexByte(name[i:], '/')
			if n < 0 {
				break
			}
			i += n + 1
			dir := name[:i-1]
			if p.rootOf(dir) == at {
				if !p.files[dir] {
					break
				}
				continue
			}
			if !p.dirs[dir] {
				break
			}
			if listed[key{at, dir}] {
				continue
			}
			listed[key{at, dir}] = true
			f := format.File{Path: dir, Type: format.TypeDir, Mode: 0o755}
			if d := dirs[dir]; d != nil {
				f.Mode = d.Mode
			}
			sets[at] = append(sets[at], f)
		}
	}
	return sets
}
