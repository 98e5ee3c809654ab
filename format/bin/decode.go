package bin

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// slack lets the decompressor write a few bytes too far, which is faster.
const slack = 16

// budget is the memory that a trace and its readers may still allocate.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take claims memory for count elements of size bytes.
func (b *budget) take(count, size int64) error {
	if count >= 0 && count <= b.limit/size {
		bytes := count * size
		if b.used.Add(bytes) <= b.limit {
			return nil
		}
		b.used.Add(-bytes)
	}
	return fmt.Errorf("%w of %d bytes", ErrLimit, b.limit)
}

// give returns bytes that take claimed.
func (b *budget) give(bytes int64) { b.used.Add(-bytes) }

// loader reads parts of a file. It may be used concurrently.
type loader struct {
	in     io.ReaderAt
	zstd   *zstd.Decoder
	budget *budget
}

func newLoader(in io.ReaderAt, limit int64) loader {
	z, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(runtime.NumCPU()),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(uint64(max(limit, 1))))
	if err != nil {
		panic("internal error: " + err.Error()) // options are constant
	}
	return loader{in: in, zstd: z, budget: &budget{limit: limit}}
}

// grow returns a buffer of n bytes: buf if it is large enough, else a new one.
// Then it claims the memory of the new one and gives back that of buf.
func (l *loader) grow(buf []byte, n int64) ([]byte, error) {
	if n <= int64(cap(buf)) {
		return buf[:n], nil
	}
	if err := l.budget.take(n, 1); err != nil {
		return buf, err
	}
	l.budget.give(int64(cap(buf)))
	return make([]byte, n), nil
}

// read reads the compressed bytes of a part into buf, which it grows.
func (l *loader) read(p *part, buf []byte) ([]byte, error) {
	if p.elsewhere() {
		return buf, ErrElsewhere
	}
	buf, err := l.grow(buf, p.length)
	if err != nil {
		return buf, err
	}
	if err := readAt(l.in, buf, p.offset); err != nil {
		return buf, err
	}
	if checksum(buf) != p.crc {
		return buf, ErrChecksum
	}
	return buf, nil
}

func readAt(in io.ReaderAt, buf []byte, offset int64) error {
	n, err := in.ReadAt(buf, offset)
	if n == len(buf) {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// decompress fills dst, which has room for slack bytes more. It is an error if
// src does not fill it exactly.
func (l *loader) decompress(dst, src []byte) error {
	out, err := l.zstd.DecodeAll(src, dst[:0])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(out) != len(dst) {
		return fmt.Errorf("%w: %d bytes instead of %d", ErrMalformed, len(out), len(dst))
	}
	return nil
}

// text returns the contents of a part of the text form; the caller gives the
// memory back.
func (l *loader) text(p *part) ([]byte, error) {
	packed, err := l.read(p, nil)
	if err != nil {
		return nil, err
	}
	defer l.budget.give(int64(cap(packed)))
	if err := l.budget.take(p.count, 1); err != nil {
		return nil, err
	}
	text := make([]byte, p.count, p.count+slack)
	return text, l.decompress(text, packed)
}

// word says how one word of a row is stored.
type word struct {
	delta bool
	mask  uint8  // bytes that vary
	plane int    // index of its first plane
	base  uint64 // bytes that do not vary
	sum   uint64 // delta: the value of the row before the next
}

// frame is a part of the form rows, decompressed but not yet decoded. Its
// rows are decoded from the first to the last.
type frame struct {
	width  int
	rows   int
	next   int // first row that is not decoded
	words  [maxWidth]word
	packed []byte
	planes []byte // with slack
}

// load reads a part whose rows have width words. The buffers of f are reused.
func (f *frame) load(l *loader, p *part, width int) (err error) {
	f.rows, f.next, f.width = 0, 0, width
	if f.packed, err = l.read(p, f.packed); err != nil {
		return err
	}
	rest, planes, err := f.describe(f.packed)
	if err != nil {
		return err
	}
	// Without planes, all rows are equal or an arithmetic progression. They
	// need no memory, so the count can be large.
	size := int64(0)
	if planes > 0 {
		if p.count > l.budget.limit/int64(planes) {
			return fmt.Errorf("%w of %d bytes", ErrLimit, l.budget.limit)
		}
		size = p.count * int64(planes)
	}
	if f.planes, err = l.grow(f.planes, size+slack); err != nil {
		return err
	}
	f.planes = f.planes[:size]
	if size > 0 {
		if err := l.decompress(f.planes[:size:size+slack], rest); err != nil {
			return err
		}
	} else if len(rest) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrMalformed, len(rest))
	}
	f.rows = int(p.count)
	return nil
}

// repeat makes a frame without a part, whose rows hold the same value in all
// words.
func (f *frame) repeat(value uint64, rows int64, width int) {
	f.rows, f.next, f.width = int(rows), 0, width
	for i := range width {
		f.words[i] = word{base: value}
	}
}

// describe parses the words' descriptions and returns what follows them and
// the number of planes.
func (f *frame) describe(b []byte) (rest []byte, planes int, err error) {
	for i := range f.width {
		if len(b) < 2 || b[0] >= numModes {
			return nil, 0, fmt.Errorf("%w: word %d", ErrMalformed, i)
		}
		w := word{delta: b[0] == modeDelta, mask: b[1], plane: planes}
		planes += bits.OnesCount8(w.mask)
		base, n := binary.Varint(b[2:])
		start, m := int64(0), 0
		if w.delta && n > 0 {
			start, m = binary.Varint(b[2+n:])
		}
		if n <= 0 || w.delta && m <= 0 {
			return nil, 0, fmt.Errorf("%w: word %d", ErrMalformed, i)
		}
		w.base, w.sum = uint64(base), uint64(start)
		f.words[i] = w
		b = b[2+n+m:]
	}
	return b, planes, nil
}

// constant returns the value of a word if it is the same in all rows.
func (f *frame) constant(w int) (uint64, bool) {
	d := &f.words[w]
	return d.base, d.mask == 0 && !d.delta
}

// left returns how many rows are yet to be decoded.
func (f *frame) left() int { return f.rows - f.next }

// column decodes a word of the next len(dst) rows. It is called once for each
// word; then f.next is advanced.
func (f *frame) column(w int, dst []uint64) {
	d := &f.words[w]
	for i := range dst {
		dst[i] = d.base
	}
	at := d.plane*f.rows + f.next
	for mask := d.mask; mask != 0; mask &= mask - 1 {
		shift := 8 * bits.TrailingZeros8(mask)
		for i, b := range f.planes[at:][:len(dst)] {
			dst[i] |= uint64(b) << (shift & 63)
		}
		at += f.rows
	}
	if d.delta {
		sum := d.sum
		for i, v := range dst {
			sum += unzigzag(v)
			dst[i] = sum
		}
		d.sum = sum
	}
}

// decode fills dst with the next len(dst)/f.width rows, word by word.
func (f *frame) decode(dst []uint64) {
	if f.width == 1 {
		f.column(0, dst)
		f.next += len(dst)
		return
	}
	var column [256]uint64
	for len(dst) > 0 {
		n := min(len(dst)/f.width, len(column))
		for w := range f.width {
			f.column(w, column[:n])
			for i, v := range column[:n] {
				dst[i*f.width+w] = v
			}
		}
		f.next += n
		dst = dst[n*f.width:]
	}
}

// free gives the buffers back.
func (f *frame) free(l *loader) {
	l.budget.give(int64(cap(f.packed)) + int64(cap(f.planes)))
	*f = frame{}
}
