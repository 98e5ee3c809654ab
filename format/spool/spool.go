package spool

import (
	"fmt"
	"io"
	"sync"

	"pianola/format"
)

// File holds the chunks that a Spool does not keep in memory, usually in a
// temporary file. It must be empty at first, and allow a Write concurrent with
// any number of ReadAt.
type File interface {
	io.Writer
	io.ReaderAt
}

const (
	// chunkSize is the size of a chunk in bytes, rounded up to a whole event.
	chunkSize = 64 << 10

	// keptChunks is how many chunks stay in memory. A small recording needs no
	// file.
	keptChunks = 64
)

// Spool holds events. One goroutine appends them and ends it; any number of
// Readers, each in a goroutine of its own, read at the same time.
type Spool struct {
	file    File
	written int64 // bytes of the file
	buf     []byte
	codec   codec

	mu     sync.Mutex
	grown  sync.Cond // chunks or err have changed
	chunks []chunk
	err    error // why there are no more chunks; nil while there may be
}

// chunk is in memory, with slack, or in the file if data is nil.
type chunk struct {
	data   []byte
	offset int64
	length int
}

// New returns an empty Spool, which does not close the file.
func New(f File) *Spool {
	s := &Spool{file: f}
	s.grown.L = &s.mu
	return s
}

// Append adds a copy of e. The error is that of the file, and final.
func (s *Spool) Append(e *format.Event) error {
	if err := checkOp(e); err != nil {
		return err
	}
	if s.buf = s.codec.append(s.buf, e); len(s.buf) < chunkSize {
		return nil
	}
	return s.flush()
}

// flush ends the current chunk.
func (s *Spool) flush() error {
	c := chunk{offset: s.written, length: len(s.buf)}
	if len(s.chunks) < keptChunks { // only this goroutine changes it
		c.data = append(make([]byte, 0, len(s.buf)+slack), s.buf...)[:len(s.buf)+slack]
	} else {
		n, err := s.file.Write(s.buf)
		s.written += int64(n)
		if err != nil {
			return fmt.Errorf("write spool: %w", err)
		}
	}
	s.buf, s.codec = s.buf[:0], codec{}
	s.mu.Lock()
	s.chunks = append(s.chunks, c)
	s.mu.Unlock()
	s.grown.Broadcast()
	return nil
}

// End ends the Spool. After the last event Readers return err, io.EOF if it is
// nil. The goroutine's work before End happens before a Reader returns that
// error.
func (s *Spool) End(err error) {
	if len(s.buf) > 0 {
		if fault := s.flush(); fault != nil {
			err = fault
		}
	}
	if err == nil {
		err = io.EOF
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.grown.Broadcast()
}

// chunk waits for chunk i and returns it.
func (s *Spool) chunk(i int) (chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i == len(s.chunks) && s.err == nil {
		s.grown.Wait()
	}
	if i == len(s.chunks) {
		return chunk{}, s.err
	}
	return s.chunks[i], nil
}

// Reader returns a Reader that starts at the first event.
func (s *Spool) Reader() *Reader { return &Reader{spool: s} }

// Reader reads the events of a Spool.
type Reader struct {
	spool   *Spool
	next    int // chunk
	buf     []byte
	decoder decoder
}

// Read fills events from the front and returns how many it filled. It waits for
// events that are yet to be appended. After the last one it returns the error
// of End. The strings, notes and edges of the events are valid until the next
// call.
func (r *Reader) Read(events []format.Event) (int, error) {
	d := &r.decoder
	if !d.more() {
		if err := r.load(); err != nil {
			return 0, err
		}
	}
	d.reuse()
	n := 0
	for n < len(events) && d.more() {
		if d.next(&events[n]); d.bad {
			return 0, errDamaged
		}
		n++
	}
	return n, nil
}

// load begins the next chunk.
func (r *Reader) load() error {
	c, err := r.spool.chunk(r.next)
	if err != nil {
		return err
	}
	r.next++
	if c.data != nil {
		r.decoder.begin(c.data)
		return nil
	}
	if cap(r.buf) < c.length+slack {
		r.buf = make([]byte, c.length+slack)
	}
	r.buf = r.buf[:c.length+slack]
	if n, err := r.spool.file.ReadAt(r.buf[:c.length], c.offset); n < c.length {
		return fmt.Errorf("read spool: %w", err)
	}
	r.decoder.begin(r.buf)
	return nil
}
