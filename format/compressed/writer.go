package compressed

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// window is how far back a writer looks for what repeats, in bytes. It is most
// of the memory that a Writer takes.
const window = 1 << 20

// Writer compresses with zstd, at its fastest: a recorder has only the time
// that the application leaves it.
type Writer struct{ z *zstd.Encoder }

// NewWriter returns a Writer to w, which it doesn't close.
func NewWriter(w io.Writer) *Writer {
	// Without goroutines of its own: an error is known as soon as it happens,
	// and no processor is taken that the application may need.
	z, err := zstd.NewWriter(w,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window))
	if err != nil {
		panic("internal error: " + err.Error()) // options are constant
	}
	return &Writer{z}
}

// Write implements io.Writer. It may keep the data back until Flush.
func (w *Writer) Write(p []byte) (int, error) { return w.z.Write(p) }

// Flush makes everything written so far readable. Often, it costs compression.
func (w *Writer) Flush() error { return w.z.Flush() }

// Close writes the end.
func (w *Writer) Close() error { return w.z.Close() }
