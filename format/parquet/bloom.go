package parquet

import (
	"encoding/binary"
	"math/bits"
)

// bloom is a split block Bloom filter of texts, with its header. A reader that looks
// for a text skips the row groups whose filter does not have it.
type bloom struct {
	bytes []byte
	head  thrift
}

const (
	blockBytes = 32 // of a block: eight words, in each of which a value sets one bit

	// bloomBits is how many bits a filter has for each value, so that it takes at most 1
	// of 200 other values for one of its own.
	bloomBits = 12

	maxBloom = 1 << 20 // bytes
)

// salts select the bits of a value in the words of its block.
var salts = [8]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// fill makes the filter of a dictionary of so many texts.
func (f *bloom) fill(dictionary []byte, texts int) {
	size := blockBytes
	for size < maxBloom && size*8 < texts*bloomBits {
		size *= 2
	}
	h := &f.head
	h.b = h.b[:0]
	h.begin()
	h.i32(1, size)
	for field := 2; field <= 4; field++ { // split blocks, xxHash, uncompressed: the only ones there are
		h.inside(field)
		h.inside(1)
		h.end()
		h.end()
	}
	h.end()
	f.bytes = append(f.bytes[:0], h.b...)
	f.bytes = append(f.bytes, make([]byte, size)...)
	blocks := f.bytes[len(h.b):]
	for rest := dictionary; len(rest) > 0; {
		end := 4 + binary.LittleEndian.Uint32(rest)
		hash := xxHash(rest[4:end])
		rest = rest[end:]
		at, _ := bits.Mul64(hash>>32<<32, uint64(size/blockBytes))
		block := blocks[at*blockBytes:]
		for k, salt := range salts {
			word := block[4*k:]
			binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|1<<(uint32(hash)*salt>>27))
		}
	}
}

// The primes of xxHash.
const (
	prime1 uint64 = 0x9e3779b185ebca87
	prime2 uint64 = 0xc2b2ae3d27d4eb4f
	prime3 uint64 = 0x165667b19e3779f9
	prime4 uint64 = 0x85ebca77c2b2ae63
	prime5 uint64 = 0x27d4eb2f165667c5
)

// xxHash returns the XXH64 hash with seed 0 (https://github.com/Cyan4973/xxHash).
func xxHash(b []byte) uint64 {
	h, n := prime5, uint64(len(b))
	if len(b) >= 32 {
		var seed uint64
		lanes := [4]uint64{seed + prime1 + prime2, seed + prime2, seed, seed - prime1}
		for ; len(b) >= 32; b = b[32:] {
			for k := range lanes {
				lanes[k] = xxRound(lanes[k], binary.LittleEndian.Uint64(b[8*k:]))
			}
		}
		h = bits.RotateLeft64(lanes[0], 1) + bits.RotateLeft64(lanes[1], 7) + bits.RotateLeft64(lanes[2], 12) + bits.RotateLeft64(lanes[3], 18)
		for _, lane := range lanes {
			h = (h^xxRound(0, lane))*prime1 + prime4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^xxRound(0, binary.LittleEndian.Uint64(b)), 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*prime1, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func xxRound(lane, v uint64) uint64 { return bits.RotateLeft64(lane+v*prime2, 31) * prime1 }
