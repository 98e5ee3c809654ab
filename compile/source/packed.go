package source

import (
	"errors"
	"io"

	"pianola/format"
	"pianola/format/compressed"
	"pianola/format/script"
)

// tolerant reads the output of a killed recorder: it returns io.EOF at an
// incomplete end. Compile warns of such a recording, because it lacks the lines
// that a recorder writes last.
type tolerant struct{ format.Reader }

// Read implements format.Reader.
func (t tolerant) Read(events []format.Event) (int, error) {
	n, err := t.Reader.Read(events)
	if err == nil || err == io.EOF {
		return n, err
	}
	syntax, ok := errors.AsType[*script.SyntaxError](err)
	if cut := ok && syntax.Cut || errors.Is(err, compressed.ErrTruncated); cut {
		if _, recorded := t.Header().Value(format.MetaTool); recorded {
			err = io.EOF
		}
	}
	return n, err
}

// packedFile is a file that may be compressed.
type packedFile struct {
	*compressed.Reader
	file io.Closer
}

// openPacked opens a file that may be compressed, and counts what is read of it.
func (s *Source) openPacked(name string) (*packedFile, error) {
	f, err := s.reader.Files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return s.unpack(f, info.Size()), nil
}

// unpack returns a file of a size that may be compressed.
func (s *Source) unpack(f io.ReadCloser, size int64) *packedFile {
	r := compressed.NewReader(&counter{f, s.count})
	r.Limit = s.reader.Limits.text(size)
	return &packedFile{r, f}
}

// Close frees the memory and closes the file.
func (p *packedFile) Close() error {
	p.Reader.Close()
	return p.file.Close()
}

// counter is a reader that reports how much is read.
type counter struct {
	io.Reader
	read func(int)
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read(n)
	return n, err
}
