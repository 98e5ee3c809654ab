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

// ErrTruncated says that the source ends too early: everything before has been
// read. It is also an io.ErrUnexpectedEOF.
var ErrTruncated = fmt.Errorf("compressed data without an end: %w", io.ErrUnexpectedEOF)

// maxWindow bounds the memory of a Reader, in bytes, whatever the source says.
// It is what zstd makes without --ultra or --long.
const maxWindow = 8 << 20

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b, 0x08}
)

// Is reports whether data that begins so is compressed. Four bytes are enough.
func Is(prefix []byte) bool {
	return bytes.HasPrefix(prefix, zstdMagic) || bytes.HasPrefix(prefix, gzipMagic)
}

// Reader reads what is compressed, or passes on what isn't.
type Reader struct {
	src   *bufio.Reader
	r     io.Reader // nil before the first Read
	close func()
	err   error
}

// NewReader returns a Reader of r, which it doesn't close. It must be closed.
func NewReader(r io.Reader) *Reader {
	return &Reader{src: bufio.NewReaderSize(r, 64<<10), close: func() {}}
}

// Read implements io.Reader. A source that is cut off gives what can be read
// of it, and then ErrTruncated.
func (r *Reader) Read(p []byte) (int, error) {
	if r.r == nil && r.err == nil {
		r.r, r.err = r.open()
	}
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	if err != nil {
		r.err = clear(err)
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

// open chooses by the first bytes. A source too short for them isn't
// compressed.
func (r *Reader) open() (io.Reader, error) {
	prefix, err := r.src.Peek(len(zstdMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(prefix, zstdMagic):
		z, err := zstd.NewReader(r.src,
			zstd.WithDecoderConcurrency(1), // no goroutines; an error comes after all that is before it
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

// clear says in the words of this package what is wrong with compressed data.
func clear(err error) error {
	switch {
	case err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("compressed data takes more than %d MiB of memory", maxWindow>>20)
	}
	return fmt.Errorf("compressed data is damaged: %w", err)
}
