package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A process that enters after the first event begins with what it has open.
func TestNewcomer(t *testing.T) {
	f := New(&format.Header{}, 10)
	first := &format.Event{Op: format.OpRead, TID: 1, Ret: 1}
	f.Thread(first)
	enters := format.Entry(&format.Header{
		Meta:        []format.Meta{{Key: format.MetaProcess, Value: `7 threads=7,9 cwd="/srv" umask=027`}},
		Descriptors: []format.Descriptor{{Process: 7, FD: 3, Offset: 5, Path: "/srv/file"}},
	}, 20)
	entered := f.Fact(&enters)
	require.Equal(t, int64(20), entered.Thread.Created)
	require.Nil(t, entered.File)
	f.Apply(entered)

	read := &format.Event{Op: format.OpRead, TID: 9, Args: [format.MaxArgs]int64{3, 0, 2}, Ret: 2}
	thread := f.Thread(read)
	require.Equal(t, int32(7), thread.Process.ID)
	require.Equal(t, "/srv", thread.Dir.Path)
	require.Equal(t, int64(0o27), thread.Dir.Mask)
	moves := f.Fact(read).Moves()
	require.Equal(t, "/srv/file", moves.File.Name)
	require.Equal(t, [2]int64{5, 7}, [2]int64{moves.From, moves.To})
	require.Same(t, thread.Process, f.Thread(&format.Event{Op: format.OpRead, TID: 7}).Process)
}

// A process that enters again begins again, with all its threads.
func TestNewcomerAgain(t *testing.T) {
	s := NewStanding(&format.Header{Meta: []format.Meta{{Key: format.MetaProcess, Value: `7 threads=7,8 cwd="/srv"`}},
		Descriptors: []format.Descriptor{{Process: 7, FD: 3, Path: "/srv/file"}, {Process: 7, FD: 4, Path: "/srv/closed"}}})
	again := &format.Header{Meta: []format.Meta{{Key: format.MetaProcess, Value: `7 threads=7,9 cwd="/"`}},
		Descriptors: []format.Descriptor{{Process: 7, FD: 3, Offset: 5, Path: "/srv/file"}}}
	s.Enter(again)
	var h format.Header
	s.Header(&h)
	require.Equal(t, []format.Running{{Process: 7, Threads: []int32{7, 9}, Cwd: "/", Umask: -1}}, h.Running())
	require.Equal(t, again.Descriptors, h.Descriptors)
}
