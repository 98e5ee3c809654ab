package pattern

import (
	"strconv"
	"strings"
)

// template is a name with expressions between braces.
type template struct {
	text  string
	line  int
	parts []part
}

// part is a piece of text, or a number where it has one.
type part struct {
	text  string
	value *number
}

func (t *template) compile(s *scope) error {
	t.parts = nil
	if strings.IndexByte(t.text, 0) >= 0 {
		return fault(t.line, "a name cannot contain a NUL byte")
	}
	for rest := t.text; rest != ""; {
		text, after, open := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return fault(t.line, "%.100q: unmatched closing brace", t.text)
		}
		if text != "" {
			t.parts = append(t.parts, part{text: text})
		}
		if !open {
			break
		}
		inner, after, closed := strings.Cut(after, "}")
		if !closed {
			return fault(t.line, "%.100q: missing closing brace", t.text)
		}
		n := &number{text: inner, line: t.line}
		if err := n.compile(s); err != nil {
			return err
		}
		t.parts, rest = append(t.parts, part{value: n}), after
	}
	return nil
}

// expand appends the name with the values of its expressions.
func (t *template) expand(dst []byte, v *env) ([]byte, error) {
	for _, p := range t.parts {
		if p.value == nil {
			dst = append(dst, p.text...)
			continue
		}
		n, err := p.value.within(v, 0, maxOffset)
		if err != nil {
			return dst, err
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	return dst, nil
}
