package script

import (
	"bytes"

	"pianola/format"
)

// Stamp is the kind of time before a call.
type Stamp uint8

// The stamps. Relative is the one of record, too.
const (
	Relative  Stamp = iota // strace -r: seconds since the line before
	Untimed                // none
	Clock                  // strace -t: 14:02:03
	FineClock              // strace -tt: 14:02:03.123456
	Epoch                  // strace -ttt: 1712345678.123456
)

// layout describes the columns before a call. The zero layout is that of record.
type layout struct {
	bare  bool // no column of thread ids, at most "[pid 4711]" where strace writes to a terminal
	stamp Stamp
	nanos bool // relative times with nine decimals
}

const (
	day    = 24 * 3600 * 1e9 // nanoseconds
	maxTID = 1 << 22         // PID_MAX_LIMIT of Linux; a number above it is a time
)

// recognise returns the dialect and the layout of a script by an event's line:
// an optional thread, an optional time, the operation.
func recognise(line []byte) (Dialect, layout) {
	c := cursor{b: line}
	c.spaces()
	l, named := layout{bare: true}, false
	switch {
	case c.take("[pid "):
		named = true
		c.upTo(']')
		c.spaces()
	case isDigit(c.peek()):
		start := c.i
		for isDigit(c.peek()) {
			c.i++
		}
		number := c.b[start:c.i]
		if b := c.peek(); b != ' ' && b != '\t' || len(number) > 7 || atoi(number) > maxTID {
			c.i = start
			break
		}
		l.bare = false
		c.spaces()
	}
	start := c.i
	switch stamp, decimals, ok := c.stamp(); {
	case ok && (c.peek() == ' ' || c.peek() == '\t'):
		l.nanos = stamp == Relative && decimals == 9
		if l.stamp = stamp; l.bare && !named && stamp == Relative && decimals%3 != 0 {
			return Older, layout{} // it writes eight decimals, strace 0, 3, 6 or 9
		}
		return Recorded, l
	case !ok && c.i > start:
		return Unrecognised, layout{}
	}
	if c.i = start; c.peek() == '[' { // strace -n: the number of the call
		c.upTo(']')
		c.spaces()
	}
	if len(c.name()) == 0 {
		return Unrecognised, layout{}
	}
	if c.take("(") && (bytes.Contains(line, []byte(" = ")) || bytes.HasSuffix(line, unfinishedMark)) {
		l.stamp = Untimed
		return Recorded, l
	}
	if !named && c.peek() == ' ' {
		if c.spaces(); c.peek() == '(' {
			return Intermediate, layout{}
		}
	}
	return Unrecognised, layout{}
}

func atoi(digits []byte) (v int) {
	for _, b := range digits {
		v = v*10 + int(b-'0')
	}
	return v
}

// stamp skips a time, and says what kind of time it was and how many decimals
// it had.
func (c *cursor) stamp() (s Stamp, decimals int, ok bool) {
	start := c.i
	if c.peek() == '-' {
		c.i++
	}
	first := c.i
	for isDigit(c.peek()) {
		c.i++
	}
	if c.i == first {
		c.i = start
		return 0, 0, false
	}
	if c.peek() == ':' {
		s = Clock
		c.i = first
		c.timeOfDay()
	} else if c.i-first >= len("100000000") {
		s = Epoch
	}
	if c.peek() != '.' {
		return s, 0, c.msg == ""
	}
	if s == Clock {
		s = FineClock
	}
	c.i++
	for first = c.i; isDigit(c.peek()); c.i++ {
	}
	return s, c.i - first, c.msg == ""
}

// timeOfDay reads HH:MM:SS as nanoseconds.
func (c *cursor) timeOfDay() int64 {
	var v int64
	for i, limit := range [...]int64{24, 60, 61} { // of 61 seconds one can leap
		if i > 0 {
			c.expect(':')
		}
		n := c.int()
		if n < 0 || n >= limit {
			c.fail("malformed time of day")
			return 0
		}
		v = v*60 + n
	}
	return v * 1e9
}

// parseColumns parses the columns before a call, and sets the clock.
func (r *Reader) parseColumns(e *format.Event) {
	c := &r.cursor
	c.spaces()
	e.TID = 1
	if r.dialect == Recorded {
		e.TID = r.parseThread()
		c.spaces()
	}
	var now int64
	switch r.layout.stamp {
	case Untimed:
		r.skipNumber()
		return
	case Relative:
		r.clock += c.seconds()
	case Clock, FineClock:
		now = c.timeOfDay()
		if c.peek() == '.' {
			c.i--
			if b := c.b[c.i]; isDigit(b) { // the last digit of the seconds, read again with its decimals
				now += c.seconds() - int64(b-'0')*1e9
			}
		}
		now += r.midnights
		if r.timed && now < r.origin+r.clock-day/2 {
			r.midnights += day
			now += day
		}
	case Epoch:
		now = c.seconds()
	}
	if r.layout.stamp != Relative {
		if !r.timed {
			r.origin, r.timed = now, true
		}
		r.clock = now - r.origin
	}
	if r.clock < -maxNanos || r.clock > maxNanos {
		c.fail("time out of range")
	}
	if c.peek() != ' ' {
		c.fail("expected a space after the time")
		return
	}
	c.spaces()
	if !r.announced {
		if c.take("(+") { // strace -r -tt: both times
			c.upTo(')')
			c.spaces()
		}
		r.skipNumber()
	}
}

// skipNumber skips the number of the call, which strace -n shows.
func (r *Reader) skipNumber() {
	if c := &r.cursor; c.peek() == '[' {
		c.upTo(']')
		c.spaces()
	}
}

// Stamp returns what kind of time the source has, once the first Read has
// returned.
func (r *Reader) Stamp() Stamp { return r.layout.stamp }

// Origin returns the time of the first line, in nanoseconds since midnight or
// since 1970, once the first Read has returned. Sources without such times
// have none.
func (r *Reader) Origin() (nanos int64, ok bool) { return r.origin, r.timed }

// Own reports whether the source is Pianola's own rather than strace's, once
// the first Read has returned: a version line says so, or its times are relative
// and have nine decimals.
func (r *Reader) Own() bool { return r.announced || r.layout.nanos && !r.layout.bare }

// annotation skips what strace -y says about a descriptor: 3</tmp/x>,
// 0</dev/null<char 1:3>>, 4<TCP:[1.2.3.4:5->6.7.8.9:10]>, 5</tmp/y>(deleted).
func (c *cursor) annotation() {
	if c.peek() != '<' {
		return
	}
	for depth := 0; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case '<':
			depth++
		case '>':
			if c.b[c.i-1] == '-' {
				continue // of a connection; strace escapes the one of a path
			}
			if depth--; depth == 0 {
				c.i++
				c.take("(deleted)")
				return
			}
		}
	}
	c.fail("expected '>'")
}
