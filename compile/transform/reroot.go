package transform

import (
	"fmt"
	"path"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

var rerootTransform = Transform{
	Name: "reroot", Arg: Arg{Form: "OLD:NEW"},
	Doc:   "renames everything below the directory OLD to names below NEW; both are absolute",
	Keeps: "everything except these names",
	Needs: "the names of a compiled trace already lie below the root; use replay --map instead",
	New: func(arg string) (Func, error) {
		from, to, ok := strings.Cut(arg, ":/")
		if to = "/" + to; !ok || !strings.HasPrefix(from, "/") || strings.Contains(arg, "\x00") {
			return nil, fmt.Errorf("expected two absolute paths separated by a colon, not %q", arg)
		}
		m := below(path.Clean(from), path.Clean(to))
		return newStaged(0, func() stage { return m }), nil
	},
}

// event implements stage.
func (m move) event(s *staged, f *process.Fact) error {
	m.rename(s, f.Thread, s.push(f.Event), f.Event)
	s.Apply(f)
	return nil
}

// header implements headed.
func (m move) header(h *format.Header) *format.Header {
	h = begun(h)
	out := *h
	out.Meta, out.Descriptors, out.Files = nil, nil, m.files(h.Files)
	for _, meta := range h.Meta {
		switch meta.Key {
		case format.MetaCwd:
			meta.Value = m.quoted(meta.Value)
		case format.MetaProcess:
			continue
		}
		out.Meta = append(out.Meta, meta)
	}
	for _, p := range h.Running() {
		p.Cwd = m.absolute(p.Cwd)
		out.Meta = append(out.Meta, format.Meta{Key: format.MetaProcess, Value: p.Remark()})
	}
	for _, d := range h.Descriptors {
		d.Path = m.absolute(d.Path)
		out.Descriptors = append(out.Descriptors, d)
	}
	return &out
}

// quoted moves a quoted path.
func (m move) quoted(text string) string {
	p, _, err := format.Unquote(nil, []byte(text))
	if err != nil {
		return text
	}
	return string(format.AppendQuoted(nil, []byte(m.absolute(string(p)))))
}
