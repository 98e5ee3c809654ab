package bin

import (
	"bytes"
	"io"
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
		require.Equal(t, allRecords(t, whole, thread), allRecords(t, one, thread))
	}
}

// A part has the events of some threads and the lengths of all, and the checksum of the whole.
func TestWritePart(t *testing.T) {
	h, threads := orchestra(30)
	file := compiled(t, h, slices.Concat(threads...))
	whole := opened(t, file)
	var out bytes.Buffer
	require.NoError(t, WritePart(&out, bytes.NewReader(file), int64(len(file)), DefaultLimit, func(thread int32) bool { return thread == 2 }))
	part := out.Bytes()
	require.Less(t, len(part), len(file))
	size := int64(len(part))
	only := func(number int32) func(*format.Header) func(int32) bool {
		return func(*format.Header) func(int32) bool { return func(thread int32) bool { return thread == number } }
	}
	_, err := Open(bytes.NewReader(part), size, DefaultLimit)
	require.ErrorIs(t, err, ErrElsewhere)
	require.ErrorContains(t, err, "records of thread 1 at byte ")
	_, err = OpenPart(bytes.NewReader(part), size, DefaultLimit, only(3))
	require.ErrorIs(t, err, ErrElsewhere)
	one, err := OpenPart(bytes.NewReader(part), size, DefaultLimit, only(2))
	require.NoError(t, err)
	require.Equal(t, whole.Sum(), one.Sum())
	for thread := int32(1); thread <= 3; thread++ {
		require.Equal(t, whole.Len(thread), one.Len(thread))
	}
	require.Equal(t, allRecords(t, whole, 2), allRecords(t, one, 2))
	_, err = one.Records(1).Read(make([]format.Record, 1))
	require.ErrorIs(t, err, ErrElsewhere)

	// A part of a part has no more, and all of the whole is the whole.
	out.Reset()
	require.NoError(t, WritePart(&out, bytes.NewReader(part), size, DefaultLimit, func(int32) bool { return true }))
	require.Equal(t, part, out.Bytes())
	out.Reset()
	require.NoError(t, WritePart(&out, bytes.NewReader(file), int64(len(file)), DefaultLimit, func(int32) bool { return true }))
	require.Equal(t, file, out.Bytes())
	require.ErrorIs(t, WritePart(&out, bytes.NewReader(part), size-1, DefaultLimit, nil), io.ErrUnexpectedEOF)

	// Only threads can be in other files.
	for i := range part[:headerSize] {
		damaged := bytes.Clone(part)
		damaged[i] ^= 2
		require.Error(t, WritePart(io.Discard, bytes.NewReader(damaged), size, DefaultLimit, nil), "byte %d", i)
	}
	p := kindHeader.part(0, 1)
	p.flags |= flagElsewhere
	_, ok := parsePart(p.row())
	require.False(t, ok)
}

func allRecords(t *testing.T, of *Trace, thread int32) []format.Record {
	all := make([]format.Record, of.Len(thread))
	r := of.Records(thread)
	for to := all; len(to) > 0; {
		n, err := r.Read(to)
		require.NoError(t, err)
		to = to[n:]
	}
	return all
}
