package transform

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// reads is a recording of an open and of random reads of a large file, a batch of
// them again and again.
type reads struct {
	header format.Header
	batch  [512]format.Event
	at     int64
	left   int
}

func newReads(n int) *reads {
	r := &reads{left: n}
	open := format.Event{Op: format.OpOpen, TID: 1, Dur: 500, Ret: 3, Args: [format.MaxArgs]int64{1: format.RDONLY}}
	open.Str[0], open.Notes = []byte("/data/file"), &format.Notes{
		Has:  format.NotedType | format.NotedSize | format.NotedDev | format.NotedIno,
		Type: format.TypeReg, Size: 1 << 40, Dev: format.Device{Minor: 1}, Ino: 2,
	}
	for i := range r.batch {
		r.batch[i] = format.Event{Op: format.OpPread64, TID: 1, Dur: 500, Ret: 4096, Args: [format.MaxArgs]int64{3, 0x1000, 4096, int64(i*7919%100_000) << 13}}
	}
	r.batch[0] = open
	return r
}

func (r *reads) Header() *format.Header { return &r.header }

func (r *reads) Read(events []format.Event) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	from := 0
	if r.at > 0 {
		from = 1 // it is open
	}
	n := min(copy(events, r.batch[from:]), r.left)
	for i := range events[:n] {
		r.at += 20_000
		events[i].Start = r.at
	}
	r.left -= n
	return n, nil
}

// BenchmarkChain takes events through one transform after the other.
func BenchmarkChain(b *testing.B) {
	names := []string{"sync=none", "scale-compute=2", "buffered", "reroot=/data:/other", "prefetch", "coalesce=64KiB"}
	for n := range len(names) + 1 {
		name := "none"
		if n > 0 {
			name = fmt.Sprintf("%d,last=%s", n, names[n-1])
		}
		b.Run(name, func(b *testing.B) {
			var funcs []Func
			for _, text := range names[:n] {
				f, err := Builtin().Parse(text)
				require.NoError(b, err)
				funcs = append(funcs, f)
			}
			c := NewChain(func() (format.Reader, error) { return newReads(b.N), nil }, funcs...)
			r, err := c.Open()
			require.NoError(b, err)
			events := make([]format.Event, 512)
			for err == nil {
				_, err = r.Read(events)
			}
			require.ErrorIs(b, err, io.EOF)
			require.NoError(b, c.Close())
		})
	}
}
