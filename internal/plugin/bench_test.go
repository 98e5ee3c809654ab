package plugin

import (
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// reads is a trace of reads, without end before so many.
type reads struct {
	header format.Header
	left   int
}

func (r *reads) Header() *format.Header { return &r.header }

func (r *reads) Read(events []format.Event) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := min(len(events), r.left)
	for i := range events[:n] {
		events[i] = format.Event{Op: format.OpPread64, TID: 1, Dur: 500, Compute: 20_000, Ret: 4096, Args: [format.MaxArgs]int64{3, 0x1000, 4096, int64(i) << 12}}
	}
	r.left -= n
	return n, nil
}

// nowhere is a Sink.
type nowhere struct{}

func (nowhere) Write([]format.Event) error   { return nil }
func (nowhere) Close(h *format.Header) error { return nil }

// BenchmarkFilter puts events through programs that change nothing, of one thread
// and of two, where lines are found again by their notes.
func BenchmarkFilter(b *testing.B) {
	for _, command := range []string{"cat", "awk '{ print }'"} {
		for _, threads := range []int{1, 2} {
			b.Run(command[:3]+"/threads="+strconv.Itoa(threads), func(b *testing.B) {
				in := &reads{left: b.N}
				for range threads {
					in.header.Threads = append(in.header.Threads, format.Thread{Process: 1})
				}
				spool, err := os.CreateTemp(b.TempDir(), "")
				require.NoError(b, err)
				defer spool.Close()
				require.NoError(b, shell(b, command).Filter(b.Context(), in, nil, spool, nowhere{}))
			})
		}
	}
}

// BenchmarkOutput plays events by a program that answers at once: this one.
func BenchmarkOutput(b *testing.B) {
	o := run(b, b.Context(), answering(b), 1)
	for b.Loop() {
		if _, err := o.Play(1, pread); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, o.Close())
}
