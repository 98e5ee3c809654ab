package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// mapped returns what the process of a thread has mapped, without data.
func mapped(t *Thread) []Mapping { return t.Process.Space.mappings }

func TestSpace(t *testing.T) {
	const page = 4096
	a, b := &File{Name: "a"}, &File{Name: "b"}
	s := NewState(&format.Header{})
	th := s.Thread(&format.Event{Op: format.OpMmap, TID: 1})
	mmap := func(f *File, at, pages, offset int64) {
		e := &format.Event{Op: format.OpMmap, TID: 1, Args: [6]int64{0, pages*page - 100}, Ret: at * page}
		s.Apply(th, e)
		s.Map(th, e, Mapping{Offset: offset * page, File: f})
	}
	apply := func(op format.Op, ret int64, args ...int64) {
		e := &format.Event{Op: op, TID: 1, Ret: ret}
		copy(e.Args[:], args)
		s.Apply(th, e)
	}
	row := func(f *File, from, to, offset int64) Mapping {
		return Mapping{From: from * page, To: to * page, Offset: offset * page, File: f}
	}

	mmap(a, 100, 10, 0)
	mmap(b, 104, 2, 7) // MAP_FIXED over the middle
	require.Equal(t, []Mapping{row(a, 100, 104, 0), row(b, 104, 106, 7), row(a, 106, 110, 6)}, mapped(th))
	require.Equal(t, b, th.Process.Space.At(105*page+1).File)
	require.Nil(t, th.Process.Space.At(110*page))
	require.Nil(t, th.Process.Space.At(99*page))

	apply(format.OpMunmap, -22, 100*page, 10*page)
	apply(format.OpMadvise, 0, 100*page, 10*page, format.MadvDontneed)
	require.Len(t, mapped(th), 3, "neither unmaps")
	apply(format.OpMunmap, 0, 103*page, 2*page)
	require.Equal(t, []Mapping{row(a, 100, 103, 0), row(b, 105, 106, 8), row(a, 106, 110, 6)}, mapped(th))

	child := func(flags int64) *Thread {
		apply(format.OpClone, 7, flags)
		return s.Living(7)
	}
	forked := child(format.CloneSigchld)
	apply(format.OpMremap, 200*page, 105*page, 2*page, 5*page, 1)
	require.Equal(t, []Mapping{row(a, 100, 103, 0), row(a, 107, 110, 7), row(b, 200, 201, 8), row(a, 201, 205, 6)}, mapped(th))
	require.Equal(t, []Mapping{row(a, 100, 103, 0), row(b, 105, 106, 8), row(a, 106, 110, 6)}, mapped(forked), "it has a space of its own")
	s.Apply(forked, &format.Event{Op: format.OpExecve, TID: 7})
	require.Empty(t, mapped(forked))
	require.Len(t, mapped(th), 4)
	s.Apply(forked, &format.Event{Op: format.OpExit, TID: 7})

	shared := child(format.CloneVfork | format.CloneVM)
	s.Apply(shared, &format.Event{Op: format.OpMunmap, TID: 7, Args: [6]int64{0: 200 * page, 1: 5 * page}})
	require.Equal(t, []Mapping{row(a, 100, 103, 0), row(a, 107, 110, 7)}, mapped(th), "they share memory")

	apply(format.OpMremap, 300*page, 100*page, 0, 2*page, 1)
	apply(format.OpMremap, 107*page, 107*page, 3*page, 1*page)
	require.Equal(t, []Mapping{row(a, 100, 103, 0), row(a, 107, 108, 7), row(a, 300, 302, 0)}, mapped(th))
	mmap(b, 0, 1, 0)
	apply(format.OpMmap, 100*page, 0, 1000*page)
	require.Empty(t, mapped(th), "anonymous memory is in their place")
}

// A recording can have any numbers.
func TestSpaceOfAnything(t *testing.T) {
	s := NewState(&format.Header{})
	th := s.Thread(&format.Event{Op: format.OpMmap, TID: 1})
	numbers := []int64{-1 << 63, -1, 0, 1, 4095, 4096, 1 << 40, 1 << 60, 1<<63 - 1}
	for _, x := range numbers {
		for _, y := range numbers {
			for _, z := range numbers {
				e := &format.Event{Op: format.OpMmap, TID: 1, Args: [6]int64{1: x}, Ret: y}
				s.Map(th, e, Mapping{Offset: z})
				s.Apply(th, &format.Event{Op: format.OpMremap, TID: 1, Args: [6]int64{x, y, z}, Ret: y})
				s.Apply(th, &format.Event{Op: format.OpMunmap, TID: 1, Args: [6]int64{z, x}})
				for i, m := range mapped(th) {
					require.Less(t, m.From, m.To)
					require.True(t, i == 0 || mapped(th)[i-1].To <= m.From)
				}
			}
		}
	}
}
