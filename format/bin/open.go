package bin

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sort"
	"unsafe"

	"pianola/format"
)

// DefaultLimit is a sensible limit for Open: 1 GiB.
const DefaultLimit = 1 << 30

// Trace is a verified compiled trace. It implements format.Trace. Its methods
// read from the file on demand.
type Trace struct {
	loader  loader
	header  *format.Header
	lengths part // of the strings
	strings []string
	threads []threadParts           // thread n is threads[n-1]
	reads   func(thread int32) bool // of OpenPart; nil for all
	sum     uint32
}

// threadParts are the parts of a thread, by kind.
type threadParts struct {
	parts  []part
	events int64
}

// of returns the parts of a kind, in the order of their rows.
func (t *threadParts) of(k kind) []part {
	from := sort.Search(len(t.parts), func(i int) bool { return t.parts[i].kind >= k })
	n := sort.Search(len(t.parts)-from, func(i int) bool { return t.parts[from+i].kind > k })
	return t.parts[from:][:n]
}

// rows returns how many rows of a kind there are.
func (t *threadParts) rows(k kind) (n int64) {
	for _, p := range t.of(k) {
		n += p.count
	}
	return n
}

// waits returns how many elements Trace.Waits has at most.
func (t *threadParts) waits() int64 { return t.rows(kindEdges) + t.rows(kindHeld) }

// Open reads and verifies the trace in the first size bytes of r. It does not
// close r, which must stay open while the trace is in use.
//
// The trace and its readers together allocate at most limit bytes for any file,
// plus a fixed amount below 1 MiB and the overhead of the Go runtime. If they
// need more, the error is ErrLimit. Records are checked when they are read.
func Open(r io.ReaderAt, size, limit int64) (*Trace, error) { return OpenPart(r, size, limit, nil) }

// OpenPart is Open for a caller that reads some threads only: choose is called with the header,
// and returns a function that tells which. The parts of other threads are not verified, and
// Events leaves them out. If choose is nil, all threads are read.
func OpenPart(r io.ReaderAt, size, limit int64, choose func(*format.Header) func(thread int32) bool) (*Trace, error) {
	f, err := readFixed(r, size)
	if err != nil {
		return nil, err
	}
	t := &Trace{loader: newLoader(r, limit)}
	parts, err := t.readIndex(f)
	if err != nil {
		return nil, at(&f.index, err)
	}
	if err := refuse(parts); err != nil {
		return nil, err
	}
	whole := len(parts)
	if choose != nil {
		whole = slices.IndexFunc(parts, func(p part) bool { return p.thread > 0 })
		if whole < 0 {
			whole = len(parts)
		}
	}
	if err := verify(r, parts[:whole]); err != nil {
		return nil, err
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.kind == kindUnknown })
	rest, err := t.readWhole(parts, &f.index)
	if err != nil {
		return nil, err
	}
	if choose != nil {
		t.reads = choose(t.header)
		if err := verifyOf(r, rest, t.reads); err != nil {
			return nil, err
		}
	}
	if err := t.distribute(rest, t.reads); err != nil {
		return nil, at(&f.index, err)
	}
	return t, nil
}

// Sum returns a checksum of the whole trace, also if the file has some threads only. Two traces
// with different checksums differ.
func (t *Trace) Sum() uint32 { return t.sum }

// at adds a position in the file to an error.
func at(p *part, err error) error { return fmt.Errorf("%s at byte %d: %w", p, p.offset, err) }

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
	v := binary.LittleEndian.Uint32(b[8:])
	if v != version {
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
	case f.index.count < 1 || f.index.count > f.index.offset-headerSize:
		return nil, fmt.Errorf("byte 32: %w: %d parts", ErrMalformed, f.index.count)
	case f.length < size:
		return nil, fmt.Errorf("byte %d: %w", f.length, ErrTrailing)
	}
	return f, nil
}

// readIndex returns the parts, and checks that they cover the file and that the
// known kinds are in order.
func (t *Trace) readIndex(f *fixed) ([]part, error) {
	var frame frame
	if err := frame.load(&t.loader, &f.index, indexWidth); err != nil {
		return nil, err
	}
	defer frame.free(&t.loader)
	if err := t.loader.budget.take(f.index.count, int64(unsafe.Sizeof(part{}))); err != nil {
		return nil, err
	}
	parts := make([]part, f.index.count)
	offset, last := int64(headerSize), part{}
	for i := range parts {
		var r [indexWidth]uint64
		frame.decode(r[:])
		p, ok := parsePart(r)
		if !ok || p.length < 1 || p.size() > f.index.offset-offset || p.kind != kindUnknown && !p.plausible(&last) {
			return nil, fmt.Errorf("%w: part %d", ErrMalformed, i)
		}
		p.offset = offset
		offset += p.size()
		r[1] &^= flagElsewhere
		for _, word := range r {
			t.sum = update(t.sum, binary.LittleEndian.AppendUint64(nil, word))
		}
		if parts[i] = p; p.kind != kindUnknown {
			last = p
		}
	}
	if offset != f.index.offset {
		return nil, fmt.Errorf("%w: parts end at byte %d", ErrMalformed, offset)
	}
	return parts, nil
}

// plausible reports whether a part of a known kind may follow last, and has a
// possible count.
func (p *part) plausible(last *part) bool {
	if kinds[p.kind].scope == whole {
		return p.thread == 0 && p.count >= 0 && last.thread == 0 && (last.offset == 0 || p.kind > last.kind)
	}
	return p.thread > 0 && p.count >= 1 && p.count <= maxRows &&
		(p.thread > last.thread || p.thread == last.thread && p.kind >= last.kind)
}

// refuse returns an error for a required part of an unknown kind.
func refuse(parts []part) error {
	for i := range parts {
		if p := &parts[i]; p.kind == kindUnknown && p.flags&flagRequired != 0 {
			return fmt.Errorf("byte %d: %w %q, which this version does not know", p.offset, ErrPart, p.tag)
		}
	}
	return nil
}

// verifyOf verifies the parts of chosen threads.
func verifyOf(r io.ReaderAt, parts []part, chosen func(thread int32) bool) error {
	for len(parts) > 0 {
		number := parts[0].thread
		n := slices.IndexFunc(parts, func(p part) bool { return p.thread != number })
		if n < 0 {
			n = len(parts)
		}
		if chosen(number) {
			if err := verify(r, parts[:n]); err != nil {
				return err
			}
		}
		parts = parts[n:]
	}
	return nil
}

// verify reads the parts, in the order of the file, and compares their checksums.
func verify(r io.ReaderAt, parts []part) error {
	if len(parts) == 0 {
		return nil
	}
	if i := slices.IndexFunc(parts, func(p part) bool { return p.elsewhere() }); i >= 0 {
		return at(&parts[i], ErrElsewhere)
	}
	buf := make([]byte, 1<<18)
	have := buf[:0]
	end := parts[len(parts)-1].offset + parts[len(parts)-1].length
	next := parts[0].offset // of the first byte that is not in have
	for i := range parts {
		p := &parts[i]
		if p.offset != next-int64(len(have)) { // a gap
			have, next = nil, p.offset
		}
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

// readWhole reads the parts of the whole trace, and returns the other ones.
func (t *Trace) readWhole(parts []part, index *part) (rest []part, err error) {
	for k := range kinds {
		l := &kinds[k]
		switch {
		case l.scope != whole:
		case len(parts) > 0 && parts[0].kind == kind(k):
			if err := l.read(t, &parts[0]); err != nil {
				return nil, at(&parts[0], err)
			}
			parts = parts[1:]
		case l.required:
			return nil, at(index, fmt.Errorf("%w: no part %q", ErrMalformed, l.tag))
		}
	}
	return parts, nil
}

// distribute gives each thread its parts. reads tells which threads are read, nil for all.
func (t *Trace) distribute(parts []part, reads func(thread int32) bool) error {
	threads := len(t.header.Threads)
	if err := t.loader.budget.take(int64(threads), int64(unsafe.Sizeof(threadParts{}))); err != nil {
		return err
	}
	t.threads = make([]threadParts, threads)
	for len(parts) > 0 {
		number := parts[0].thread
		if int(number) > threads {
			return fmt.Errorf("%w: thread %d of %d", ErrMalformed, number, threads)
		}
		n := slices.IndexFunc(parts, func(p part) bool { return p.thread != number })
		if n < 0 {
			n = len(parts)
		}
		own := &t.threads[number-1]
		own.parts, parts = parts[:n], parts[n:]
		own.events = own.rows(kindRecords)
		for k := range kinds {
			l, rows := &kinds[k], own.rows(kind(k))
			if l.scope == eachEvent && rows != own.events && (rows > 0 || l.required) {
				return fmt.Errorf("%w: thread %d has %d %s of %d events", ErrMalformed, number, rows, l.name, own.events)
			}
		}
		if reads != nil && !reads(number) {
			continue
		}
		// Waits returns all waits of a thread at once, and a replay keeps them.
		if err := t.loader.budget.take(own.waits(), int64(unsafe.Sizeof(format.Wait{}))); err != nil {
			return err
		}
	}
	return nil
}
