package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// follow takes events through a Follower of a recording whose working directory
// is /w, and returns it.
func follow(events ...format.Event) *Follower {
	fl := New(&format.Header{Meta: []format.Meta{{Key: format.MetaCwd, Value: `"/w"`}}}, 100)
	for i := range events {
		fl.Apply(fl.Fact(&events[i]))
	}
	return fl
}

func args(a ...int64) (all [format.MaxArgs]int64) {
	copy(all[:], a)
	return all
}

func name(s string) [format.MaxStrings][]byte { return [format.MaxStrings][]byte{[]byte(s)} }

func TestDescriptions(t *testing.T) {
	fl := follow(
		format.Event{Op: format.OpOpenat, TID: 1, Args: args(format.AtFDCWD, 0, format.RDWR), Str: name("a"), Ret: 3, Notes: &format.Notes{Has: format.NotedSize, Size: 100}},
		format.Event{Op: format.OpRead, TID: 1, Args: args(3, 0, 10), Ret: 10},
		format.Event{Op: format.OpDup, TID: 1, Args: args(3), Ret: 4},
		format.Event{Op: format.OpPwrite64, TID: 1, Args: args(4, 0, 50, 80), Ret: 50},
		format.Event{Op: format.OpFcntl, TID: 1, Args: args(4, format.FSetfl, format.WRONLY|format.APPEND), Ret: 0},
	)
	table := fl.Thread(&format.Event{Op: format.OpRead, TID: 1}).Table
	d := table.At(3)
	require.Same(t, d, table.At(4))
	require.Equal(t, "/w/a", d.File.Name)
	require.EqualValues(t, 10, d.Offset)
	require.EqualValues(t, 130, d.File.Length)
	require.True(t, d.Append())
	require.EqualValues(t, format.RDWR|format.APPEND, d.Flags)
	require.Nil(t, table.At(5))
}

// A description that is used again has another serial number and the data of
// the one before.
func TestDescriptionsAreUsedAgain(t *testing.T) {
	open := format.Event{Op: format.OpCreat, TID: 1, Str: name("a"), Ret: 3}
	fl := follow(open)
	thread := fl.Thread(&open)
	d := thread.Table.At(3)
	require.EqualValues(t, format.WRONLY|format.CREAT|format.TRUNC, d.Flags)
	serial := d.Serial
	d.Data = "mine"
	for _, e := range []format.Event{{Op: format.OpClose, TID: 1, Args: args(3)}, open} {
		fl.Apply(fl.Fact(&e))
	}
	require.Same(t, d, thread.Table.At(3))
	require.Greater(t, d.Serial, serial)
	require.Equal(t, "mine", d.Data)
}

func TestNothingIsLeftOfThreadsThatEnded(t *testing.T) {
	var events []format.Event
	for i := range int32(MaxThreads + 10) {
		events = append(events,
			format.Event{Op: format.OpRead, TID: i + 1, Args: args(3), Ret: 5},
			format.Event{Op: format.OpExit, TID: i + 1, Ret: format.NoResult})
	}
	fl := follow(events...)
	require.Empty(t, fl.alive)
	require.Zero(t, fl.held)
}

// Forks share a table until one changes something, which the others don't see.
func TestForksShareTables(t *testing.T) {
	events := []format.Event{
		{Op: format.OpCreat, TID: 1, Str: name("a"), Ret: 3},
		{Op: format.OpDup2, TID: 1, Args: args(3, 1000), Ret: 1000},
	}
	const forks = 5000
	for i := range int32(forks) {
		events = append(events, format.Event{Op: format.OpFork, TID: i + 1, Ret: int64(i + 2)})
	}
	fl := follow(events...)
	shared := fl.held
	require.Less(t, shared, 3*pageBytes, "two pages and an index")
	last := &format.Event{Op: format.OpClose, TID: forks + 1, Args: args(3)}
	closes := fl.Fact(last)
	thread := closes.Thread
	require.Equal(t, "/w/a", closes.File.Name)
	fl.Apply(closes)
	require.Nil(t, thread.Table.At(3))
	require.NotNil(t, thread.Table.At(1000))
	require.Less(t, fl.held, shared+2*pageBytes, "one page more, and an index")
	require.NotNil(t, fl.Thread(&events[0]).Table.At(3))

	dropped := 0
	fl.Dropped = func(*Description) { dropped++ }
	for i := range int32(forks + 1) {
		require.Zero(t, dropped)
		exit := &format.Event{Op: format.OpExit, TID: i + 1, Ret: format.NoResult}
		fl.Apply(fl.Fact(exit))
	}
	require.Equal(t, 1, dropped, "the last table that led to it is gone")
	require.Zero(t, fl.held)
}

func TestMoreThreadsThanAreFollowed(t *testing.T) {
	fl := New(&format.Header{}, 100)
	added := 0
	fl.Added = func(_, _ *Thread) { added++ }
	for i := range int32(MaxThreads + 10) {
		fl.Thread(&format.Event{Op: format.OpRead, TID: i + 1})
	}
	require.Equal(t, MaxThreads, added)
}

// In an application exit_group ends all threads of the process. In a replay
// others can be behind, and go on.
func TestExitGroup(t *testing.T) {
	events := []format.Event{
		{Op: format.OpOpenat, TID: 1, Args: args(format.AtFDCWD, 0, format.RDWR), Str: name("/a"), Ret: 3},
		{Op: format.OpClone, TID: 1, Args: args(format.CloneThread | format.CloneFiles), Ret: 2},
		{Op: format.OpExitGroup, TID: 1, Ret: format.NoResult},
	}
	for _, test := range []struct {
		replay bool
		want   string
	}{{false, "fd 3"}, {true, "/a"}} {
		h := &format.Header{}
		if test.replay {
			h.Set(format.MetaReplay, "timing=afap")
		}
		fl := New(h, 100)
		for i := range events {
			fl.Apply(fl.Fact(&events[i]))
		}
		next := &format.Event{Op: format.OpFsync, TID: 2, Args: args(3)}
		f, _ := fl.About(fl.Thread(next), next)
		require.Equal(t, test.want, f.Name)
	}
}

// A call between two descriptors moves both offsets, where it is not given any.
func TestCallsBetweenDescriptors(t *testing.T) {
	open := func(file string, fd int64) format.Event {
		return format.Event{Op: format.OpOpenat, TID: 1, Args: args(format.AtFDCWD, 0, format.RDWR), Str: name(file), Ret: fd}
	}
	for _, test := range []struct {
		event    format.Event
		in, out  int64
		outBytes int64
	}{
		{format.Event{Op: format.OpCopyFileRange, Args: args(3, -1, 4, -1, 100), Ret: 70}, 70, 70, 70},
		{format.Event{Op: format.OpCopyFileRange, Args: args(3, 10, 4, 20, 100), Ret: 70}, 0, 0, 90},
		{format.Event{Op: format.OpSendfile, Args: args(4, 3, -1, 100), Ret: 70}, 70, 70, 70},
		{format.Event{Op: format.OpSendfile, Args: args(4, 3, 10, 100), Ret: 70}, 0, 70, 70},
		{format.Event{Op: format.OpSplice, Args: args(3, -1, 4, 20, 100), Ret: 70}, 70, 0, 90},
		{format.Event{Op: format.OpCopyFileRange, Args: args(3, -1, 4, -1, 100), Ret: -5}, 0, 0, 0},
	} {
		test.event.TID = 1
		fl := follow(open("a", 3), open("b", 4), test.event)
		table := fl.Thread(&test.event).Table
		require.Equal(t, []int64{test.in, test.out, test.outBytes}, []int64{table.At(3).Offset, table.At(4).Offset, table.At(4).File.Length}, "%v", test.event)
	}
}

func TestFull(t *testing.T) {
	fl := New(&format.Header{}, 2)
	open := func(name string) *File {
		e := &format.Event{TID: 1, Op: format.OpOpen, Ret: 3, Str: [format.MaxStrings][]byte{[]byte(name)}}
		f, _ := fl.About(fl.Thread(e), e)
		return f
	}
	require.Equal(t, "/a", open("/a").Name)
	require.Equal(t, "/b", open("/b").Name)
	require.Equal(t, "/a", open("/a").Name)
	require.False(t, fl.Full())
	require.EqualValues(t, Others, open("/c").ID)
	require.True(t, fl.Full())
}

// Writes, fallocate and truncation set the length of a file, whatever the offset is.
func TestLengths(t *testing.T) {
	open := format.Event{Op: format.OpOpenat, TID: 1, Args: args(format.AtFDCWD, 0, format.RDWR), Str: name("a"), Ret: 3}
	write := format.Event{Op: format.OpPwrite64, TID: 1, Args: args(3, 0, 50, 100), Ret: 50}
	for _, test := range []struct {
		event          format.Event
		length, offset int64
	}{
		{format.Event{Op: format.OpWrite, Args: args(3, 0, 10), Ret: 10}, 150, 10},
		{format.Event{Op: format.OpPwritev2, Args: args(3, 0, 1, 20, 10, format.RwfAppend), Ret: 10}, 160, 0},
		{format.Event{Op: format.OpPwritev2, Args: args(3, 0, 1, -1, 10, format.RwfAppend), Ret: 10}, 160, 160},
		{format.Event{Op: format.OpPwritev2, Args: args(3, 0, 1, 20, 10, 0), Ret: 10}, 150, 0},
		{format.Event{Op: format.OpFtruncate, Args: args(3, 7)}, 7, 0},
		{format.Event{Op: format.OpTruncate, Args: args(0, 8), Str: name("a")}, 8, 0},
		{format.Event{Op: format.OpFallocate, Args: args(3, 0, 100, 200)}, 300, 0},
		{format.Event{Op: format.OpFallocate, Args: args(3, format.FallocKeepSize, 100, 200)}, 150, 0},
		{format.Event{Op: format.OpLseek, Args: args(3, 9, format.SeekSet), Ret: 9}, 150, 9},
	} {
		test.event.TID = 1
		d := follow(open, write, test.event).Living(1).Table.At(3)
		require.Equal(t, []int64{test.length, test.offset}, []int64{d.File.Length, d.Offset}, "%v", test.event)
	}
}
