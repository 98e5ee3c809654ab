// Package compressed reads and writes scripts that are compressed.
//
// A Writer makes one zstd frame. What was written before the last Flush can be
// read even if the frame has no end, for every Flush ends a block:
//
//	frame header | block … | block … | last block, checksum
//	             ^ Flush   ^ Flush   ^ Close
//
// A Reader finds out by the first bytes whether its source is zstd, gzip or
// not compressed at all.
//
// A Reader or a Writer belongs to one goroutine at a time.
package compressed
