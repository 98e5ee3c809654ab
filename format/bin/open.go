package bin

import (
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"pianola/format"
)

// DefaultLimit is a sensible limit for Open: 1 GiB.
const DefaultLimit = 1 << 30

// Trace is a compiled trace that has been verified. It implements
// format.Trace. What its methods return is read from the file as it is needed.
type Trace struct {
	loader  loader
	header  *format.Header
	strings []string
	threads []streams // thread n is threads[n-1]
}

// streams are the parts of a thread.
type streams struct {
	records, durations, waits []part
	events, waiting           int64 // rows
}

// Open verifies the trace in the first size bytes of r, all of which it reads
// once. It does not close r, which is read for as long as the trace is in use.
//
// The trace and its readers together allocate no more than limit bytes,
// whatever the file says, apart from a fixed amount below 1 MiB, and what the
// Go runtime adds. What would need more is ErrLimit. Records are
// checked as they are read.
func Open(r io.ReaderAt, size, limit int64) (*Trace, error) {
	f, err := readFixed(r, size)
	if err != nil {
		return nil, err
	}
	t := &Trace{loader: newLoader(r, limit)}
	parts, err := t.readIndex(f)
	if err != nil {
		return nil, at(&f.index, err)
	}
	if err := verify(r, parts); err != nil {
		return nil, err
	}
	if err := t.readHeader(&parts[kindHeader]); err != nil {
		return nil, at(&parts[kindHeader], err)
	}
	if err := t.readStrings(&parts[kindLengths], &parts[kindBytes]); err != nil {
		return nil, at(&parts[kindLengths], err)
	}
	if err := t.distribute(parts[kindRecords:]); err != nil {
		return nil, at(&f.index, err)
	}
	return t, nil
}

// at says where in the file an error is.
func at(p *part, err error) error {
	what := kinds[p.kind].name
	if p.thread > 0 {
		what = fmt.Sprintf("%s of thread %d", what, p.thread)
	}
	return fmt.Errorf("%s at byte %d: %w", what, p.offset, err)
}

func readFixed(r io.ReaderAt, size int64) (*fixed, error) {
	var b [headerSize]byte
	n := max(min(size, headerSize), 0)
	if err := readAt(r, b[:n], 0); err != nil {
		return nil, fmt.Errorf("byte 0: %w", err)
	}
	if m := min(n, int64(len(magic))); string(b[:m]) != magic[:m] {
		return nil, fmt.Errorf("byte 0: %w", ErrMagic)
	}
	if n < headerSize {
		return nil, fmt.Errorf("byte %d: header cut off: %w", size, io.ErrUnexpectedEOF)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return nil, fmt.Errorf("byte 8: %w: %d, not %d", ErrVersion, v, version)
	}
	if checksum(b[:40]) != binary.LittleEndian.Uint32(b[40:]) {
		return nil, fmt.Errorf("byte 40: header: %w", ErrChecksum)
	}
	f := &fixed{
		length: int64(binary.LittleEndian.Uint64(b[16:])),
		index: part{
			kind:   kindIndex,
			crc:    binary.LittleEndian.Uint32(b[12:]),
			offset: int64(binary.LittleEndian.Uint64(b[24:])),
			count:  int64(binary.LittleEndian.Uint64(b[32:])),
		},
	}
	f.index.length = f.length - f.index.offset
	switch {
	case f.length > size:
		return nil, fmt.Errorf("byte %d: %d bytes cut off: %w", size, f.length-size, io.ErrUnexpectedEOF)
	case f.index.offset < headerSize || f.index.offset >= f.length:
		return nil, fmt.Errorf("byte 24: %w: index at byte %d", ErrMalformed, f.index.offset)
	case f.index.count < int64(kindRecords) || f.index.count > f.index.offset-headerSize:
		return nil, fmt.Errorf("byte 32: %w: %d parts", ErrMalformed, f.index.count)
	case f.length < size:
		return nil, fmt.Errorf("byte %d: %w", f.length, ErrTrailing)
	}
	return f, nil
}

// readIndex returns the parts, which cover the file and stand in order.
func (t *Trace) readIndex(f *fixed) ([]part, error) {
	var frame frame
	if err := frame.load(&t.loader, &f.index); err != nil {
		return nil, err
	}
	defer frame.free(&t.loader)
	if err := t.loader.budget.take(f.index.count, int64(unsafe.Sizeof(part{}))); err != nil {
		return nil, err
	}
	parts := make([]part, f.index.count)
	offset, last := int64(headerSize), part{}
	for i := range parts {
		var r [5]uint64
		frame.decode(r[:])
		p := part{kind: kind(r[0]), thread: int32(r[1]), length: int64(r[2]), count: int64(r[3]), crc: uint32(r[4]), offset: offset}
		if p.row() != r || !p.plausible(i, &last) || p.length < 1 || p.length > f.index.offset-offset {
			return nil, fmt.Errorf("%w: part %d", ErrMalformed, i)
		}
		parts[i], last = p, p
		offset += p.length
	}
	if offset != f.index.offset {
		return nil, fmt.Errorf("%w: parts end at byte %d", ErrMalformed, offset)
	}
	return parts, nil
}

// plausible reports whether a part may stand at position i, after last, and
// has a possible count.
func (p *part) plausible(i int, last *part) bool {
	if i < int(kindRecords) {
		return p.kind == kind(i) && p.thread == 0 && p.count >= 0
	}
	return p.kind >= kindRecords && p.kind < numKinds && p.count >= 1 && p.count <= maxRows &&
		(p.thread > last.thread || p.thread == last.thread && p.kind >= last.kind) && p.thread > 0
}

// verify reads the parts and compares their checksums.
func verify(r io.ReaderAt, parts []part) error {
	buf := make([]byte, 1<<18)
	have := buf[:0]
	end := parts[len(parts)-1].offset + parts[len(parts)-1].length
	next := parts[0].offset // of the first byte that is not in have
	for i := range parts {
		p := &parts[i]
		sum := uint32(0)
		for left := p.length; left > 0; {
			if len(have) == 0 {
				have = buf[:min(int64(len(buf)), end-next)]
				if err := readAt(r, have, next); err != nil {
					return at(p, err)
				}
				next += int64(len(have))
			}
			n := min(left, int64(len(have)))
			sum = update(sum, have[:n])
			have, left = have[n:], left-n
		}
		if sum != p.crc {
			return at(p, ErrChecksum)
		}
	}
	return nil
}

// distribute gives each thread its parts.
func (t *Trace) distribute(parts []part) error {
	threads := len(t.header.Threads)
	if err := t.loader.budget.take(int64(threads), int64(unsafe.Sizeof(streams{}))); err != nil {
		return err
	}
	t.threads = make([]streams, threads)
	for len(parts) > 0 {
		number := parts[0].thread
		if int(number) > threads {
			return fmt.Errorf("%w: thread %d of %d", ErrMalformed, number, threads)
		}
		s := &t.threads[number-1]
		var durations int64
		s.records, s.events, parts = cut(parts, number, kindRecords)
		s.durations, durations, parts = cut(parts, number, kindDurations)
		s.waits, s.waiting, parts = cut(parts, number, kindWaits)
		if durations != s.events {
			return fmt.Errorf("%w: thread %d has %d durations of %d events", ErrMalformed, number, durations, s.events)
		}
		// Waits returns all of a thread at once, and a replay keeps them.
		if err := t.loader.budget.take(s.waiting, int64(unsafe.Sizeof(format.Wait{}))); err != nil {
			return err
		}
	}
	return nil
}

// cut takes the parts of a kind of a thread from the front.
func cut(parts []part, thread int32, k kind) (of []part, rows int64, rest []part) {
	n := 0
	for n < len(parts) && parts[n].thread == thread && parts[n].kind == k {
		rows += parts[n].count
		n++
	}
	return parts[:n], rows, parts[n:]
}
