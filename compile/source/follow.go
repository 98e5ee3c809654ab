package source

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"pianola/format"
	"pianola/format/compressed"
	"pianola/format/script"
)

// followPoll is the interval between two checks whether a file has grown.
const followPoll = 100 * time.Millisecond

// Follow opens a script that is being written. Its events end with those of its recorder, or
// with the context. Between two reads, once in an interval, it calls show, nil for nothing;
// an error of that ends the events. The caller calls end after the last use of the reader.
func (r *Reader) Follow(ctx context.Context, name string, interval time.Duration, show func() error) (_ format.Reader, end func(), _ error) {
	f, err := r.Files.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if isTrace(f) {
		f.Close()
		return nil, nil, fmt.Errorf("%s: a compiled trace, which does not change: leave out --follow", name)
	}
	t := &tail{ctx: ctx, file: f, show: show, interval: interval, next: time.Now().Add(interval)}
	unpacked := compressed.NewReader(t)
	events := script.NewReader(unpacked, name)
	t.ended = func() bool {
		_, ok := events.Header().Value(format.MetaLost)
		return ok
	}
	return tolerant{events}, func() {
		unpacked.Close()
		f.Close()
	}, nil
}

// tail reads a file that grows. At the end of the file it waits for more, until
// ended reports that there is no more or the context is done; then it returns
// io.EOF.
type tail struct {
	ctx      context.Context
	file     *os.File
	ended    func() bool
	show     func() error
	interval time.Duration
	next     time.Time // time of the next call of show
}

// Read implements io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	for t.ctx.Err() == nil {
		if now := time.Now(); t.show != nil && now.After(t.next) {
			t.next = now.Add(t.interval)
			if err := t.show(); err != nil {
				return 0, err
			}
		}
		n, err := t.file.Read(p)
		if n > 0 || err != nil && err != io.EOF {
			return n, err
		}
		if t.ended() {
			return 0, io.EOF
		}
		select {
		case <-t.ctx.Done():
		case <-time.After(followPoll):
		}
	}
	return 0, io.EOF
}
