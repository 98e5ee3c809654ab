package bin

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"pianola/format"
)

// Close writes the trace. It closes neither the output nor the spool, whose
// contents are invalid afterwards. The thread table of h must hold every thread
// that has events; without a table the trace has a single thread.
func (w *Writer) Close(h *format.Header) error {
	if w.err != nil {
		return w.err
	}
	err := w.close(h)
	w.err, w.ids, w.threads = errClosed, nil, nil
	return err
}

func (w *Writer) close(h *format.Header) error {
	threads := w.sorted()
	if err := check(threads, h); err != nil {
		return err
	}
	if err := w.settle(threads); err != nil {
		return err
	}
	parts, err := w.tables(withReplies(h, threads))
	if err != nil {
		return err
	}
	for _, t := range threads {
		for i := range t.streams {
			parts = append(parts, t.streams[i].parts...)
		}
	}
	return w.assemble(parts)
}

// withReplies returns a header with what is counted of each thread.
func withReplies(h *format.Header, threads []*thread) *format.Header {
	with := *h
	with.Threads = slices.Clone(h.Threads)
	for _, t := range threads {
		if int(t.number) <= len(with.Threads) {
			with.Threads[t.number-1].Replies = t.replies
		} else if t.replies > 0 { // the only one
			with.Threads = []format.Thread{{Process: 1, Replies: t.replies}}
		}
	}
	return &with
}

func (w *Writer) sorted() []*thread {
	var threads []*thread
	for _, n := range slices.Sorted(maps.Keys(w.threads)) {
		threads = append(threads, w.threads[n])
	}
	return threads
}

// check returns an error for events of threads that do not exist, and for waits
// for events that do not exist.
func check(threads []*thread, h *format.Header) error {
	if err := checkThreads(h); err != nil {
		return err
	}
	for _, t := range threads {
		if t.awaited >= t.events {
			return fmt.Errorf("an event waits for event %d of thread %d, whose length is %d", t.awaited, t.number, t.events)
		}
		if int(t.number) > max(len(h.Threads), 1) {
			return fmt.Errorf("thread %d has events but no row in the thread table", t.number)
		}
	}
	return nil
}

// settle finishes the last parts. It numbers strings by their first use, thread after
// thread, instead of by their arrival. It drops rows that hold only defaults.
func (w *Writer) settle(threads []*thread) error {
	if len(threads) > 1 { // a single thread has that order already
		w.order = newOrder(w.strings)
	}
	for _, t := range threads {
		for i := range t.streams {
			s, k := &t.streams[i], kindRecords+kind(i)
			if kinds[k].scope == eachEvent && !s.used {
				*s = stream{}
			}
			if w.order != nil {
				if err := w.renumber(s.parts); err != nil {
					return err
				}
			}
			if s.early+len(s.rows) > 0 {
				if err := w.finish(t, k); err != nil {
					return err
				}
			}
			s.rows = nil
		}
	}
	if w.order != nil {
		w.strings = w.order.strings
	}
	return nil
}

// renumber rewrites the parts in which the numbers of strings change.
func (w *Writer) renumber(parts []part) error {
	for i := range parts {
		p := &parts[i]
		if !p.named {
			continue
		}
		rows, err := w.load(p)
		if err != nil {
			return err
		}
		if !w.order.renumber(p.kind, rows) {
			continue
		}
		if *p, err = w.store(*p, rows); err != nil {
			return err
		}
	}
	return nil
}

// tables stores the parts of the whole trace.
func (w *Writer) tables(h *format.Header) (parts []part, err error) {
	for i := range kinds {
		k, l := kind(i), &kinds[i]
		if l.scope != whole {
			continue
		}
		c := l.write(w, h)
		if !l.required && len(c.rows)+len(c.text) == 0 {
			continue
		}
		p := k.part(0, int64(len(c.text)))
		if l.width > 0 {
			p.count = int64(len(c.rows) / l.width)
			p, err = w.store(p, c.rows)
		} else {
			p, err = w.put(p, w.encoder.text(nil, c.text))
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// assemble writes the file.
func (w *Writer) assemble(parts []part) error {
	f := fixed{index: part{kind: kindIndex, offset: headerSize, count: int64(len(parts))}}
	rows := make([]uint64, 0, len(parts)*indexWidth)
	for i := range parts {
		r := parts[i].row()
		rows = append(rows, r[:]...)
		f.index.offset += parts[i].size()
	}
	index := w.encoder.rows(w.packed[:0], rows, indexWidth)
	f.index.crc = checksum(index)
	f.length = f.index.offset + int64(len(index))

	out := bufio.NewWriterSize(w.out, 1<<16)
	out.Write(f.append(nil))      // a bufio.Writer keeps its error until Flush
	buffer := make([]byte, 1<<15) // a thread has several parts, and there can be very many threads
	for i := range parts {
		if _, err := io.CopyBuffer(struct{ io.Writer }{out}, io.NewSectionReader(w.spool, parts[i].offset, parts[i].size()), buffer); err != nil {
			return fmt.Errorf("copy from spool: %w", err)
		}
	}
	out.Write(index)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// WritePart writes the trace in the first size bytes of r without the events of threads that were
// not chosen. OpenPart reads the others, and knows the lengths of all.
func WritePart(w io.Writer, r io.ReaderAt, size, limit int64, chosen func(thread int32) bool) error {
	f, err := readFixed(r, size)
	if err != nil {
		return err
	}
	t := &Trace{loader: newLoader(r, limit)}
	parts, err := t.readIndex(f)
	if err != nil {
		return at(&f.index, err)
	}
	for i := range parts {
		if p := &parts[i]; p.thread > 0 && !chosen(p.thread) {
			p.flags |= flagElsewhere
		}
	}
	return NewWriter(w, struct {
		io.Writer
		io.ReaderAt
	}{io.Discard, r}).assemble(parts)
}

// order numbers strings by the order of queries.
type order struct {
	old     []string
	numbers []int64 // new number by old, -1 for none yet
	strings []string
}

func newOrder(old []string) *order {
	numbers := make([]int64, len(old))
	for i := range numbers {
		numbers[i] = -1
	}
	return &order{old: old, numbers: numbers, strings: make([]string, 0, len(old))}
}

// renumber changes the numbers of strings in rows of a kind, and reports
// whether any differ.
func (o *order) renumber(k kind, rows []uint64) (changed bool) {
	l := &kinds[k]
	if l.strings == nil {
		return false
	}
	for ; len(rows) > 0; rows = rows[l.width:] {
		for i, strings := 0, l.strings(rows); strings != 0; i, strings = i+1, strings>>1 {
			v := &rows[i]
			if strings&1 == 0 || int64(*v) < 0 {
				continue
			}
			n := &o.numbers[*v]
			if *n < 0 {
				*n = int64(len(o.strings))
				o.strings = append(o.strings, o.old[*v])
			}
			changed = changed || uint64(*n) != *v
			*v = uint64(*n)
		}
	}
	return changed
}

// named reports whether any of the rows of a kind has a string.
func named(k kind, rows []uint64) bool {
	l := &kinds[k]
	if l.strings == nil {
		return false
	}
	for ; len(rows) > 0; rows = rows[l.width:] {
		if l.strings(rows) != 0 {
			return true
		}
	}
	return false
}
