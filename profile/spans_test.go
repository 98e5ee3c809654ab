package profile

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"strings"

	"pianola/format"
	scripts "pianola/format/script"
)

// spanOf returns a span, with times in microseconds.
func spanOf(tid int32, name, kind string, start, dur, bytes int64) format.Event {
	layer, function, _ := format.CutSpanName(name)
	return format.Event{TID: tid, Start: start * 1e3, Dur: dur * 1e3, Span: &format.Span{Layer: layer, Function: function, Kind: kind, Bytes: bytes}}
}

func functionOf(t *testing.T, p *Profile, name string) *Function {
	t.Helper()
	for _, f := range p.functions() {
		if f.fullName() == name {
			return &f
		}
	}
	require.Fail(t, "no function "+name)
	return nil
}

// A write makes no call, and the close after it makes three: each counts where it was made.
func TestSpansSayWhatTheyCaused(t *testing.T) {
	p, err := Read(scripts.NewReader(strings.NewReader(`# pianola script 1
# layer: hdf5 libhdf5.so.103
# layer: stdio libc.so.6
7 0.000000000 openat(AT_FDCWD, "/x", O_RDWR) = 3 <0.000005000>
7 0.000010000 hdf5:H5Dwrite(1) = 0 <0.000010000> {span=write bytes=10000}
7 0.000015000 pwrite64(3, 0x0, 4096, 0) = 4096 <0.000004000>
7 0.000005000 pwrite64(3, 0x0, 4096, 4096) = 4096 <0.000004000>
7 0.000005000 fsync(3) = -1 EIO (Input/output error) <0.000010000> {wait=500 ready=250}
7 -0.000012000 hdf5:H5Dclose(1) = 0 <0.000030000> {span=close failed}
7 0.000040000 exit_group(0) = ?
`), "s"))
	require.NoError(t, err)
	require.EqualValues(t, 5, p.All.Calls, "spans are no system calls")
	require.Len(t, p.Layers, 1, "nothing of stdio was called")
	write, end := functionOf(t, p, "hdf5:H5Dwrite"), functionOf(t, p, "hdf5:H5Dclose")
	require.Equal(t, "write", write.Kind)
	require.EqualValues(t, 1, write.Calls)
	require.Empty(t, write.Caused)
	require.True(t, write.Asks)
	require.EqualValues(t, 10000, write.Asked)
	require.EqualValues(t, 10e3, write.Compute())

	require.EqualValues(t, 1, end.Failed)
	require.False(t, end.Asks)
	require.Len(t, end.Caused, 2)
	require.Equal(t, format.OpPwrite64, end.Caused[0].Op)
	require.Equal(t, Total{Calls: 2, Bytes: 8192, Nanos: 8e3}, end.Caused[0].Total)
	require.EqualValues(t, 1, end.Caused[1].Errors)
	require.Equal(t, []int64{30e3, 30e3, 18e3, 500, 250, 11250}, []int64{end.Nanos, end.Self, end.System, end.Waiting, end.Ready, end.Compute()})

	all := &p.Layers[0].Spent
	require.Equal(t, []int64{2, 40e3, 40e3, 18e3, 10000, 3}, []int64{all.Calls, all.Nanos, all.Self, all.System, all.Asked, all.SystemCalls()})
}

// A call counts for the innermost function of each layer. A function within itself counts once.
func TestSpansNest(t *testing.T) {
	var c Collector
	c.spans.layer("a")
	c.spans.layer("b")
	require.NoError(t, c.Write([]format.Event{
		on(format.OpRead, 1, 0, 1, 100, "", 3),
		on(format.OpRead, 1, 20, 5, 100, "", 3),
		spanOf(1, "b:get", "read", 18, 10, 64),
		spanOf(1, "a:walk", "read", 15, 20, format.Unknown),
		on(format.OpRead, 1, 40, 5, 100, "", 3),
		spanOf(1, "a:leaf", "read", 38, 10, 50),
		on(format.OpWait, 2, 41, 4, 0, "", format.WaitFutex),
		spanOf(2, "b:get", "read", 40, 8, 64),
		spanOf(1, "a:walk", "read", 12, 50, 70),
		on(format.OpRead, 1, 70, 1, 100, "", 3),
	}))
	for range 2 { // a profile is made while there is more to come, too
		p := c.Profile()
		walk, leaf, get := functionOf(t, p, "a:walk"), functionOf(t, p, "a:leaf"), functionOf(t, p, "b:get")
		require.EqualValues(t, 2, walk.Calls)
		require.EqualValues(t, 50e3, walk.Nanos)
		require.EqualValues(t, 40e3, walk.Self)
		require.EqualValues(t, 1, walk.SystemCalls())
		require.EqualValues(t, 10e3, leaf.Nanos)
		require.EqualValues(t, 1, leaf.SystemCalls())
		require.EqualValues(t, 18e3, get.Nanos)
		require.EqualValues(t, 1, get.SystemCalls(), "the wait is none")
		require.EqualValues(t, 5e3, get.System)
		require.EqualValues(t, 4e3, get.Waiting)
		require.EqualValues(t, 9e3, get.Compute())
		require.Equal(t, "a", p.Layers[0].Name)
		require.EqualValues(t, 50e3, p.Layers[0].Nanos)
		require.EqualValues(t, 70, p.Layers[0].Asked, "what the inner function was asked for is part of it")
		require.EqualValues(t, 2, p.Layers[0].SystemCalls())
	}
}

// Time off the processor counts where it passed, also where the recording says so
// only at the next call, after the spans.
func TestSpansOffTheProcessor(t *testing.T) {
	var c Collector
	c.spans.layer("a")
	late := on(format.OpRead, 1, 110, 5, 100, "", 3)
	late.Off = format.Off{Ready: 10e3, Own: 40e3}
	require.NoError(t, c.Write([]format.Event{
		on(format.OpRead, 1, 5, 5, 100, "", 3), // ends at 10
		spanOf(1, "a:inner", "", 20, 20, format.Unknown),
		spanOf(1, "a:outer", "", 10, 60, format.Unknown),
		late,
		spanOf(1, "a:last", "", 90, 30, format.Unknown),
	}))
	p := c.Profile()
	require.EqualValues(t, 10e3, functionOf(t, p, "a:inner").Ready)
	require.EqualValues(t, 20e3, functionOf(t, p, "a:outer").Ready)
	require.EqualValues(t, 10e3, functionOf(t, p, "a:last").Ready)
}

// A span that holds more calls than are told apart has nearly all of them.
func TestSpansAreBounded(t *testing.T) {
	var c Collector
	c.spans.layer("a")
	const calls = 300_000
	random := rand.New(rand.NewPCG(1, 2))
	ops := []format.Op{format.OpRead, format.OpWrite, format.OpLseek}
	one := func(at int64) {
		e := on(ops[random.IntN(len(ops))], 1, at, 1, 1, "", 3)
		require.NoError(t, c.Write([]format.Event{e}))
	}
	for i := range int64(calls) {
		one(i * 2)
	}
	for i := range int64(calls) {
		one(1_000_000 + i*2)
	}
	list := c.tracker.threads.of(c.tracker.Thread(&format.Event{TID: 1})).spans.lists[0]
	require.LessOrEqual(t, len(list), maxBlocks)
	require.Equal(t, c.spans.blocks, len(list))
	require.NoError(t, c.Write([]format.Event{spanOf(1, "a:long", "", 1_000_000, 2*calls, format.Unknown)}))
	f := functionOf(t, c.Profile(), "a:long")
	require.InDelta(t, calls, f.SystemCalls(), calls/blockPart)
	require.LessOrEqual(t, f.SystemCalls(), int64(calls))

	// Threads that have ended need nothing.
	require.NoError(t, c.Write([]format.Event{on(format.OpExit, 1, 3_000_000, 0, format.NoResult, "")}))
	require.Zero(t, c.spans.blocks)
	require.Empty(t, c.spans.threads)

	// Names beyond the bound share a row.
	for i := range maxFunctions + 10 {
		require.NoError(t, c.Write([]format.Event{spanOf(2, "b:f"+strings.Repeat("x", i%100)+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)), "", 4_000_000, 0, format.Unknown)}))
	}
	for i := range maxLayers + 3 {
		require.NoError(t, c.Write([]format.Event{spanOf(2, "layer"+string(rune('a'+i))+":f", "", 4_000_000, 0, format.Unknown)}))
	}
	p := c.Profile()
	require.Len(t, p.Layers, maxLayers)
	require.EqualValues(t, 11, functionOf(t, p, "b:"+othersName).Calls)
}
