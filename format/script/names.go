package script

import (
	"bytes"
	"fmt"
	"slices"

	"pianola/format"
)

// names checks the lines with the application's names of paths ("# name:").
type names struct {
	lines  map[string]int // the line of each name, by its path; negative if the script has that path, or one below it
	unused int            // those that are positive
}

// nameBytes is the memory of a name besides its line: here, and in the map of its user
// (format.AppNames).
const nameBytes = 200

// add checks the name that a line has added to the header, if it has, and returns how
// many bytes of memory that takes.
func (ns *names) add(h *format.Header, line int) (bytes int, err error) {
	if len(h.Names) == len(ns.lines) {
		return 0, nil
	}
	path := h.Names[len(h.Names)-1].Path
	if before, twice := ns.lines[path]; twice {
		return 0, fmt.Errorf("line %d already names this path", max(before, -before))
	}
	if ns.lines == nil {
		ns.lines = make(map[string]int)
	}
	ns.lines[path] = line
	if ns.unused++; path == "." {
		ns.there([]byte(path))
	}
	return nameBytes, nil
}

// use notes the paths of an event.
func (ns *names) use(e *format.Event) {
	for n := range e.Op.Info().At.Paths {
		ns.there(e.Path(n))
	}
}

// there notes that a path and its parents exist.
func (ns *names) there(path []byte) {
	if bytes.Contains(path, []byte("//")) { // the directory where it began in the application
		path = bytes.ReplaceAll(path, []byte("//"), []byte("/"))
	}
	for end := len(path); end > 0 && ns.unused > 0; end = bytes.LastIndexByte(path[:end], '/') {
		if line := ns.lines[string(path[:end])]; line > 0 {
			ns.lines[string(path[:end])] = -line
			ns.unused--
		}
	}
}

// settle removes the names of paths that the script does not have, or returns an error
// for the first of them, and its line.
func (ns *names) settle(h *format.Header, remove bool) (line int, err error) {
	for i := range h.Files {
		ns.there([]byte(h.Files[i].Path))
	}
	for i := range h.Descriptors {
		ns.there([]byte(h.Descriptors[i].Path))
	}
	if ns.unused == 0 {
		return 0, nil
	}
	unused := func(n format.AppName) bool { return ns.lines[n.Path] > 0 }
	if remove {
		h.Names = slices.DeleteFunc(h.Names, unused)
		return 0, nil
	}
	path := h.Names[slices.IndexFunc(h.Names, unused)].Path
	return ns.lines[path], fmt.Errorf("name for %s, which is not a path of the script", format.AppendQuoted(nil, []byte(path)))
}
