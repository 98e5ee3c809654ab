// Package spool keeps the events of a recording between the passes of one
// program, so that the text is parsed once. One goroutine appends events to a
// [Spool], and others read them, even before the last one is appended.
//
// The format is private to the process. Events are in chunks of about 64 KiB,
// each decoded by itself. The first chunks stay in memory, the others go to a
// file. Numbers are little-endian:
//
//	head     8 bytes, bits: 0 to 15 operation, 16 to 23 what else there is (the
//	         constants), 24 to 63 the lengths of the numbers, 4 bits each
//	numbers  each as long as head says, 0 to 8 bytes: thread and start, as the difference
//	         to the event before; duration, result and arguments, as that to the event
//	         before of the same operation. Differences are in zigzag form.
//	strings  of each: uvarint, its length plus one, or 0 for none; its bytes; with hasStr
//	times    compute, held, cut, faults and off: varints; with hasTimes
//	notes    the fields: varints; target and text: as strings; with hasNotes
//	edges    uvarint, their number, then the fields of each: varints; with hasEdges
//	payload  a byte, 1 for a span: its names, its arguments and the rest: varints, and strings;
//	         2 for processes that enter: the lines of a header, as a string; 3 for a list: what
//	         its items are, whether it is an update, from where, its numbers; with hasPayload
//	line     varint; with hasLine, else one more than that of the event before
package spool
