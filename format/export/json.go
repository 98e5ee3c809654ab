package export

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"pianola/format"
	"pianola/format/script"
)

// jsonWriter writes JSON Lines (ndjson): an object with the header, then an
// object for each event. The latter has the columns that are not null, "args"
// with the arguments that have no column, and "after" with the events that the
// event comes after, as objects. A span has its arguments as the text of a script.
type jsonWriter struct {
	out  text
	row  *row
	name []byte
	set  []byte
}

func newJSON(w io.Writer, h *format.Header) (Writer, error) {
	j := &jsonWriter{out: newText(w), row: newRow(h)}
	j.header(h)
	return j, nil
}

func (j *jsonWriter) Write(events []format.Event) error {
	for i := range events {
		e := &events[i]
		if j.row.enters(e) {
			continue
		}
		if e.Span != nil {
			j.row.setSpan(e)
		} else if err := j.row.set(e); err != nil {
			return err
		}
		j.open('{')
		for k := range j.row.columns {
			if v := &j.row.columns[k]; v.kind != null && k != colAfter {
				j.column(k, v)
			}
		}
		if e.Span != nil {
			j.span(e.Span, e.Dur)
		} else {
			j.args(e)
		}
		j.list("after", len(e.Edges), func(i int) {
			edge := &e.Edges[i]
			j.int("thread", int64(edge.Thread))
			j.int("index", edge.Event)
			j.key("kind")
			j.string([]byte(edge.Kind.String()))
			if edge.Delay != 0 {
				j.key("delay")
				j.out.b = format.AppendSeconds(j.out.b, edge.Delay)
			}
		})
		j.out.b = append(j.out.b, '}', '\n')
		if err := j.out.flushFull(); err != nil {
			return err
		}
	}
	return j.out.err
}

func (j *jsonWriter) Close() error { return j.out.flush() }

// column writes a column that is not null.
func (j *jsonWriter) column(k int, v *value) {
	j.key(columns[k].name)
	switch v.kind {
	case name:
		j.name = format.AppendName(j.name[:0], v.text)
		j.string(j.name)
	case word:
		j.out.b = append(append(append(j.out.b, '"'), v.text...), '"')
	default:
		j.out.b = v.appendUnquoted(j.out.b)
	}
}

// span writes what a span, which took so many nanoseconds, has and no column.
func (j *jsonWriter) span(s *format.Span, nanos int64) {
	if s.Kind != "" {
		j.text("kind", s.Kind)
	}
	if len(s.Args) > 0 {
		j.text("arguments", string(script.AppendArgs(nil, s.Args)))
	}
	if s.Bytes >= 0 && nanos > 0 {
		j.key("bytes_per_second")
		j.out.b = strconv.AppendFloat(j.out.b, float64(s.Bytes)*1e9/float64(nanos), 'f', 0, 64)
	}
	if s.Failed {
		j.key("failed")
		j.out.b = append(j.out.b, "true"...)
	}
}

// args writes the arguments that have no column and are not 0.
func (j *jsonWriter) args(e *format.Event) {
	begun := false
	str := 0
	for k, a := range e.Op.Info().Args {
		var s []byte
		if a.Kind.IsString() {
			s = e.Str[str]
			str++
		}
		if a.Kind == format.Items && e.List != nil {
			j.name = e.List.Append(j.name[:0])
			s = j.name
		}
		if j.row.shown>>k&1 != 0 || a.Kind == format.Path || !says(&a, e.Args[k], s) {
			continue
		}
		if !begun {
			begun = true
			j.key("args")
			j.open('{')
		}
		j.key(a.Name)
		switch a.Kind {
		case format.Items:
			j.string(s)
		case format.Text:
			j.name = format.AppendName(j.name[:0], s)
			j.string(j.name)
		case format.Flags:
			j.set = a.Flags.Append(j.set[:0], e.Args[k])
			j.string(j.set)
		default:
			j.out.b = format.AppendInt(j.out.b, e.Args[k])
		}
	}
	if begun {
		j.out.b = append(j.out.b, '}')
	}
}

// says reports whether an argument differs from its default.
func says(a *format.Arg, v int64, text []byte) bool {
	switch {
	case a.Kind == format.Text || a.Kind == format.Items:
		return text != nil
	case a.Kind == format.Flags && a.Flags.Enum && !a.Opt:
		return true
	case a.Kind == format.DirFD:
		return v != format.AtFDCWD // the default
	}
	return v != 0
}

// header writes what belongs to the whole trace. If a remark repeats, the last
// one counts.
func (j *jsonWriter) header(h *format.Header) {
	j.open('{')
	last := make(map[string]int)
	for i, m := range h.Meta {
		last[snake(m.Key)] = i
	}
	for i, m := range h.Meta {
		if key := snake(m.Key); last[key] == i {
			j.text(key, m.Value)
		}
	}
	j.list("threads", len(h.Threads), func(i int) {
		t := &h.Threads[i]
		j.int("process", int64(t.Process))
		j.int("parent", int64(t.Parent))
		j.key("start")
		j.out.b = format.AppendSeconds(j.out.b, t.Start)
	})
	j.list("descriptors", len(h.Descriptors), func(i int) {
		d := &h.Descriptors[i]
		j.int("process", int64(d.Process))
		j.int("fd", int64(d.FD))
		j.key("flags")
		j.string(format.OpenFlags.Append(nil, d.Flags))
		j.int("offset", d.Offset)
		j.path(d.Path)
	})
	j.list("files", len(h.Files), func(i int) { j.file(&h.Files[i]) })
	j.out.b = append(j.out.b, '}', '\n')
}

func (j *jsonWriter) file(f *format.File) {
	j.path(f.Path)
	j.text("type", f.Type.String())
	j.int("mode", int64(f.Mode))
	j.int("size", f.Size)
	if f.Cached >= 0 {
		j.int("cached", f.Cached)
	}
	if f.Sparse {
		j.key("sparse")
		j.out.b = append(j.out.b, "true"...)
	}
	if len(f.Blocks) > 0 {
		j.text("blocks", string(format.AppendBlocks(nil, f.Blocks)))
	}
	if f.Target != "" {
		j.text("target", f.Target)
	}
	if f.Link != "" {
		j.text("link", f.Link)
	}
	j.list("attrs", len(f.Attrs), func(i int) {
		j.text("name", f.Attrs[i].Name)
		j.int("size", f.Attrs[i].Size)
	})
}

// path writes the path of a file of the header.
func (j *jsonWriter) path(path string) {
	j.text("path", j.row.files.calls.Of(path))
	if j.row.files.calls != nil {
		j.text("root_path", path)
	}
}

// list writes a list of objects, if there are any.
func (j *jsonWriter) list(key string, n int, object func(int)) {
	if n == 0 {
		return
	}
	j.key(key)
	j.open('[')
	for i := range n {
		j.comma()
		j.open('{')
		object(i)
		j.out.b = append(j.out.b, '}')
		_ = j.out.flushFull() // the error stays
	}
	j.out.b = append(j.out.b, ']')
}

func (j *jsonWriter) open(bracket byte) { j.out.b = append(j.out.b, bracket) }

// comma writes a comma, unless it is at the start of an object or list.
func (j *jsonWriter) comma() {
	if n := len(j.out.b); n == 0 || j.out.b[n-1] != '{' && j.out.b[n-1] != '[' {
		j.out.b = append(j.out.b, ',')
	}
}

func (j *jsonWriter) key(name string) {
	j.comma()
	j.out.b = append(append(append(j.out.b, '"'), name...), '"', ':')
}

func (j *jsonWriter) int(key string, n int64) {
	j.key(key)
	j.out.b = format.AppendInt(j.out.b, n)
}

func (j *jsonWriter) text(key, s string) {
	j.key(key)
	j.name = format.AppendName(j.name[:0], []byte(s))
	j.string(j.name)
}

// string appends valid UTF-8 as a JSON string, with escapes for hidden
// characters.
func (j *jsonWriter) string(s []byte) {
	dst, done := append(j.out.b, '"'), 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if c >= utf8.RuneSelf && !format.Hidden(r) {
			i += n
			continue
		}
		dst = append(dst, s[done:i]...)
		i += n
		done = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = format.AppendJSONEscape(dst, r)
		}
	}
	j.out.b = append(append(dst, s[done:]...), '"')
}

// snake returns the key of a remark in snake_case.
func snake(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r | 0x20
		}
		return '_'
	}, key)
}
