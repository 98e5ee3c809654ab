// Package compressed reads and writes compressed scripts.
//
// A Writer makes one zstd frame. Every Flush ends a block, so everything before
// the last Flush can be read even if the frame has no end:
//
//	frame header | block … | block … | last block, checksum
//	             ^ Flush   ^ Flush   ^ Close
//
// A Reader detects from the first bytes whether its source is zstd, gzip or
// uncompressed.
//
// A Reader or a Writer belongs to one goroutine at a time.
package compressed
