package experiment

import (
	"bytes"
	"io"
	"os"
)

// equal reports whether two traces are the same to the byte.
func equal(a, b *os.File) (bool, error) {
	x, err := a.Stat()
	if err != nil {
		return false, err
	}
	y, err := b.Stat()
	if err != nil || x.Size() != y.Size() {
		return false, err
	}
	const piece = 1 << 16
	p, q := make([]byte, piece), make([]byte, piece)
	for at := int64(0); at < x.Size(); at += piece {
		n, err := a.ReadAt(p, at)
		if err != nil && err != io.EOF {
			return false, err
		}
		if m, err := b.ReadAt(q[:n], at); m < n {
			return false, err
		}
		if !bytes.Equal(p[:n], q[:n]) {
			return false, nil
		}
	}
	return true, nil
}
