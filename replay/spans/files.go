package spans

import (
	"context"
	"os"
	"path"
	"strings"

	"pianola/format"
	"pianola/replay"
	"pianola/replay/fileset"
)

// Files finds the places of the application's files below a root. It is for one goroutine.
type Files struct {
	root   *os.Root
	byName map[string]string
}

// OpenFiles opens the root of a trace with a header. The caller closes it.
func OpenFiles(h *format.Header, root string) (*Files, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &Files{dir, placesOf(h)}, nil
}

// Close closes the root.
func (m *Files) Close() error { return m.root.Close() }

// placesOf returns the paths below the root, by the application's names, of the files that
// the trace finds.
func placesOf(h *format.Header) map[string]string {
	names, byName := h.AppNames(), map[string]string{}
	for _, f := range h.Files {
		byName[path.Join("/", names.Of(f.Path))] = path.Clean(f.Path)
	}
	return byName
}

// Place returns the place of a file, whose directory it makes. It lies below the root
// for any path. It is for Options.Place.
func (m *Files) Place(name string) (string, bool) {
	name = path.Join("/", name)
	for _, pseudo := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(name, pseudo) {
			return "", false
		}
	}
	at, ok := m.byName[name]
	if !ok {
		at = strings.TrimPrefix(name, "/")
	}
	if at == "" || at == "." || strings.IndexByte(at, 0) >= 0 {
		return "", false
	}
	if err := m.root.MkdirAll(path.Dir(at), 0o777); err != nil {
		return "", false
	}
	// A symbolic link of the trace must not lead the player outside.
	if _, err := m.root.Lstat(at); err == nil {
		if _, err := m.root.Stat(at); err != nil {
			return "", false
		}
	}
	return at, true
}

// Prepare makes the application's files with these names that the trace finds, and their
// directories and links, in the root of the options.
func Prepare(ctx context.Context, t format.Trace, names []string, o replay.Options) error {
	o.Prepare = fileset.PrepareOnly
	_, err := replay.Run(ctx, withFiles(t, names), o)
	return err
}

// fewerFiles is a trace with a part of its files.
type fewerFiles struct {
	format.Trace
	header format.Header
}

func (n *fewerFiles) Header() *format.Header { return &n.header }

// withFiles keeps the files that the trace finds of those with the application's names.
func withFiles(t format.Trace, names []string) *fewerFiles {
	n := &fewerFiles{t, *t.Header()}
	files, byName := map[string]*format.File{}, placesOf(&n.header)
	for i := range n.header.Files {
		files[path.Clean(n.header.Files[i].Path)] = &n.header.Files[i]
	}
	keep := map[string]bool{}
	var add func(at string)
	add = func(at string) {
		f := files[at]
		if f == nil || keep[at] {
			return
		}
		keep[at] = true
		add(path.Dir(at))
		switch {
		case f.Link != "":
			add(path.Clean(f.Link))
		case f.Type == format.TypeLnk && !path.IsAbs(f.Target):
			add(path.Join(path.Dir(at), f.Target))
		}
	}
	for _, name := range names {
		for at := path.Join("/", name); at != "/"; at = path.Dir(at) {
			add(byName[at])
		}
	}
	n.header.Files, n.header.Descriptors = nil, nil
	for _, f := range t.Header().Files {
		if keep[path.Clean(f.Path)] {
			n.header.Files = append(n.header.Files, f)
		}
	}
	return n
}
