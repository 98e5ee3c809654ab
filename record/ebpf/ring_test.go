package ebpf

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeRing is a ring in ordinary memory, with the kernel's part
// played by put.
type fakeRing struct {
	*ring
	consumer, producer atomic.Uint64
}

// newFakeRing returns a ring of so many bytes, a power of two.
func newFakeRing(size int) *fakeRing {
	f := &fakeRing{}
	f.ring = newRing(&f.consumer, &f.producer, make([]byte, 2*size))
	return f
}

// put appends a record with the length word and the bytes given, at both
// places where it is seen.
func (f *fakeRing) put(length uint32, data string) {
	at := f.producer.Load()
	write := func(offset uint64, b byte) {
		f.data[offset&f.mask] = b
		f.data[offset&f.mask+f.mask+1] = b
	}
	for i, b := range binary.NativeEndian.AppendUint32(nil, length) {
		write(at+uint64(i), b)
	}
	for i := range len(data) {
		write(at+ringHeader+uint64(i), data[i])
	}
	f.producer.Store(at + ringHeader + uint64(len(data)+7)&^7)
}

func TestRing(t *testing.T) {
	f := newFakeRing(64)
	read := func(want string) {
		t.Helper()
		record, err := f.read()
		require.NoError(t, err)
		require.Equal(t, want, string(record))
	}
	read("")
	f.put(3, "abc")
	f.put(5|ringDiscard, "xxxxx")
	f.put(8, "12345678")
	read("abc")
	read("12345678")
	read("")
	require.Zero(t, f.consumer.Load(), "lent until released")
	f.release()
	require.Equal(t, f.producer.Load(), f.consumer.Load())

	f.put(16, "over the edge ok") // 48 to 72 of 64
	read("over the edge ok")
	f.release()

	f.put(2|ringBusy, "zz")
	f.put(1, "y")
	read("")
	at := (f.producer.Load() - 32) & f.mask
	binary.NativeEndian.PutUint32(f.data[at:], 2)
	read("zz")
	read("y")
	read("")
}

func TestRingMalformed(t *testing.T) {
	for name, length := range map[string]uint32{"beyond the producer": 9, "beyond the ring": 1 << 29} {
		t.Run(name, func(t *testing.T) {
			f := newFakeRing(64)
			f.put(length, "abc")
			_, err := f.read()
			require.ErrorIs(t, err, errRing)
		})
	}
}
