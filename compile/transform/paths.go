package transform

import (
	"path"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

// move maps the path of a file to its new path. Both are absolute, without .
// and ...
type move func(path string) string

// rename replaces the names in an event by the new ones. s follows the original
// event. A relative name stays relative if that leads to the new path.
func (m move) rename(s *staged, t *process.Thread, en *entry, was *format.Event) {
	info := was.Op.Info()
	for n, p := range info.At.Paths {
		if len(was.Path(n)) == 0 {
			continue
		}
		if moved := m.name(s, t, was, n); moved != nil {
			en.Str[p.Str] = moved
		}
	}
	if at := info.At.Text; info.Acts.Any(format.Symlinks) && was.Str[at] != nil {
		en.Str[at] = []byte(m.absolute(string(was.Str[at])))
	}
	if was.Notes.Known(format.NotedPath) {
		en.Notes.Path = []byte(m.absolute(string(was.Notes.Path)))
	}
	if was.Notes.Known(format.NotedTarget) {
		en.Notes.Target = []byte(m.absolute(string(was.Notes.Target)))
	}
}

// name returns the new n-th path of an event, nil if it does not change.
func (m move) name(s *staged, t *process.Thread, was *format.Event, n int) []byte {
	name := was.Path(n)
	to := string(s.Path(t, was, n))
	if !strings.HasPrefix(to, "/") {
		return nil // from a directory that is not known
	}
	moved := m(to)
	if name[0] != '/' {
		from := t.Dir.Path
		if fd := was.Dir(n); fd != format.AtFDCWD {
			from = t.Table.At(fd).File.Name
		}
		if path.Join(m(path.Clean(from)), string(name)) == moved {
			return nil
		}
	} else if moved == to {
		return nil
	}
	if strings.HasSuffix(string(name), "/") && moved != "/" {
		moved += "/" // it demands a directory
	}
	return []byte(moved)
}

// absolute moves a path if it is absolute.
func (m move) absolute(p string) string {
	if !strings.HasPrefix(p, "/") {
		return p
	}
	to := path.Clean(p)
	if moved := m(to); moved != to {
		return moved
	}
	return p
}

// files returns the files that must exist, with their new paths.
func (m move) files(files []format.File) []format.File {
	var out []format.File
	for _, f := range files {
		f.Path = strings.TrimPrefix(m("/"+f.Path), "/")
		out = append(out, f)
	}
	return out
}

// begun returns a header with a working directory at the start: the root if the
// recording has none, as in compile.
func begun(h *format.Header) *format.Header {
	if _, ok := h.Value(format.MetaCwd); ok || len(h.Names) > 0 { // with names, those are absolute
		return h
	}
	out := *h
	out.Meta = append(slices.Clone(h.Meta), format.Meta{Key: format.MetaCwd, Value: `"/"`})
	return &out
}

// below returns the move of everything below one directory to another.
func below(from, to string) move {
	return func(p string) string {
		rest, ok := strings.CutPrefix(p, from)
		switch {
		case !ok || from != "/" && rest != "" && rest[0] != '/':
			return p
		case from == "/":
			rest = p
		}
		return path.Join(to, rest)
	}
}
