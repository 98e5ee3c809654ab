package bin

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A reader of some threads does not verify the parts of the others.
func TestOpenPart(t *testing.T) {
	h, threads := orchestra(3)
	file := compiled(t, h, slices.Concat(threads...))
	whole := opened(t, file)
	damaged := bytes.Clone(file)
	part := whole.thread(2).of(kindRecords)[0]
	damaged[part.offset+part.length-1] ^= 1
	only := func(number int32) func(*format.Header) func(int32) bool {
		return func(h *format.Header) func(int32) bool {
			require.Len(t, h.Threads, len(threads))
			return func(thread int32) bool { return thread == number }
		}
	}
	size := int64(len(file))
	_, err := Open(bytes.NewReader(damaged), size, DefaultLimit)
	require.ErrorIs(t, err, ErrChecksum)
	_, err = OpenPart(bytes.NewReader(damaged), size, DefaultLimit, only(2))
	require.ErrorIs(t, err, ErrChecksum)
	for _, thread := range []int32{1, 3} {
		one, err := OpenPart(bytes.NewReader(damaged), size, DefaultLimit, only(thread))
		require.NoError(t, err)
		require.Equal(t, whole.Sum(), one.Sum())
		require.Equal(t, whole.Len(2), one.Len(2), "lengths are in the index")
		want, got := make([]format.Record, whole.Len(thread)), make([]format.Record, whole.Len(thread))
		for _, both := range []struct {
			trace *Trace
			to    []format.Record
		}{{whole, want}, {one, got}} {
			r := both.trace.Records(thread)
			for to := both.to; len(to) > 0; {
				n, err := r.Read(to)
				require.NoError(t, err)
				to = to[n:]
			}
		}
		require.Equal(t, want, got)
	}
}
