package bin

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const (
	modePlain = iota
	modeDelta
	numModes
)

// groupBytes is the smallest number of bytes of planes in a zstd frame. A long
// plane gets a frame of its own, and so an entropy table of its own, because
// the bytes of different planes have different distributions. Short planes
// share a frame to save overhead.
const groupBytes = 4096

// encoder compresses parts. It is not safe for concurrent use.
type encoder struct {
	zstd          *zstd.Encoder
	column, delta []uint64
	planes        []byte
}

func newEncoder() *encoder {
	// Planes are mostly noise of few symbols, without repetitions. They shrink
	// only by entropy coding of literals, which the default level does not try.
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true),
		zstd.WithAllLitEntropyCompression(true),
		zstd.WithZeroFrames(true),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("internal error: " + err.Error()) // options are constant
	}
	return &encoder{zstd: z}
}

// text appends a part of the text form.
func (e *encoder) text(dst, text []byte) []byte { return e.zstd.EncodeAll(text, dst) }

// rows appends a part of the form rows. The words of a row lie side by side.
func (e *encoder) rows(dst []byte, rows []uint64, width int) []byte {
	n := len(rows) / width
	e.planes, e.column = e.planes[:0], slices.Grow(e.column[:0], n)[:n]
	for w := range width {
		for i := range e.column {
			e.column[i] = rows[i*width+w]
		}
		dst = e.word(dst)
	}
	if len(rows) == 0 {
		return dst
	}
	group := (groupBytes + n - 1) / n * n
	for p := e.planes; len(p) > 0; {
		g := min(group, len(p))
		dst = e.zstd.EncodeAll(p[:g], dst)
		p = p[g:]
	}
	return dst
}

// word appends the description of e.column to dst, and its planes to e.planes.
func (e *encoder) word(dst []byte) []byte {
	mask := varying(e.column)
	if mask != 0 {
		start := e.difference()
		dmask := varying(e.delta)
		if dmask == 0 || e.cheaper(dmask, mask) {
			dst = append(dst, modeDelta)
			dst = e.split(dst, e.delta, dmask)
			return binary.AppendVarint(dst, int64(start))
		}
	}
	dst = append(dst, modePlain)
	return e.split(dst, e.column, mask)
}

// difference fills e.delta from e.column and returns the value before the
// first. That value is chosen so that the first difference equals the second,
// which makes an arithmetic progression a constant.
func (e *encoder) difference() (start uint64) {
	n := len(e.column)
	e.delta = slices.Grow(e.delta[:0], n)[:n]
	last := e.column[0]
	for i, v := range e.column {
		e.delta[i], last = zigzag(v-last), v
	}
	if len(e.delta) > 1 {
		e.delta[0] = e.delta[1]
	}
	return e.column[0] - unzigzag(e.delta[0])
}

// split appends the planes in mask to e.planes, and the mask and the values of
// the other bytes to dst.
func (e *encoder) split(dst []byte, column []uint64, mask uint8) []byte {
	dst = append(dst, mask)
	var base uint64
	if len(column) > 0 {
		base = column[0] &^ spread(mask)
	}
	for ; mask != 0; mask &= mask - 1 {
		shift := 8 * bits.TrailingZeros8(mask)
		n := len(e.planes)
		e.planes = slices.Grow(e.planes, len(column))[:n+len(column)]
		plane := e.planes[n:]
		for i, v := range column {
			plane[i] = byte(v >> (shift & 63))
		}
	}
	return binary.AppendVarint(dst, int64(base))
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// varying has a bit for each byte that is not the same in the whole column.
func varying(column []uint64) (mask uint8) {
	var diff uint64
	for _, v := range column {
		diff |= v ^ column[0]
	}
	for k := range 8 {
		if byte(diff>>(8*k)) != 0 {
			mask |= 1 << k
		}
	}
	return mask
}

// spread turns a bit for each byte into the bits of these bytes.
func spread(mask uint8) (word uint64) {
	for k := range 8 {
		if mask>>k&1 != 0 {
			word |= 0xff << (8 * k)
		}
	}
	return word
}

// cheaper reports whether the planes of e.delta cost less than those of e.column.
func (e *encoder) cheaper(delta, plain uint8) bool {
	limit := cost(e.column, plain, math.MaxUint64)
	return cost(e.delta, delta, limit) < limit
}

// cost estimates the compressed size of the planes in mask: their entropy, byte
// by byte, in 1/256 of a bit. It uses integers, because floating point differs
// between architectures and the same trace must have the same bytes. It is not
// exact above the limit.
func cost(column []uint64, mask uint8, limit uint64) (sum uint64) {
	whole := log2(uint64(len(column)))
	for ; mask != 0 && sum < limit; mask &= mask - 1 {
		shift := 8 * bits.TrailingZeros8(mask)
		// Separate counters avoid dependencies between updates for a byte that
		// repeats.
		var counts [4][256]uint32
		rest := column
		for ; len(rest) >= 4; rest = rest[4:] {
			counts[0][byte(rest[0]>>(shift&63))]++
			counts[1][byte(rest[1]>>(shift&63))]++
			counts[2][byte(rest[2]>>(shift&63))]++
			counts[3][byte(rest[3]>>(shift&63))]++
		}
		for _, v := range rest {
			counts[0][byte(v>>(shift&63))]++
		}
		for b := range 256 {
			n := uint64(counts[0][b]) + uint64(counts[1][b]) + uint64(counts[2][b]) + uint64(counts[3][b])
			if n > 0 {
				sum += n * (whole - log2(n))
			}
		}
	}
	return sum
}

// log2 is the binary logarithm in 1/256, interpolated linearly between powers
// of two.
func log2(n uint64) uint64 {
	k := bits.Len64(n) - 1
	return uint64(k)<<8 + (n<<8>>k)&0xff
}
