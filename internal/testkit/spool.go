package testkit

import (
	"bytes"
	"sync"
)

// Spool is an append-only file in memory, for packages that take a spool.File. Several
// goroutines may use it.
type Spool struct {
	mu   sync.Mutex
	data []byte
}

func (s *Spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, b...)
	return len(b), nil
}

func (s *Spool) ReadAt(b []byte, offset int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.NewReader(s.data).ReadAt(b, offset)
}

// Len returns how many bytes were written.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.data)
}
