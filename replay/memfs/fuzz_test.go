package memfs

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// choices are numbers from a fuzzer, and others when it has no more.
type choices struct {
	bytes []byte
	rest  *rand.PCG
}

func (c *choices) Uint64() uint64 {
	if len(c.bytes) < 2 {
		return c.rest.Uint64()
	}
	v := uint64(binary.LittleEndian.Uint16(c.bytes))
	c.bytes = c.bytes[2:]
	return v<<48 | v<<16 | v // what a choice is made by are its upper bits
}

// FuzzCall makes calls that the bytes choose, in a file system that is soon
// full. It gives back all that it took.
func FuzzCall(f *testing.F) {
	f.Add([]byte{0, 0, 1, 1, 2, 2, 3, 3}, uint16(1))
	f.Add([]byte("what is written is read, what is removed is gone"), uint16(40))
	f.Fuzz(func(t *testing.T, data []byte, pages uint16) {
		fs, err := New(inodeCost + int64(pages)*pageSize)
		require.NoError(t, err)
		defer func() { require.NoError(t, fs.Close()) }()
		left := fs.left.Load()
		m := newMachine(t, fs.Call)
		c := &chance{rand.New(&choices{data, rand.NewPCG(1, 2)}), paths(true), len(data)%2 == 0}
		for range min(len(data), 1000) {
			m.used, m.last = 0, nil
			got, _ := operations[c.IntN(len(operations))].draw(c)(m)
			require.GreaterOrEqual(t, got, int64(-4095))
		}
		for _, fd := range m.fds {
			m.do(unix.SYS_CLOSE, fd)
		}
		emptied(t, fs)
		require.Equal(t, left, fs.left.Load())
	})
}
