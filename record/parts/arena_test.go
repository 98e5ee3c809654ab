package parts

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pieces keep what is written to them until they are freed, and all of the memory is used.
func TestArena(t *testing.T) {
	size := 4 * os.Getpagesize()
	a, err := newArena(int64(size) - 100)
	require.NoError(t, err)
	defer func() { require.NoError(t, a.close()) }()
	require.Equal(t, int64(size), a.size())
	type piece struct {
		data []byte
		fill byte
		end  int64
	}
	var live []piece
	check := func() {
		for _, p := range live {
			require.Equal(t, bytes.Repeat([]byte{p.fill}, len(p.data)), p.data)
		}
	}
	freed := 0
	for i := range 5000 {
		n := 1 + i*7919%(size/9)
		data := a.alloc(n)
		for ; data == nil; data = a.alloc(n) {
			require.NotEmpty(t, live)
			a.free(live[0].end)
			live, freed = live[1:], freed+1
		}
		p := piece{data, byte(i%255 + 1), a.head}
		for k := range data {
			data[k] = p.fill
		}
		if live = append(live, p); i%5 == 0 { // the newest one again
			live = live[:len(live)-1]
			a.undo(p.end - int64(n))
		}
		check()
	}
	require.Greater(t, freed, 1000)
	require.Nil(t, a.alloc(size+1))
	for a.tail+int64(os.Getpagesize()) < a.head {
		a.free(live[0].end)
		live = live[1:]
		check()
	}
}

// What is freed belongs to the kernel again: it reads as zeros.
func TestArenaReturns(t *testing.T) {
	page := os.Getpagesize()
	a, err := newArena(int64(8 * page))
	require.NoError(t, err)
	defer func() { require.NoError(t, a.close()) }()
	p := a.alloc(3 * page)
	p[0], p[2*page] = 1, 1
	a.free(int64(2*page) + 7)
	require.Zero(t, p[0])
	require.Equal(t, byte(1), p[2*page], "in use")
	require.Equal(t, int64(7*page), a.room())
}
