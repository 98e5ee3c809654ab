package format

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// AppName is what the application calls a path below the root of a replay. It
// holds for everything below that path, too, as far as that has no name of its own.
// A trace that keeps the application's names has one of the root at least.
type AppName struct {
	Path string // below the root, "." for the root itself
	Name string // absolute, as the application named it
}

// append appends the line of the name.
func (n *AppName) append(dst []byte) []byte {
	dst = AppendQuoted(append(dst, "# name: "...), []byte(n.Path))
	return append(AppendQuoted(append(dst, ' '), []byte(n.Name)), '\n')
}

func (h *Header) parseName(value []byte) error {
	s := scanner{rest: value}
	n := AppName{Path: s.quoted()}
	s.literal(" ")
	n.Name = s.quoted()
	if err := s.end("name"); err != nil {
		return err
	}
	if why := n.Wrong(); why != "" {
		return fmt.Errorf("%w: name: %s", errHeader, why)
	}
	h.Names = append(h.Names, n)
	return nil
}

// Wrong returns why there can't be such a name, "" if there can.
func (n *AppName) Wrong() string {
	switch {
	case n.Path == "" || n.Path[0] == '/':
		return "the path is not below the root"
	case n.Name == "" || n.Name[0] != '/':
		return "the application's name is not absolute"
	case strings.IndexByte(n.Path, 0) >= 0 || strings.IndexByte(n.Name, 0) >= 0:
		return "a NUL byte"
	}
	return ""
}

// SortNames sorts names by their paths. Of several names of one path the first
// stays.
func SortNames(names []AppName) []AppName {
	slices.SortStableFunc(names, func(a, b AppName) int { return cmp.Compare(a.Path, b.Path) })
	return slices.CompactFunc(names, func(a, b AppName) bool { return a.Path == b.Path })
}

// AppNames finds the application's names of paths below the root. A nil AppNames
// knows none. It may be used concurrently.
type AppNames struct {
	byPath  map[string]string
	longest int // of the paths, in bytes
}

// AppNames returns the names that the header has, nil for none. It takes the
// memory of a map; the names stay those of the header.
func (h *Header) AppNames() *AppNames {
	if len(h.Names) == 0 {
		return nil
	}
	a := &AppNames{byPath: make(map[string]string, len(h.Names))}
	for i := range h.Names {
		if n := &h.Names[i]; a.byPath[n.Path] == "" {
			a.byPath[n.Path] = n.Name
			a.longest = max(a.longest, len(n.Path))
		}
	}
	return a
}

// Append appends the application's name of a path below the root, without "." and
// empty components: that of the path, or of the longest directory above it that
// has one, and what follows. A path without any, and an absolute one, stays as it
// is.
func (a *AppNames) Append(dst, path []byte) []byte {
	if a == nil || len(path) == 0 || path[0] == '/' {
		return append(dst, path...)
	}
	for end := len(bytes.TrimRight(path, "/")); end > 0; end = bytes.LastIndexByte(path[:end], '/') {
		if end > a.longest {
			continue
		}
		if name, ok := a.byPath[string(path[:end])]; ok {
			return append(append(dst, name...), path[end:]...)
		}
	}
	root, ok := a.byPath["."]
	if !ok {
		return append(dst, path...)
	}
	return append(append(append(dst, strings.TrimSuffix(root, "/")...), '/'), path...)
}

// Of is Append for strings. They can contain "//", which marks where the application's
// path began (docs/reference/compile.md).
func (a *AppNames) Of(path string) string {
	if a == nil {
		return path
	}
	return string(a.Append(nil, []byte(strings.Replace(path, "//", "/", 1))))
}

// BothNames returns a path below the root, quoted, and the application's name after
// it if that says more, for messages: "pianola_tmp1" (/var/lib/wal).
func BothNames(path, name string) string {
	text := string(AppendQuoted(nil, []byte(path)))
	if bare := strings.TrimPrefix(name, "/"); bare != "" && bare != strings.Replace(path, "//", "/", 1) {
		text += " (" + Visible(name) + ")"
	}
	return text
}

// nameless is a reader whose header has no application's names.
type nameless struct{ Reader }

// WithoutNames returns a reader of the same events, whose header has no names of
// the application.
func WithoutNames(r Reader) Reader { return nameless{r} }

// Header implements Reader.
func (r nameless) Header() *Header {
	h := *r.Reader.Header()
	h.Names = nil
	return &h
}
