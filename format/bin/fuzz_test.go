package bin

import (
	"encoding/binary"
	"testing"

	"pianola/format"
)

// mended corrects the checksums of a file as far as they can be found, so that
// a fuzzer gets past them.
func mended(file []byte) []byte {
	if len(file) < headerSize {
		return file
	}
	offset := binary.LittleEndian.Uint64(file[24:])
	if offset <= uint64(len(file)) {
		binary.LittleEndian.PutUint32(file[12:], checksum(file[offset:]))
	}
	binary.LittleEndian.PutUint64(file[16:], uint64(len(file)))
	binary.LittleEndian.PutUint32(file[40:], checksum(file[:40]))
	return file
}

// FuzzOpen opens and reads whatever comes, as it is and with checksums that are
// right.
func FuzzOpen(f *testing.F) {
	f.Add(small(f))
	f.Add(craft(append(pieces(f, small(f)), strange("xyzw", 0, 1), strange("xyzw", flagRequired, 2))...))
	f.Add(compiled(f, &format.Header{}, nil))
	f.Add(compiled(f, &format.Header{}, mixed(20)))
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = tasted(file, 16<<20, 10_000)
		_ = tasted(mended(file), 16<<20, 10_000)
	})
}

// FuzzParts makes a file with valid checksums from any bytes. It splits the input into
// parts by the lengths in front of them.
func FuzzParts(f *testing.F) {
	seed := func(pieces ...piece) {
		var b []byte
		for _, p := range pieces {
			b = append(b, byte(p.kind), byte(p.thread), byte(p.count), byte(len(p.packed)))
			b = append(b, p.packed...)
		}
		f.Add(b)
	}
	head := text(kindHeader, "# thread: 1 process=1 parent=0 start=0.0\n# thread: 2 process=1 parent=1 start=0.0\n")
	names, contents := table(kindLengths, 0, 4, 0, 2), text(kindBytes, "pathab")
	seed(head, names, contents)
	seed(head, names, contents, text(kindNames, ".\x00/\x00path\x00/x\x00path/b\x00y\x00"), table(kindRecords, 1, make([]uint64, maxWidth)...))
	seed(head, names, contents,
		table(kindRecords, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 20, 5, 30, 40, 50, 60, 70, 0, 0),
		table(kindDurations, 1, 1, 2), table(kindEdges, 1, 1, 2, 0, 0, 0),
		table(kindRecords, 2, uint64(format.OpRename), 7, 0, 0, 0, 2, 0, 0, 0, 0), table(kindDurations, 2, 9))
	seed(head, names, contents,
		table(kindRecords, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 20, 5, 30, 40, 50, 60, 70, 0, 0),
		table(kindEdges, 1, 0, 0, uint64(format.EdgeReply), 0, 9, 1, 1, uint64(format.EdgeMessage), 0, 7, 1, 2, uint64(format.EdgeWake), 0, 1<<63-1),
		table(kindHeld, 1, 0, 3, 2, 1, 5, 0),
		table(kindRecords, 2, uint64(format.OpRename), 7, 0, 0, 0, 2, 0, 0, 0, 0), table(kindEdges, 2, 0, 1, 0, 1, 0), table(kindHeld, 2, 0, 7, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var pieces []piece
		for len(b) >= 4 {
			p := strange("later", b[0]>>7, 0)
			if int(b[0]) < len(kinds) {
				p.part = kind(b[0]).part(0, 0)
			}
			p.thread, p.count = int32(int8(b[1])), int64(int8(b[2]))
			n := min(int(b[3]), len(b)-4)
			p.packed, b = b[4:4+n], b[4+n:]
			pieces = append(pieces, p)
		}
		_ = tasted(craft(pieces...), 16<<20, 10_000)
	})
}
