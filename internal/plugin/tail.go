package plugin

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"time"

	"pianola/format"
)

const (
	maxLast = 512                    // bytes of a line that are kept
	grace   = 500 * time.Millisecond // time for output of a child that left the group
)

// tail passes on the stderr of a program and keeps its last line.
type tail struct {
	from *os.File
	line []byte
	done chan struct{} // closed at the end
}

func newTail(from *os.File) *tail { return &tail{from: from, done: make(chan struct{})} }

// read is the life of a goroutine.
func (t *tail) read(to io.Writer) {
	defer close(t.done)
	in := bufio.NewReaderSize(t.from, 4096)
	begun := false // part of the line was read before
	for {
		part, err := in.ReadSlice('\n')
		if to != nil {
			_, _ = to.Write(part)
		}
		if text := bytes.TrimSpace(part); len(text) > 0 && !begun {
			t.line = append(t.line[:0], text[:min(len(text), maxLast)]...)
		}
		begun = err == bufio.ErrBufferFull
		if err != nil && !begun {
			return
		}
	}
}

// last returns the last line that is not empty, made printable. It is complete once all
// output is read.
func (t *tail) last() string {
	_ = t.from.SetReadDeadline(time.Now().Add(grace))
	<-t.done
	return format.Visible(string(t.line))
}

func (t *tail) close() { t.from.Close() }
