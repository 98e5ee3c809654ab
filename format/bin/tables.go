package bin

import (
	"bytes"
	"fmt"
	"unsafe"

	"pianola/format"
)

// headerLineBytes is an upper bound of the memory of a header line besides its
// text. A File is the largest type of a line, and a growing slice takes up to
// 2.25 times its size.
const headerLineBytes = 256

// writeHeader writes what has no part of its own.
func writeHeader(_ *Writer, h *format.Header) content {
	head := *h
	head.Names = nil
	return content{text: head.Append(nil)}
}

// readHeader parses the header. A trace without a thread table has one thread.
func readHeader(t *Trace, p *part) error {
	text, err := t.loader.text(p)
	if err != nil {
		return err
	}
	defer t.loader.budget.give(p.count)
	h := &format.Header{}
	for n, rest := 1, text; len(rest) > 0; n++ {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended {
			return fmt.Errorf("%w: line %d does not end", ErrMalformed, n)
		}
		if err := t.loader.budget.take(int64(len(line))+headerLineBytes, 1); err != nil {
			return err
		}
		if err := h.ParseLine(line); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrMalformed, n, err)
		}
		rest = after
	}
	if len(h.Threads) == 0 {
		h.Threads = []format.Thread{{Process: 1}}
	}
	t.header = h
	return checkThreads(h)
}

// checkThreads returns an error for processes and parents that do not exist, and for a
// process with several ranks.
func checkThreads(h *format.Header) error {
	threads := int32(max(len(h.Threads), 1))
	ranks := make(map[int32]int32) // of each process of a parallel program
	for i, t := range h.Threads {
		number := int32(i + 1)
		if t.Process < 1 || t.Process > threads {
			return fmt.Errorf("%w: thread %d is of process %d", ErrMalformed, number, t.Process)
		}
		if t.Parent < 0 || t.Parent >= number { // threads are numbered as they are created, so there are no cycles
			return fmt.Errorf("%w: thread %d was created by thread %d", ErrMalformed, number, t.Parent)
		}
		if rank, seen := ranks[t.Process]; seen && rank != t.Rank() {
			return fmt.Errorf("%w: threads of process %d are of the ranks %d and %d", ErrMalformed, t.Process, rank, t.Rank())
		}
		ranks[t.Process] = t.Rank()
	}
	for _, d := range h.Descriptors {
		if d.Process < 1 || d.Process > threads {
			return fmt.Errorf("%w: descriptor %d is of process %d", ErrMalformed, d.FD, d.Process)
		}
	}
	return nil
}

// writeLengths and writeBytes write the table of strings in its final order.
func writeLengths(w *Writer, _ *format.Header) content {
	lengths := make([]uint64, 0, len(w.strings))
	for _, s := range w.strings {
		lengths = append(lengths, uint64(len(s)))
	}
	return content{rows: lengths}
}

func writeBytes(w *Writer, _ *format.Header) content {
	var all []byte
	for _, s := range w.strings {
		all = append(all, s...)
	}
	return content{text: all}
}

// readLengths leaves the lengths to readStrings.
func readLengths(t *Trace, p *part) error {
	t.lengths = *p
	return nil
}

// readStrings makes the table of strings, which share one piece of memory.
func readStrings(t *Trace, contents *part) error {
	lengths := &t.lengths
	var frame frame
	if err := frame.load(&t.loader, lengths, 1); err != nil {
		return err
	}
	defer frame.free(&t.loader)
	text, err := t.loader.text(contents)
	if err != nil {
		return err
	}
	defer t.loader.budget.give(contents.count)
	if err := t.loader.budget.take(contents.count, 1); err != nil {
		return err
	}
	all := string(text)
	if err := t.loader.budget.take(lengths.count, int64(unsafe.Sizeof(""))); err != nil {
		return err
	}
	t.strings = make([]string, lengths.count)
	for i := range t.strings {
		var n [1]uint64
		frame.decode(n[:])
		if n[0] > uint64(len(all)) {
			return fmt.Errorf("%w: string %d ends after the last byte", ErrMalformed, i)
		}
		t.strings[i], all = all[:n[0]], all[n[0]:]
	}
	if len(all) > 0 {
		return fmt.Errorf("%w: %d bytes belong to no string", ErrMalformed, len(all))
	}
	return nil
}
