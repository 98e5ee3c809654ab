// Package check decides whether the runs of one side keep to bounds, which can be
// relative to the runs of another side. CI jobs use it to fail when a program or its
// storage becomes slower.
//
//	"sync.p99 > +10%" → Parse → Check → Evaluate → Outcome → Lines, WriteJUnit, JSON
//
// With enough runs, a check fails only if the difference is more than noise. Calls and
// bytes that are the same in all runs of the other side have no noise, and their checks
// are exact. Checks and outcomes are read-only once returned, and may be used concurrently.
package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Max is the maximum number of checks that are evaluated together: see Evaluate.
const Max = 50

// Check is a metric with a bound. It fails if the metric is beyond the bound.
type Check struct {
	Metric
	Above bool // it fails above the bound, else below
	Of    Kind
	Bound float64 // of a Share, 0.1 is +10 % and -0.05 is -5 %; else in the base unit of the metric

	text string // of the bound
}

// Kind is what a bound bounds.
type Kind uint8

const (
	Value      Kind = iota // of the checked side alone
	Share                  // the change from the other side's value, as a fraction of it
	Difference             // the same, as a value
)

// String returns the check as Parse reads it.
func (c *Check) String() string {
	sign := "<"
	if c.Above {
		sign = ">"
	}
	return c.Name + " " + sign + " " + c.text
}

// Error is an error in the text of a check, with its position.
type Error struct {
	Text   string
	Offset int // in bytes, from 0
	Msg    string
	Hint   string // what to do about it

	Word  string   // that is unknown, "" for other errors
	Names []string // that are known in its place
}

func (e *Error) Error() string {
	return fmt.Sprintf("check %q: at byte %d: %s", e.Text, e.Offset, e.Msg)
}

// Parse parses a check, METRIC > BOUND or METRIC < BOUND:
//
//	sync.p99 > +10%
//	read.bytes_per_second < -5%
//	fsync.calls > +0
//	run_time > 90s
//
// METRIC is run_time, or a class of calls or an operation with one of seconds, calls,
// bytes, bytes_per_second, p50, p90, p99, p999 and max, or requests with one of rate, count
// and the same quantiles, or one of calls, bytes and bytes_per_second of all I/O. A bound with a sign is a change from the other side, in
// per cent or as a value; one without a sign is a value. Values have a unit unless they
// are 0, a number of calls or requests, or a rate of requests. Times can only become worse by growing, and rates by
// shrinking: a check that fails when they become better is an error, which is always an
// *Error.
func Parse(text string) (*Check, error) {
	p := &parser{text: text}
	c, err := p.check()
	if err != nil {
		return nil, err
	}
	return c, nil
}

type parser struct {
	text string
	at   int
}

func (p *parser) fail(at int, hint, form string, args ...any) *Error {
	return &Error{Text: p.text, Offset: at, Msg: fmt.Sprintf(form, args...), Hint: hint}
}

// space skips blanks.
func (p *parser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// word reads the longest word of bytes that in accepts. It returns the word and its
// position.
func (p *parser) word(in func(c byte) bool) (word string, at int) {
	at = p.at
	for p.at < len(p.text) && in(p.text[p.at]) {
		p.at++
	}
	return p.text[at:p.at], at
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *parser) check() (*Check, *Error) {
	p.space()
	c := &Check{}
	if err := p.metric(c); err != nil {
		return nil, err
	}
	p.space()
	at := p.at
	switch {
	case strings.HasPrefix(p.text[at:], ">="), strings.HasPrefix(p.text[at:], "<="):
		return nil, p.fail(at, "", "want > or <, not %s", p.text[at:at+2])
	case strings.HasPrefix(p.text[at:], ">"):
		c.Above = true
	case strings.HasPrefix(p.text[at:], "<"):
	default:
		return nil, p.fail(at, "for example "+c.Name+" > +10%", "expected > or < after %s", c.Name)
	}
	p.at++
	switch {
	case c.Above && c.worse == smaller:
		return nil, p.fail(at, "a check states the condition that fails: "+c.Name+" < -10%", "a check of %s needs <, because smaller is worse", c.Name)
	case !c.Above && c.worse == larger:
		return nil, p.fail(at, "a check states the condition that fails: "+c.Name+" > +10%", "a check of %s needs >, because larger is worse", c.Name)
	}
	p.space()
	begin := p.at
	if err := p.bound(c); err != nil {
		return nil, err
	}
	c.text = p.text[begin:p.at]
	p.space()
	if p.at < len(p.text) {
		return nil, p.fail(p.at, "", "unexpected %q after the bound", p.text[p.at:])
	}
	return c, nil
}

// metric parses the metric.
func (p *parser) metric(c *Check) *Error {
	name := func(b byte) bool { return letter(b) || digit(b) }
	subject, at := p.word(name)
	if subject == runTime {
		c.Metric = Metric{runTime, &durations, larger, elapsed, seconds}
		return nil
	}
	if i := slices.Index(names(figures), subject); i >= 0 && figures[i].whole {
		f := &figures[i]
		c.Metric = Metric{f.name, f.unit, f.worse, elapsed, f.value}
		return nil
	}
	measure, figures := measureOf(subject)
	if measure == nil {
		err := p.fail(at, "classes are read, write, sync, metadata, …; requests are those of clients; operations are as in pianola profile", "no class or operation %q", subject)
		if subject == "" {
			err.Msg = "expected a class, an operation, " + requests + ", " + strings.Join(wholeNames(), ", ") + " or " + runTime
		}
		err.Word, err.Names = subject, append(append(subjects(), runTime), wholeNames()...)
		return err
	}
	if p.at == len(p.text) || p.text[p.at] != '.' {
		return p.fail(p.at, "figures are "+strings.Join(names(figures), ", "), "expected a figure after %s, such as %s.p99", subject, subject)
	}
	p.at++
	word, at := p.word(name)
	i := slices.Index(names(figures), word)
	if i < 0 {
		err := p.fail(at, "figures are "+strings.Join(names(figures), ", "), "no figure %q", word)
		err.Word, err.Names = word, names(figures)
		return err
	}
	f := &figures[i]
	c.Metric = Metric{subject + "." + f.name, f.unit, f.worse, measure, f.value}
	return nil
}

// The bounds of bounds.
const (
	maxPercent  = 1e6
	maxAbsolute = 1e18
)

// bound parses the bound.
func (p *parser) bound(c *Check) *Error {
	begin := p.at
	sign, _ := p.word(func(b byte) bool { return b == '+' || b == '-' })
	number, at := p.word(func(b byte) bool { return digit(b) || b == '.' })
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || len(sign) > 1 {
		return p.fail(begin, "for example +10% or "+c.unit.example, "expected a bound")
	}
	if p.at < len(p.text) && p.text[p.at] == '%' {
		p.at++
		return p.relative(c, begin, sign, number, v)
	}
	name, unitAt := p.word(func(b byte) bool { return letter(b) || b == '/' || b >= 0x80 })
	size := 1.0 // 0 needs no unit
	if i := slices.IndexFunc(c.unit.bounds, func(s symbol) bool { return s.name == name }); i >= 0 {
		size = c.unit.bounds[i].size
	} else if name != "" || v != 0 {
		return p.fail(unitAt, "units of "+c.Name+" are "+symbols(c.unit), "no unit %q of %s", name, c.Name)
	}
	if v*size > maxAbsolute {
		return p.fail(at, "", "%s is too large", number+name)
	}
	c.Bound = v * size
	if sign == "" {
		return nil
	}
	c.Of = Difference
	return p.signed(c, begin, sign)
}

// signed checks the sign of a change, and sets that of the bound.
func (p *parser) signed(c *Check, begin int, sign string) *Error {
	const hint = "a check fails when the metric becomes larger (> +5%) or smaller (< -5%)"
	switch {
	case c.Above && sign == "-":
		return p.fail(begin, hint, "> needs a change with +, not -")
	case !c.Above && sign == "+":
		return p.fail(begin, hint, "< needs a change with -, not +")
	case !c.Above:
		c.Bound = 0 - c.Bound // not -0
	}
	return nil
}

func (p *parser) relative(c *Check, begin int, sign, number string, v float64) *Error {
	if sign == "" {
		want := "-"
		if c.Above {
			want = "+"
		}
		return p.fail(begin, "write "+want+number+"%", "a change needs a sign")
	}
	c.Of, c.Bound = Share, v/100
	if err := p.signed(c, begin, sign); err != nil {
		return err
	}
	if v > maxPercent || !c.Above && v >= 100 {
		return p.fail(begin, "", "a metric cannot change by %s%s%%", sign, number)
	}
	return nil
}

// symbols lists the units of bounds.
func symbols(u *unit) string {
	var names []string
	for _, s := range u.bounds {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return "none, such as " + u.example
	}
	return strings.Join(names, ", ")
}
