package bin

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"

	"pianola/format"
)

const (
	magic   = "\x89PIANOLA"
	version = 1

	headerSize = 44

	// rowsPerPart is where a Writer ends a part of a thread. Larger parts
	// save little (docs/format.md) and make a reader pause longer.
	rowsPerPart = 8192

	// maxRows is the most rows that a reader takes in a part of a thread. It
	// bounds the memory of a reader.
	maxRows = 1 << 16

	maxWidth = 10
)

// Errors of Open and of the readers. They come wrapped, with the offset of the
// fault; a file that ends too early is io.ErrUnexpectedEOF.
var (
	ErrMagic     = errors.New("not a compiled trace")
	ErrVersion   = errors.New("unknown version of the compiled trace")
	ErrChecksum  = errors.New("checksum mismatch")
	ErrTrailing  = errors.New("bytes after the end of the trace")
	ErrMalformed = errors.New("malformed trace")
	ErrLimit     = errors.New("needs more memory than the limit")
)

// IsTrace reports whether a file that starts with prefix is a compiled trace.
// Eight bytes are enough.
func IsTrace(prefix []byte) bool { return strings.HasPrefix(string(prefix), magic) }

// kind says what a part holds.
type kind uint8

const (
	kindHeader kind = iota
	kindLengths
	kindBytes
	kindRecords
	kindDurations
	kindWaits
	numKinds

	// The index is no part of itself.
	kindIndex = numKinds
)

// kinds gives the name and the words in a row of each kind; a text has none.
var kinds = [...]struct {
	name  string
	width int
}{
	kindHeader:    {"header", 0},
	kindLengths:   {"lengths", 1},
	kindBytes:     {"bytes", 0},
	kindRecords:   {"records", 10},
	kindDurations: {"durations", 1},
	kindWaits:     {"waits", 3},
	kindIndex:     {"index", 5},
}

// part is a row of the index.
type part struct {
	kind   kind
	thread int32  // 0 for what belongs to the whole trace
	crc    uint32 // CRC-32C of the compressed bytes
	offset int64  // in the file, or in the spool of a Writer
	length int64  // bytes, compressed
	count  int64  // rows, or bytes of a text
}

// row is the part as the index holds it. Offsets follow from the lengths.
func (p *part) row() [5]uint64 {
	return [5]uint64{uint64(p.kind), uint64(p.thread), uint64(p.length), uint64(p.count), uint64(p.crc)}
}

// fixed is the header of a file.
type fixed struct {
	length int64 // of the file
	index  part
}

func (f *fixed) append(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, f.index.crc)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.length))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.index.offset))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.index.count))
	return binary.LittleEndian.AppendUint32(dst, checksum(dst))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// update returns the checksum of what sum is of, followed by b.
func update(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// The words of a record.
const (
	wordOp = iota
	wordCompute
	wordOff
	wordRet
	wordArgs
)

// stringArgs is Layout.Strings of each operation, close together: readers look
// there for every record.
var stringArgs = func() (m [format.NumOps]uint8) {
	for op := range m {
		m[op] = format.Op(op).Info().At.Strings
	}
	return m
}()
