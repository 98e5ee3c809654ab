package compile

import (
	"math"
	"slices"
	"sort"
	"unsafe"

	"pianola/format"
)

// spansKept is how many spans of a file are kept. Older writes are merged into one span
// per thread.
const spansKept = 256

// written records which events wrote the bytes of a file.
type written struct {
	spans []span // the newest write of each byte, by offset; they don't overlap
	older []span // merged writes: at most one span per thread, with its newest write
}

// span is a write of the bytes from off to end.
type span struct {
	off, end int64
	serial   int64 // counts writes
	place    place
}

const spanBytes = int(unsafe.Sizeof(span{}))

// from returns the index of the first span that ends beyond an offset.
func (w *written) from(off int64) int {
	if n := len(w.spans); n == 0 || w.spans[n-1].end <= off {
		return n
	}
	return sort.Search(len(w.spans), func(i int) bool { return w.spans[i].end > off })
}

// span returns the event as the newest write of the bytes from off to end.
func (o *order) span(off, end int64) span {
	o.writes++
	return span{off, end, o.writes, o.here}
}

// put records a write. Overwritten spans are dropped.
func (w *written) put(s span) {
	w.add(s)
	if len(w.spans) > spansKept {
		w.thin()
	}
}

func (w *written) add(s span) {
	if s.end == math.MaxInt64 { // a truncation
		w.older = slices.DeleteFunc(w.older, func(o span) bool { return o.off >= s.off })
	}
	i := w.from(s.off)
	if i == len(w.spans) {
		w.spans = append(w.spans, s)
		return
	}
	j := i
	for j < len(w.spans) && w.spans[j].off < s.end {
		j++
	}
	var parts [3]span // the rest of the first one, the new one, the rest of the last one
	n := 0
	if i < j && w.spans[i].off < s.off {
		parts[n] = w.spans[i]
		parts[n].end = s.off
		n++
	}
	parts[n] = s
	n++
	if i < j && w.spans[j-1].end > s.end {
		parts[n] = w.spans[j-1]
		parts[n].off = s.end
		n++
	}
	if n == j-i {
		copy(w.spans[i:], parts[:n])
		return
	}
	w.spans = slices.Replace(w.spans, i, j, parts[:n]...)
}

// thin merges the older half of the spans. For each thread it keeps only the newest
// write, because it comes after the thread's other writes.
func (w *written) thin() {
	first, last := w.spans[0].serial, w.spans[0].serial
	for i := range w.spans {
		first, last = min(first, w.spans[i].serial), max(last, w.spans[i].serial)
	}
	w.spans = slices.DeleteFunc(w.spans, func(s span) bool {
		if s.serial > (first+last)/2 {
			return false
		}
		w.older = sum(w.older, s)
		return true
	})
}

// sum adds a span to a list with at most one span per thread.
func sum(list []span, s span) []span {
	for i := range list {
		if o := &list[i]; o.place.thread == s.place.thread {
			o.off, o.end = min(o.off, s.off), max(o.end, s.end)
			o.place.event = max(o.place.event, s.place.event)
			return list
		}
	}
	return append(list, s)
}

// bytes returns the memory that w takes.
func (w *written) bytes() int {
	return int(unsafe.Sizeof(*w)) + spanBytes*(cap(w.spans)+cap(w.older))
}

// read makes the event wait for the writes of a file that it reads from.
func (o *order) read(nd *node, off, end int64) {
	if o.idle() || nd.written == nil {
		return
	}
	o.afterWrites(nd.written, off, end, format.EdgeBytes)
}

// afterWrites makes the event wait for the newest writes of the bytes from off
// to end.
func (o *order) afterWrites(w *written, off, end int64, kind format.EdgeKind) {
	for i := w.from(off); i < len(w.spans) && w.spans[i].off < end; i++ {
		o.after(w.spans[i].place, kind)
	}
	for i := range w.older {
		if s := &w.older[i]; s.off < end && off < s.end {
			o.after(s.place, kind)
		}
	}
}

// wrote records that the event changes the bytes from off to end.
func (o *order) wrote(nd *node, off, end int64) {
	if o.idle() || off >= end {
		return
	}
	before := 0
	if nd.written == nil {
		nd.written = new(written)
	} else {
		before = nd.written.bytes()
	}
	nd.written.put(o.span(off, end))
	o.budget.take(forOrder, nd.written.bytes()-before)
}

// growthsKept is how many growths of a file are kept.
const growthsKept = 256

// growth is an event that made a file larger than its size before. Each growth
// follows the one before.
type growth struct {
	place  place
	before int64
}

// grew records that the event made a file larger.
func (o *order) grew(nd *node) {
	if len(nd.grown) == growthsKept {
		nd.sumGrowths()
	}
	nd.grown = grow(o.budget, forOrder, nd.grown, growth{o.here, nd.now})
}

// sumGrowths merges growths that enlarged the file by only a small part of its size,
// and keeps the newest of each group. The newest quarter stays unchanged.
func (nd *node) sumGrowths() {
	const recent = growthsKept * 3 / 4
	part := nd.now / (growthsKept / 4)
	kept := nd.grown[:1]
	for i, g := range nd.grown[1:recent] {
		if last := &kept[len(kept)-1]; nd.grown[i+2].before-last.before <= part {
			last.place = g.place
		} else {
			kept = append(kept, g)
		}
	}
	nd.grown = append(kept, nd.grown[recent:]...)
}

// cut forgets the growths beyond a size that the event sets.
func (nd *node) cut(size int64) {
	for n := len(nd.grown); n > 0 && nd.grown[n-1].before >= size; n-- {
		nd.grown = nd.grown[:n-1]
	}
}

// within makes the event, which reads or writes up to end, wait for the growth
// that made the file that large. Before that growth, a read would reach the end
// of the file too early, and a write would itself grow the file.
func (o *order) within(nd *node, end int64) {
	n := len(nd.grown)
	if n > 0 && nd.grown[n-1].before >= end {
		n = sort.Search(n, func(i int) bool { return nd.grown[i].before >= end })
	}
	if n > 0 {
		o.after(nd.grown[n-1].place, format.EdgeBytes)
	}
}
