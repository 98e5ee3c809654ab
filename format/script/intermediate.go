package script

import (
	"bytes"
	"fmt"
	"slices"

	"pianola/format"
)

// MetaTrailing is the key of the remark "THREAD SECONDS" for compute that no
// event follows.
const MetaTrailing = "trailing compute"

// threadClock is where a thread of an intermediate script has got to.
type threadClock struct {
	now     int64      // nanoseconds since the start of the recording
	compute int64      // of the next event
	off     format.Off // of that
}

// parseIntermediate parses a line of the Intermediate dialect.
func (r *Reader) parseIntermediate(e *format.Event) bool {
	c := &r.cursor
	c.spaces()
	e.TID = 1
	if isDigit(c.peek()) {
		e.TID = c.thread()
		c.spaces()
	}
	t := r.thread(e.TID)
	if t == nil {
		c.fail(fmt.Sprintf("thread %d is not in the thread table", e.TID))
		return false
	}
	name := c.name()
	if c.peek() == ':' {
		return r.parseSpan(e, name)
	}
	c.spaces()
	if len(name) == 0 || c.peek() != '(' {
		c.fail("expected an operation and its arguments in parentheses")
		return false
	}
	c.i++
	if string(name) == "compute" {
		r.parseCompute(t)
		return false
	}
	op, ok := format.Lookup(name)
	if !ok {
		c.fail("unknown operation " + string(name))
		return false
	}
	e.Op = op
	r.parseOperands(e)
	c.spaces()
	c.expect(')')
	r.parseResult(e)
	e.Compute, t.compute = t.compute, 0
	e.Held = min(e.Held, e.Compute) // a program may have shortened the compute
	e.Expired = min(e.Expired, e.Compute-e.Held)
	e.Off, t.off = t.off, format.Off{}
	t.now += e.Compute
	e.Start = t.now
	if e.Via = r.header.Ring(e.TID); e.Via == format.ViaCall { // requests overlap
		t.now += max(e.Dur, 0)
	}
	if t.now > maxNanos {
		c.fail("time out of range")
	}
	return true
}

// offProcessor parses the time off the processor, and its parts as far as they
// are told apart: "0.019 ready=0.001 timer=0.018".
func (c *cursor) offProcessor() format.Off {
	off := format.Off{Other: c.seconds()}
	fields := off.Parts()
	for c.spaces(); c.i < len(c.b) && c.peek() != ')'; c.spaces() {
		name := c.name()
		part := slices.Index(format.OffNames[:], string(name))
		if part < 0 || fields[part] == &off.Other {
			c.fail("unknown part of the time off the processor")
			break
		}
		c.expect('=')
		nanos := c.seconds()
		if nanos < 0 || nanos > off.Other || *fields[part] != 0 {
			c.fail("the parts do not add up to the time off the processor")
			break
		}
		*fields[part] = nanos
		off.Other -= nanos
	}
	return off
}

// thread returns the clock of a thread, nil if the header does not know it.
func (r *Reader) thread(n int32) *threadClock {
	known := max(1, len(r.header.Threads))
	if n < 1 || int(n) > known {
		return nil
	}
	for i := len(r.threads); i < known; i++ {
		var t threadClock
		if i < len(r.header.Threads) {
			t.now = r.header.Threads[i].Start
		}
		r.threads = append(r.threads, t)
	}
	return &r.threads[n-1]
}

func (r *Reader) parseCompute(t *threadClock) {
	c := &r.cursor
	c.spaces()
	nanos := c.seconds()
	c.spaces()
	var off format.Off // optional
	if c.peek() != ')' {
		off = c.offProcessor()
	}
	c.expect(')')
	c.spaces()
	if c.i < len(c.b) {
		c.fail("unexpected text after compute")
	}
	switch {
	case nanos < 0 || off.Total() < 0:
		c.fail("negative compute")
	case off.Total() > nanos:
		c.fail("the time off the processor is longer than the compute")
	}
	t.off = t.off.Plus(off)
	if t.compute += nanos; t.now+t.compute > maxNanos {
		c.fail("time out of range")
	}
}

// parseOperands parses the arguments, up to the closing parenthesis.
func (r *Reader) parseOperands(e *format.Event) {
	c, info := &r.cursor, e.Op.Info()
	for k := range info.Args {
		a := &info.Args[k]
		if a.Kind == format.Addr {
			continue
		}
		c.spaces()
		if c.peek() == ')' {
			if !canMiss(e, info, k) {
				c.missing(info, k)
				return
			}
			continue
		}
		r.parseArg(e, info, k)
		if c.msg != "" {
			c.msg = fmt.Sprintf("%s: %s: %s", info.Name, a.Name, c.msg)
			return
		}
	}
	if c.spaces(); c.i < len(c.b) && c.peek() != ')' {
		c.fail(info.Name + ": too many arguments")
	}
}

// parseEdges reads the notes of an event of a trace: addresses by the name of the
// argument, and edges. The others stay text.
func (r *Reader) parseEdges(e *format.Event, text []byte) {
	info, firstText, firstEdge := e.Op.Info(), len(r.arena), len(r.edges)
	for {
		key, value, rest := format.CutNote(text)
		if key == nil {
			break
		}
		word := bytes.TrimLeft(text[:len(text)-len(rest)], " ")
		text = rest
		v := cursor{b: value}
		if string(key) == "after" {
			r.edges = append(r.edges, v.edge())
		} else if at := slices.IndexFunc(traced, func(f *format.Field) bool { return f.Key == string(key) }); at >= 0 {
			n, ok := traced[at].Parse(value)
			if traced[at].Set(e, n); !ok {
				v.fail("malformed number")
			}
			v.i = len(value)
		} else if k := info.ArgIndex(string(key)); k >= 0 && info.Args[k].Kind == format.Addr {
			e.Args[k] = v.int()
		} else {
			r.keepNote(word, firstText)
			continue
		}
		if v.msg != "" || v.i < len(value) {
			r.cursor.fail(fmt.Sprintf("malformed note %s", word))
			return
		}
	}
	r.textNotes(e, firstText)
	if n := len(r.edges); n > firstEdge {
		e.Edges = r.edges[firstEdge:n:n]
	}
}

// edge parses THREAD:EVENT[+SECONDS][:KIND].
func (c *cursor) edge() format.Edge {
	e := format.Edge{Thread: c.thread()}
	c.expect(':')
	e.Event = c.int()
	if c.peek() == '+' {
		c.i++
		e.Delay = c.seconds()
	}
	if c.peek() == ':' {
		c.i++
		kind, ok := format.ParseEdgeKind(string(c.name()))
		if e.Kind = kind; !ok {
			c.fail("unknown kind of edge")
		}
	}
	if e.Thread < 0 || e.Event < 0 || e.Thread == 0 && e.Event != 0 {
		c.fail("no such event")
	}
	if e.Delay < 0 {
		c.fail("negative delay")
	}
	return e
}
