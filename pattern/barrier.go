package pattern

import (
	"cmp"
	"slices"

	"pianola/format"
)

// A barrier is one thread that keeps it and two pipes that a byte goes through
// for each thread that comes to it:
//
//	threads   write ─┐                         ┌─ read, read, read …
//	                 ├─> keeper: read, read … ─┤
//	threads   write ─┘           write n bytes ┘
//
// The keeper begins each of its reads before the write that it waits for, and
// so do the threads: from that compile takes the edges. A read of the keeper
// waits for one thread, so all must have written before it writes; and all wait
// for that write. The keeper is a thread of its own, because otherwise a late
// thread would not wait for the early ones.
//
// Calls on pipes are not in the trace, only their waiting is: a barrier leaves
// no compute behind but a nanosecond for each thread that comes at the same
// time as another.

// domain is the threads that a barrier is for.
type domain struct {
	keeper  *thread
	size    int // threads
	arrived []*thread
	line    int // of the newest barrier

	comeRead, comeWrite, goRead, goWrite int64 // descriptors
}

// newDomain makes a domain, and a keeper where that is none.
func (r *Reader) newDomain(keeper *thread, size int) *domain {
	d := &domain{size: size}
	for _, p := range [][2]*int64{{&d.comeRead, &d.comeWrite}, {&d.goRead, &d.goWrite}} {
		*p[0], *p[1] = r.main.process.take(), r.main.process.take()
		r.main.event(format.Event{Op: format.OpPipe2, Args: [format.MaxArgs]int64{*p[0] | *p[1]<<32}})
	}
	if d.keeper = keeper; keeper == nil {
		d.keeper = r.clone(r.main)
	}
	return d
}

func (a *barrier) run(t *thread, line int) error {
	d := t.reader.domains[0]
	if a.Of == "group" {
		d = t.reader.domains[1+a.group]
	}
	if d == nil {
		return nil // of one thread
	}
	d.line = line
	if d.arrived = append(d.arrived, t); len(d.arrived) < d.size {
		t.state = waiting
		return nil
	}
	if t.reader.waits += 2 * int64(d.size); t.reader.waits > maxWaits {
		return fault(line, "threads wait at barriers more than %d times; a barrier of n threads counts as 2n waits", maxWaits)
	}
	d.release()
	return nil
}

// release lets the threads go on.
func (d *domain) release() {
	k := d.keeper
	slices.SortStableFunc(d.arrived, func(a, b *thread) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(a.tid, b.tid))
	})
	for _, t := range d.arrived {
		t.clock = max(t.clock, k.clock+1)
		t.event(format.Event{Op: format.OpWrite, Ret: 1, Args: [format.MaxArgs]int64{d.comeWrite, t.buffer, 1}})
		k.event(format.Event{Op: format.OpRead, Ret: 1, Dur: t.clock - k.clock, Args: [format.MaxArgs]int64{d.comeRead, k.buffer, 1}})
		k.clock = t.clock
	}
	k.clock++
	n := int64(d.size)
	k.event(format.Event{Op: format.OpWrite, Ret: n, Args: [format.MaxArgs]int64{d.goWrite, k.buffer, n}})
	for _, t := range d.arrived {
		t.event(format.Event{Op: format.OpRead, Ret: 1, Dur: k.clock - t.clock, Args: [format.MaxArgs]int64{d.goRead, t.buffer, 1}})
		t.clock = k.clock
	}
	for _, t := range d.arrived {
		if t.state == waiting {
			t.state = playing
			t.reader.resumed = append(t.reader.resumed, t)
		}
	}
	d.arrived = d.arrived[:0]
}
