// Package bin is the compiled trace: the binary form of a recording that a
// replay reads. [Writer] makes one, [Open] verifies one and gives it back as a
// [format.Trace].
//
// A file is a fixed header, then parts, then the index. Nothing lies between
// them or after them. Numbers are little-endian.
//
//	byte  bytes
//	   0      8  magic "\x89PIANOLA"
//	   8      4  version, 1
//	  12      4  CRC-32C of the index
//	  16      8  length of the file
//	  24      8  offset of the index, which reaches to the end of the file
//	  32      8  number of parts
//	  40      4  CRC-32C of the 40 bytes before
//	  44         parts, in the order of the index
//	             index
//
// There are two forms of parts. A text is one or more zstd frames. Rows are a
// table of 64-bit words, stored by columns:
//
//	per word    mode     1 byte, 0 plain or 1 delta
//	            planes   1 byte, bit k set where byte k of the word varies
//	            base     varint, the bytes of the word that do not vary
//	            start    varint, delta only: the value before the first
//	then        planes   one or more zstd frames: of each word, of each byte
//	                     that varies, that byte of all rows
//
// A varint is that of encoding/binary, signed. A word in delta mode holds the
// difference to the row before, in zigzag form. The number of rows, or bytes of
// a text, stands in the index, so the length of the planes is known before
// they are decompressed.
//
//	part       form    holds
//	header     text    the lines of format.Header
//	lengths    rows 1  length of each string
//	bytes      text    the strings, one after the other
//	records    rows 10 operation, compute, time off the processor, result, six arguments
//	durations  rows 1  recorded duration, -1 for unknown
//	waits      rows 3  event, and the thread and event it waits for
//	index      rows 5  of each part: kind, thread, length, count, CRC-32C
//
// The first three stand once each. Then follow, thread by thread, records,
// durations and waits, in as many parts as it takes: a part of a thread has 1
// to 65536 rows (this writer ends one at 8192). Strings are numbered by first
// use, thread after thread, so the file does not depend on how the events of
// the threads were interleaved when they were written.
//
// A Writer and the readers of a Trace belong to one goroutine each; the
// methods of a Trace may be called concurrently.
package bin
