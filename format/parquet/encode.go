package parquet

import (
	"encoding/binary"
	"math/bits"
)

// appendHybrid appends values of so many bits as runs: of one value, where it is
// there 8 times in a row, else of packed groups of 8.
func appendHybrid[T uint8 | uint32](dst []byte, values []T, width int) []byte {
	const group = 8
	for len(values) > 0 {
		n := equal(values)
		if n >= group {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for v, k := uint64(values[0]), 0; k < width; k += 8 {
				dst = append(dst, byte(v>>k))
			}
			values = values[n:]
			continue
		}
		n = 0
		for n < len(values) && equal(values[n:min(n+group, len(values))]) < group {
			n = min(n+group, len(values))
		}
		groups := (n + group - 1) / group
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		p := packer{dst: dst, width: width}
		for _, v := range values[:n] {
			p.put(uint64(v))
		}
		for range groups*group - n {
			p.put(0)
		}
		dst = p.dst // groups of 8 end on a byte
		values = values[n:]
	}
	return dst
}

// equal returns how many of the first values are the same.
func equal[T comparable](values []T) int {
	for i := 1; i < len(values); i++ {
		if values[i] != values[0] {
			return i
		}
	}
	return len(values)
}

// packer appends numbers of width bits, the lowest bit first.
type packer struct {
	dst   []byte
	width int // at most 64
	held  uint64
	bits  int // in held, less than 8 between calls
}

func (p *packer) put(v uint64) {
	for left := p.width; left > 0; {
		n := min(left, 64-p.bits)
		p.held |= v << p.bits
		p.bits += n
		for p.bits >= 8 {
			p.dst = append(p.dst, byte(p.held))
			p.held >>= 8
			p.bits -= 8
		}
		left -= n
		v >>= n
	}
}

// A block of differences has so many, in parts of a width of their own.
const (
	blockValues = 128
	blockParts  = 4
	partValues  = blockValues / blockParts
)

// appendDelta appends values as differences from the value before
// (DELTA_BINARY_PACKED). Differences wrap around.
func appendDelta(dst []byte, values []int64) []byte {
	dst = binary.AppendUvarint(dst, blockValues)
	dst = binary.AppendUvarint(dst, blockParts)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, values[0])
	last := values[0]
	var block [blockValues]int64
	for rest := values[1:]; len(rest) > 0; {
		n := min(len(rest), blockValues)
		least := rest[0] - last
		for i, v := range rest[:n] {
			block[i] = v - last
			least = min(least, block[i])
			last = v
		}
		rest = rest[n:]
		dst = binary.AppendVarint(dst, least)
		at := len(dst)
		dst = append(dst, make([]byte, blockParts)...) // the widths
		for part := range blockParts {
			from, to := part*partValues, min((part+1)*partValues, n)
			if from >= to {
				break // a part without values has no bytes
			}
			var all uint64
			for _, d := range block[from:to] {
				all |= uint64(d - least)
			}
			width := bits.Len64(all)
			dst[at+part] = byte(width)
			p := packer{dst: dst, width: width}
			for _, d := range block[from:to] {
				p.put(uint64(d - least))
			}
			for range partValues - (to - from) {
				p.put(0)
			}
			dst = p.dst // 32 values end on a byte
		}
	}
	return dst
}
