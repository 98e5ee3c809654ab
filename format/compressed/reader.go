package compressed

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ErrTruncated means that the source ends too early and everything before has
// been read. It wraps io.ErrUnexpectedEOF.
var ErrTruncated = fmt.Errorf("compressed data are truncated: %w", io.ErrUnexpectedEOF)

// maxWindow bounds the memory of a Reader for any source, in bytes. zstd needs
// no more without --ultra or --long.
const maxWindow = 8 << 20

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b, 0x08}
)

// Is reports whether data that begins with prefix is compressed. Four bytes are
// enough.
func Is(prefix []byte) bool {
	return bytes.HasPrefix(prefix, zstdMagic) || bytes.HasPrefix(prefix, gzipMagic)
}

// ErrLimit means that a source decompresses to more than Reader.Limit.
var ErrLimit = errors.New("decompressed data exceed the limit")

// Reader decompresses its source, or passes an uncompressed one through.
type Reader struct {
	// Limit is how many bytes compressed data may turn into, 0 for any number.
	Limit int64

	src   *bufio.Reader
	r     io.Reader // nil before the first Read
	close func()
	err   error
	read  int64 // bytes that came out
}

// NewReader returns a Reader of r, which it doesn't close. It must be closed.
func NewReader(r io.Reader) *Reader {
	return &Reader{src: bufio.NewReaderSize(r, 64<<10), close: func() {}}
}

// Read implements io.Reader. For a source that is cut off it returns what can
// be read, and then ErrTruncated.
func (r *Reader) Read(p []byte) (int, error) {
	if r.r == nil && r.err == nil {
		r.r, r.err = r.open()
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	r.read += int64(n)
	switch {
	case err != nil:
		r.err = clear(err)
	case r.Limit > 0 && r.read > r.Limit && r.r != r.src:
		r.err = fmt.Errorf("%w: %d MiB", ErrLimit, r.Limit>>20)
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// Close frees the memory. It does not fail.
func (r *Reader) Close() error {
	r.close()
	r.close, r.r, r.err = func() {}, nil, errClosed
	return nil
}

var errClosed = errors.New("read after close")

// open chooses the decoder by the first bytes. A source that is too short is
// uncompressed.
func (r *Reader) open() (io.Reader, error) {
	prefix, err := r.src.Peek(len(zstdMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(prefix, zstdMagic):
		if err := checkWindow(r.src); err != nil {
			return nil, err
		}
		z, err := zstd.NewReader(r.src,
			zstd.WithDecoderConcurrency(1), // no goroutines; an error comes after all data before it
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, clear(err)
		}
		r.close = z.Close
		return z, nil
	case bytes.HasPrefix(prefix, gzipMagic):
		z, err := gzip.NewReader(r.src)
		if err != nil {
			return nil, clear(err)
		}
		return z, nil
	}
	return r.src, nil
}

// checkWindow returns an error with a workaround if the first frame of a source needs
// too large a window. The decoder refuses later ones itself.
func checkWindow(src *bufio.Reader) error {
	head, _ := src.Peek(zstd.HeaderMaxSize) // short sources can be whole
	var h zstd.Header
	if h.Decode(head) != nil || h.WindowSize <= maxWindow {
		return nil
	}
	return fmt.Errorf("the compression window is %d MiB, the limit is %d MiB: decompress the file with zstd -d --long=31 first", h.WindowSize>>20, maxWindow>>20)
}

// clear translates an error of a decompressor.
func clear(err error) error {
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("decompression needs more than %d MiB of memory", maxWindow>>20)
	}
	return fmt.Errorf("compressed data are damaged: %w", err)
}
