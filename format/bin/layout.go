package bin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

const (
	magic   = "\x89PIANOLA"
	version = 2

	headerSize = 44

	// rowsPerPart is how many rows a Writer puts into a part of a thread.
	// Larger parts save little (docs/internals/trace.md) and make a reader pause longer.
	rowsPerPart = 8192

	// maxRows is the most rows that a reader accepts in a part of a thread. It
	// bounds the memory of a reader.
	maxRows = 1 << 16

	maxWidth = 10
)

// Errors of Open and of the readers, which wrap them with the offset of the
// fault. For a file that ends too early the error is io.ErrUnexpectedEOF.
var (
	ErrMagic     = errors.New("not a compiled trace")
	ErrVersion   = errors.New("unknown version of the compiled trace")
	ErrPart      = errors.New("requires part")
	ErrChecksum  = errors.New("checksum mismatch")
	ErrTrailing  = errors.New("bytes after the end of the trace")
	ErrMalformed = errors.New("malformed trace")
	ErrLimit     = errors.New("needs more memory than the limit")
	ErrElsewhere = errors.New("in the file of another rank, which compile --ranks has written")
)

// IsTrace reports whether a file that starts with prefix is a compiled trace.
// Eight bytes are enough.
func IsTrace(prefix []byte) bool { return strings.HasPrefix(string(prefix), magic) }

// indexWidth is the number of words in a row of the index.
const indexWidth = 6

// The flags of a part.
const (
	flagRequired  = 1 // a reader that does not know the tag refuses the file
	flagElsewhere = 2 // of a thread: the bytes are in another file, and not in this one (WritePart)
)

// part is a row of the index.
type part struct {
	kind   kind
	flags  uint8
	named  bool    // in a Writer: the rows hold strings
	tag    [4]byte // of kinds[kind], if the kind is known
	thread int32   // 0 for what belongs to the whole trace
	crc    uint32  // CRC-32C of the compressed bytes
	offset int64   // in the file, or in the spool of a Writer
	length int64   // bytes, compressed
	count  int64   // rows, or bytes of a text
}

// row is the part as the index holds it. Offsets follow from the lengths.
func (p *part) row() [indexWidth]uint64 {
	tag := binary.LittleEndian.Uint32(p.tag[:])
	return [...]uint64{uint64(tag), uint64(p.flags), uint64(p.thread), uint64(p.length), uint64(p.count), uint64(p.crc)}
}

// parsePart parses a row of the index. The flags matter only to readers that do
// not know the tag.
func parsePart(r [indexWidth]uint64) (p part, ok bool) {
	p = part{flags: uint8(r[1]), thread: int32(r[2]), length: int64(r[3]), count: int64(r[4]), crc: uint32(r[5])}
	binary.LittleEndian.PutUint32(p.tag[:], uint32(r[0]))
	p.kind = kindOf(string(p.tag[:]))
	return p, p.row() == r && p.flags&^(flagRequired|flagElsewhere) == 0 && (p.thread > 0 || !p.elsewhere())
}

func (p *part) elsewhere() bool { return p.flags&flagElsewhere != 0 }

// size is how many bytes of the file the part takes.
func (p *part) size() int64 {
	if p.elsewhere() {
		return 0
	}
	return p.length
}

// String names the part in errors.
func (p *part) String() string {
	switch {
	case p.kind == kindIndex:
		return "index"
	case p.kind == kindUnknown:
		return fmt.Sprintf("part %q", p.tag)
	case p.thread > 0:
		return fmt.Sprintf("%s of thread %d", kinds[p.kind].name, p.thread)
	}
	return kinds[p.kind].name
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

// update returns the checksum of some bytes followed by b, given the checksum
// sum of the former.
func update(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }
