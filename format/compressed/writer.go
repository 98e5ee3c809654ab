package compressed

import (
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// window is how far back a Writer looks for repetitions, in bytes. It is most
// of a Writer's memory.
const window = 1 << 20

// Writer compresses with zstd at its fastest level, because a recorder takes
// processor time from the application.
type Writer struct{ z *zstd.Encoder }

// NewWriter returns a Writer to w, which it doesn't close.
func NewWriter(w io.Writer) *Writer {
	// No goroutines: an error is returned at once, and no other processor is
	// used that the application may need.
	z, err := zstd.NewWriter(w,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window))
	if err != nil {
		panic("internal error: " + err.Error()) // options are constant
	}
	return &Writer{z}
}

// Write implements io.Writer. It may buffer data until Flush.
func (w *Writer) Write(p []byte) (int, error) { return w.z.Write(p) }

// Flush makes everything written so far readable. Frequent calls make the
// compression worse.
func (w *Writer) Flush() error { return w.z.Flush() }

// Close ends the frame.
func (w *Writer) Close() error { return w.z.Close() }

// NewGzip returns a writer to w, which it doesn't close, that compresses with gzip for
// programs that don't read zstd. It keeps no time, so that the same text gives the same
// bytes.
func NewGzip(w io.Writer) io.WriteCloser {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic("internal error: " + err.Error()) // the level is constant
	}
	return z
}
