// Package filter implements the expressions that select events, for compile and for
// transforms.
package filter

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pianola/format"
	"pianola/internal/glob"
)

// Subject holds the fields of an event that a filter can use.
type Subject struct {
	Thread   int32  // kernel thread id in the recording
	Process  int32  // process id in the recording
	Rank     int32  // of the process in a parallel program, -1 for none
	Command  string // base name of the program that the process runs
	Op       format.Op
	Path     string   // absolute, as the application named it; "" if there is none
	Size     int64    // requested bytes, -1 for operations without a size
	Result   int64    // as Event.Ret
	Duration int64    // nanoseconds, or format.Unknown
	Time     int64    // nanoseconds from the start of the recording
	Span     string   // of a call of a library LAYER:FUNCTION, otherwise ""
	Spans    []string // those of the spans around the event
}

// NewSubject returns the fields of an event of a process. rank, command and name are those
// that a process.Follower returns.
func NewSubject(e *format.Event, process, rank int32, command, name string) Subject {
	s := Subject{Thread: e.TID, Process: process, Rank: rank, Op: e.Op, Result: e.Ret, Duration: e.Dur, Time: e.Start}
	if e.Span != nil {
		s.Span, s.Size = e.Span.Name(), e.Span.Bytes
	} else {
		s.Size = e.Size()
	}
	if command, _, _ = strings.Cut(command, " "); command != "" {
		s.Command = path.Base(command)
	}
	if strings.HasPrefix(name, "/") {
		s.Path = name
	}
	return s
}

// UsesSpan reports whether an expression has the field span, which only readers that were
// asked for spans can tell.
func UsesSpan(text string) bool {
	p := &parser{text: text}
	p.next()
	_, err := p.or()
	return err == nil && p.spans
}

// Filter reports whether it selects an event.
type Filter func(*Subject) bool

// Error is an error in an expression, with its position.
type Error struct {
	Text   string
	Offset int // in bytes, from 0
	Msg    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("filter %q: at byte %d: %s", e.Text, e.Offset, e.Msg)
}

// Parse compiles an expression such as
//
//	class == read && size >= 64KiB && path ~ "*.db"
//
// to a filter. The fields are thread, process, rank, command, op, class, path, span, size,
// result, duration and time; result can be compared with an errno such as
// ENOENT. The field span is the function of a library, such as H5Dwrite or hdf5:H5Dwrite:
// it compares with all calls of libraries around the event, and is equal if one of them
// is. Operators are == != < <= > >= and, for patterns of command and path,
// ~ and !~, where * stands for anything and ? for one character; && || ! and
// parentheses combine. Sizes take the units K, M, G (1000) and KiB, MiB, GiB,
// durations and times those of Go (2.5ms, 10s). Strings with other characters than letters,
// digits and ._/*?+-: stand in quotes. A comparison with a field that the event
// does not have is false, and so is its negation by an operator, but not by "!".
func Parse(text string) (Filter, error) {
	p := &parser{text: text}
	p.next()
	f, err := p.or()
	if err == nil && (p.token != "" || p.quoted || p.wrong != "") {
		err = p.fail("want && or || here, not " + strconv.Quote(p.token))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

type parser struct {
	text   string
	at     int // start of the current token
	end    int // end of the current token
	token  string
	quoted bool
	wrong  string // error text if there is no valid token here
	depth  int
	spans  bool // the field span occurs
}

// maxDepth bounds the nesting of parentheses and negations.
const maxDepth = 100

func (p *parser) fail(msg string) error {
	return &Error{Text: p.text, Offset: p.at, Msg: cmp.Or(p.wrong, msg)}
}

// operators, longer ones before their prefixes.
var operators = []string{"&&", "||", "==", "!=", "!~", "<=", ">=", "<", ">", "~", "!", "(", ")"}

func (p *parser) next() {
	p.at, p.token, p.quoted = p.end, "", false
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
	rest := p.text[p.at:]
	p.end = p.at
	if rest == "" {
		return
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			p.token, p.end = op, p.at+len(op)
			return
		}
	}
	if rest[0] == '"' {
		v, tail, err := format.Unquote(nil, []byte(rest))
		if err != nil {
			p.wrong = err.Error()
			return
		}
		p.token, p.quoted, p.end = string(v), true, len(p.text)-len(tail)
		return
	}
	n := strings.IndexFunc(rest, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/*?+-:", r))
	})
	if n < 0 {
		n = len(rest)
	}
	switch {
	case n > 0:
	case strings.IndexByte("=&|", rest[0]) >= 0: // half of an operator
		n = 1
	default:
		r, _ := utf8.DecodeRuneInString(rest)
		p.wrong = fmt.Sprintf("put %q into double quotes", r)
		return
	}
	p.token, p.end = rest[:n], p.at+n
}

func (p *parser) or() (Filter, error) {
	f, err := p.and()
	for err == nil && p.token == "||" && !p.quoted {
		var g Filter
		p.next()
		if g, err = p.and(); err == nil {
			left := f
			f = func(s *Subject) bool { return left(s) || g(s) }
		}
	}
	return f, err
}

func (p *parser) and() (Filter, error) {
	f, err := p.not()
	for err == nil && p.token == "&&" && !p.quoted {
		var g Filter
		p.next()
		if g, err = p.not(); err == nil {
			left := f
			f = func(s *Subject) bool { return left(s) && g(s) }
		}
	}
	return f, err
}

func (p *parser) not() (Filter, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("nested too deeply")
	}
	defer func() { p.depth-- }()
	switch {
	case p.quoted:
	case p.token == "!":
		p.next()
		f, err := p.not()
		if err != nil {
			return nil, err
		}
		return func(s *Subject) bool { return !f(s) }, nil
	case p.token == "(":
		p.next()
		f, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.token != ")" {
			return nil, p.fail("want ) here")
		}
		p.next()
		return f, nil
	}
	return p.comparison()
}

// field is a field of a comparison: a number or a text.
type field struct {
	number func(*Subject) (int64, bool)
	text   func(*Subject) string
	value  func(string) (int64, error) // of a number
	check  func(string) error          // of a text
	spans  bool                        // it is the field span
}

var fields = map[string]field{
	"thread":  {number: func(s *Subject) (int64, bool) { return int64(s.Thread), true }, value: parseInt},
	"process": {number: func(s *Subject) (int64, bool) { return int64(s.Process), true }, value: parseInt},
	"rank":    {number: func(s *Subject) (int64, bool) { return int64(s.Rank), s.Rank >= 0 }, value: parseInt},
	"size":    {number: func(s *Subject) (int64, bool) { return s.Size, s.Size >= 0 }, value: format.ParseSize},
	"result":  {number: func(s *Subject) (int64, bool) { return s.Result, s.Result != format.NoResult }, value: parseResult},
	"duration": {number: func(s *Subject) (int64, bool) { return s.Duration, s.Duration != format.Unknown },
		value: parseDuration},
	"time":    {number: func(s *Subject) (int64, bool) { return s.Time, true }, value: parseDuration},
	"command": {text: func(s *Subject) string { return s.Command }},
	"path":    {text: func(s *Subject) string { return s.Path }},
	"span":    {text: func(s *Subject) string { return s.Span }, spans: true},
	"op": {text: op, check: func(v string) error {
		if _, ok := format.Lookup([]byte(v)); !ok {
			return fmt.Errorf("no operation %q", v)
		}
		return nil
	}},
	"class": {text: class, check: func(v string) error {
		for c := range format.NumClasses {
			if c.String() == v {
				return nil
			}
		}
		return fmt.Errorf("no class %q", v)
	}},
}

func op(s *Subject) string {
	if !s.Op.Valid() {
		return ""
	}
	return s.Op.String()
}

func class(s *Subject) string {
	if !s.Op.Valid() {
		return ""
	}
	return s.Op.Info().Class.String()
}

func (p *parser) comparison() (Filter, error) {
	name := p.token
	f, ok := fields[name]
	if !ok || p.quoted {
		if name == "" {
			return nil, p.fail("expected a comparison")
		}
		return nil, p.fail("unknown field " + strconv.Quote(name) + "; the fields are thread, process, rank, command, op, class, path, span, size, result, duration and time")
	}
	p.next()
	op := p.token
	if p.quoted || !strings.Contains(" == != < <= > >= ~ !~ ", " "+op+" ") || op == "" {
		return nil, p.fail("expected == != < <= > >= ~ or !~")
	}
	if pattern := strings.HasSuffix(op, "~"); pattern && f.text == nil || !pattern && f.text != nil && op != "==" && op != "!=" {
		return nil, p.fail("operator " + op + " does not apply to " + name)
	}
	p.next()
	if p.token == "" && !p.quoted {
		return nil, p.fail("expected a value")
	}
	var cmp Filter
	var err error
	if p.spans = p.spans || f.spans; f.spans {
		cmp = compareSpans(op, p.token)
	} else if f.text != nil {
		cmp, err = f.compareText(op, p.token)
	} else {
		cmp, err = f.compareNumber(op, p.token)
	}
	if err != nil {
		return nil, p.fail(err.Error())
	}
	p.next()
	return cmp, nil
}

// compareSpans compares with the spans around an event, by their function or by
// LAYER:FUNCTION.
func compareSpans(op, value string) Filter {
	match := func(name string) bool { return name == value }
	if strings.HasSuffix(op, "~") {
		match = func(name string) bool { return glob.Match(value, name) }
	}
	either := func(name string) bool {
		_, function, _ := strings.Cut(name, ":")
		return match(function) || match(name)
	}
	want := op[0] != '!'
	return func(s *Subject) bool {
		if s.Span == "" && len(s.Spans) == 0 {
			return false
		}
		return (s.Span != "" && either(s.Span) || slices.ContainsFunc(s.Spans, either)) == want
	}
}

func (f field) compareText(op, value string) (Filter, error) {
	if f.check != nil && !strings.HasSuffix(op, "~") {
		if err := f.check(value); err != nil {
			return nil, err
		}
	}
	match := func(text string) bool { return glob.Match(value, text) }
	if !strings.HasSuffix(op, "~") {
		match = func(text string) bool { return text == value }
	}
	want := op[0] != '!'
	return func(s *Subject) bool {
		text := f.text(s)
		return text != "" && match(text) == want
	}, nil
}

func (f field) compareNumber(op, value string) (Filter, error) {
	v, err := f.value(value)
	if err != nil {
		return nil, err
	}
	test := map[string]func(a int64) bool{
		"==": func(a int64) bool { return a == v }, "!=": func(a int64) bool { return a != v },
		"<": func(a int64) bool { return a < v }, "<=": func(a int64) bool { return a <= v },
		">": func(a int64) bool { return a > v }, ">=": func(a int64) bool { return a >= v },
	}[op]
	return func(s *Subject) bool {
		a, ok := f.number(s)
		return ok && test(a)
	}, nil
}

func parseInt(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

func parseResult(s string) (int64, error) {
	if n, ok := format.ErrnoNumber([]byte(s)); ok {
		return int64(-n), nil
	}
	return parseInt(s)
}

func parseDuration(s string) (int64, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration (want for example 10s, 2.5ms or 300us)", s)
	}
	return int64(d), nil
}
