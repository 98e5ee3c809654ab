package format

import (
	"bytes"
	"strconv"
)

// Allocation is how a stretch of a file is allocated.
type Allocation uint8

// The allocations.
const (
	Data     Allocation = iota // written blocks
	Reserved                   // blocks that were reserved and not written yet, as by fallocate
	Hole                       // no blocks
	numAllocations
)

var allocations = [numAllocations]string{"data", "reserved", "hole"}

func (a Allocation) String() string { return allocations[a] }

// Stretch is a part of a file that begins at the end of the previous one.
type Stretch struct {
	Allocation Allocation
	Bytes      int64 // at least 1
}

// AddStretch appends a stretch. It merges it with the last one if both have the same
// allocation, and ignores a stretch of 0 bytes.
func AddStretch(blocks []Stretch, a Allocation, bytes int64) []Stretch {
	if n := len(blocks); n > 0 && blocks[n-1].Allocation == a {
		blocks[n-1].Bytes += bytes
		return blocks
	}
	if bytes == 0 {
		return blocks
	}
	return append(blocks, Stretch{a, bytes})
}

// MaxStretches bounds how many stretches a file has.
const MaxStretches = 4096

// AppendBlocks appends stretches as "data:8192,hole:4096".
func AppendBlocks(dst []byte, blocks []Stretch) []byte {
	for i, s := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, s.Allocation.String()...), ':')
		dst = strconv.AppendInt(dst, s.Bytes, 10)
	}
	return dst
}

// ParseBlocks parses the text of AppendBlocks. It reports false for any other text, and
// for stretches that end beyond MaxNote.
func ParseBlocks(text []byte) (blocks []Stretch, ok bool) {
	var end int64
	for more := true; more; {
		var word []byte
		word, text, more = bytes.Cut(text, []byte(","))
		name, digits, _ := bytes.Cut(word, []byte(":"))
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil || n <= 0 || n > MaxNote-end || digits[0] == '+' || len(blocks) == MaxStretches {
			return nil, false
		}
		end += n
		a := Allocation(0)
		for a < numAllocations && allocations[a] != string(name) {
			a++
		}
		if a == numAllocations {
			return nil, false
		}
		blocks = append(blocks, Stretch{a, n})
	}
	return blocks, true
}
