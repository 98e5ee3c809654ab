// Package bin is the compiled trace: the binary form of a recording that a
// replay reads. [Writer] makes one, [Open] verifies one and gives it back as a
// [format.Trace].
//
// A file is a fixed header, then parts, then the index. There are no gaps, and nothing
// follows the index. Numbers are little-endian.
//
//	byte  bytes
//	   0      8  magic "\x89PIANOLA"
//	   8      4  version, 2
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
// difference to the row before, in zigzag form. The index has the number of rows, or
// bytes of a text, so the length of the planes is known before they are decompressed.
//
// The index is a table too, without a part of its own. The parts follow one
// another, so their lengths give their places. A row of the index is
//
//	word 0     tag      four letters, the first in the lowest byte
//	     1     flags    bit 0 required, bit 1 not in this file (see WritePart)
//	     2     thread   0 for the whole trace
//	     3     length   bytes in the file
//	     4     count    rows, or bytes of a text
//	     5     CRC-32C  of the bytes in the file
//
// A reader skips optional parts whose tag it does not know, and refuses a file
// with required ones. These are known:
//
//	tag   form     of            holds
//	head  text     the trace     the lines of format.Header
//	slen  rows 1   the trace     length of each string
//	strs  text     the trace     the strings, one after the other
//	recs  rows 10  each event    operation, compute, time off the processor, result, six arguments
//	durs  rows 1   each event    optional: recorded duration, -1 for unknown
//	offs  rows 6   some events   optional: event, and the parts of the time off the processor
//	edge  rows 5   some events   event, and its edges: thread, kind, event, delay
//	held  rows 2   some events   event, and how much of its compute the edges account for
//	span  rows 8   some events   optional: event that follows, and a span (spans.go)
//	args  rows 6   some events   optional: the same event, and an argument of a span
//	nums  rows 2   some events   event, and a number of its list (lists.go)
//
// Known parts are in this order: first the parts of the trace, each once, then the
// parts of each thread. Rows of a thread are split into parts of 1 to 65536 rows (this
// writer uses 8192). Rows of each event correspond to the records. Rows of some events
// begin with the event, counted from 0 in its thread. Strings are numbered by first
// use, thread after thread, so the file does not depend on how the events of the
// threads were interleaved when they were written.
//
// To add a part is to append a row to the table in parts.go.
//
// A Writer and the readers of a Trace belong to one goroutine each; the
// methods of a Trace may be called concurrently.
package bin
