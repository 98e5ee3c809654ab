package record

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
)

// kept is a sink that keeps what it is given.
type kept struct{ events []format.Event }

func (k *kept) Write(events []format.Event) error {
	for i := range events {
		k.events = append(k.events, events[i].Clone())
	}
	return nil
}

func (k *kept) WriteHeader(*format.Header) error { return nil }

// The opcodes of io_uring (io_uring.h).
const (
	opReadv, opFsync, opOpenat, opClose, opRead, opWrite, opMultishot = 1, 3, 18, 19, 22, 23, 49
)

func submitted(key uint64, opcode uint8) *Submission {
	return &Submission{CSubmission: bpf.CSubmission{Key: key, Start: 2000 + key, Begun: 2000, Batch: 7, Tid: 4711, Ring: 1, Reaped: 5,
		Entry: bpf.CEntry{Opcode: opcode, Fd: 3, Off: 8192, Addr: 0x1000, Len: 4096}}}
}

func ended(key uint64, ret int64) *Completion {
	return &Completion{CCompletion: bpf.CCompletion{Key: key, Ret: ret}}
}

func TestRequestsAreMatched(t *testing.T) {
	var k kept
	w := NewWriter(&k, 1000)
	first, second := submitted(1, opWrite), submitted(2, opRead)
	first.Entry.Flags, second.Entry.Off = 4, ^uint64(0)
	require.False(t, w.Submit(first))
	require.False(t, w.Submit(second))
	require.False(t, w.Complete(&Completion{CCompletion: bpf.CCompletion{Key: 2, End: 5000, Ret: 100}}))
	require.False(t, w.Complete(&Completion{CCompletion: bpf.CCompletion{Key: 1, End: 6000, Ret: 4096, Flags: bpf.CFlag(bpf.CFileTypeTYPE_PSEUDO << bpf.CBitsTYPE_SHIFT)}}))
	require.NoError(t, w.Unfinished())

	request := format.Request{Ring: 1, Batch: 7, Reaped: 5, Submitted: 2}
	all := format.NotedRing | format.NotedBatch | format.NotedReaped | format.NotedSubmitted
	read := format.Event{Op: format.OpRead, Via: format.ViaUring, TID: 4711, Start: 1002, Dur: 2998, Ret: 100, Args: [6]int64{3, 0x1000, 4096},
		Notes: &format.Notes{Has: all, Request: request}}
	request.Submitted, request.Flags = 1, 4
	write := format.Event{Op: format.OpPwrite64, Via: format.ViaUring, TID: 4711, Start: 1001, Dur: 3999, Ret: 4096, Args: [6]int64{3, 0x1000, 4096, 8192},
		Notes: &format.Notes{Has: all | format.NotedFlags | format.NotedType, Type: format.TypePseudo, Request: request}}
	require.Equal(t, []format.Event{read, write}, k.events)

	a := w.Account()
	require.Equal(t, coverage.Amount{Bytes: 100}, a.Recorded, "a request takes no time of a thread")
	require.Equal(t, []coverage.Missing{{Kind: coverage.Uring, Calls: 1, Reads: 1, Amount: coverage.Amount{Bytes: 100}}}, a.Requests)
	require.Empty(t, a.Missing)
}

// What can't be put together is counted as missing, and a request without a
// completion ends when another one takes its place or the recording ends.
func TestRequestsThatAreNotMatched(t *testing.T) {
	var k kept
	w := NewWriter(&k, 1000)
	w.Complete(&Completion{CCompletion: bpf.CCompletion{Key: 9, Flags: opRead, Ret: 50}})
	w.Complete(&Completion{CCompletion: bpf.CCompletion{Key: 9, Flags: opFsync, Ret: -22}})
	unreadable := submitted(1, opWrite)
	unreadable.Flags |= bpf.CFlagFLAG_UNREADABLE
	w.Submit(unreadable)
	w.Complete(ended(1, 30))
	w.Submit(submitted(2, opMultishot))
	w.Complete(ended(2, 0))
	require.Equal(t, []coverage.Missing{{Kind: coverage.Uring, Calls: 4, Reads: 1, Writes: 1, Amount: coverage.Amount{Bytes: 80}}}, w.Account().Missing)

	skipped := submitted(3, opWrite)
	skipped.Entry.Flags = 64
	w.Submit(skipped)
	w.Submit(submitted(3, opFsync))
	w.Submit(submitted(4, opRead))
	require.NoError(t, w.Unfinished())
	require.Len(t, k.events, 3)
	require.Equal(t, format.OpPwrite64, k.events[0].Op)
	for _, e := range k.events {
		require.Equal(t, []int64{format.NoResult, format.Unknown}, []int64{e.Ret, e.Dur})
	}
	require.EqualValues(t, 2*4096, w.Account().Recorded.Bytes, "as they asked for")
	require.NoError(t, w.Unfinished())
	require.Len(t, k.events, 3, "once")
}

// io_submit takes the first of its requests only.
func TestPartOfABatch(t *testing.T) {
	var k kept
	w := NewWriter(&k, 0)
	for i := range 3 {
		s := submitted(uint64(i), 0)
		s.Flags, s.Index, s.Process, s.Tid = bpf.CFlagFLAG_AIO, uint32(i), 1, 1
		w.Submit(s)
	}
	call := &Call{Nr: number(format.OpIOSubmit), TID: 1, Ret: 1, Args: [6]uint64{0x10, 3, 0x20}, Flags: bpf.CFlagFLAG_BATCH, Channel: 7, Pos: 1}
	if format.HostArch != format.AMD64 {
		call.Nr = uint32(format.OpIOSubmit.Info().Sys[format.HostArch])
	}
	_, err := w.Add(call)
	require.NoError(t, err)
	w.Complete(&Completion{CCompletion: bpf.CCompletion{Process: 1, Flags: bpf.CFlagFLAG_AIO, Ret: 4096}})
	require.NoError(t, w.Unfinished())
	require.Len(t, k.events, 2)
	require.Equal(t, []int64{1, 7}, []int64{int64(k.events[0].Notes.Request.Ring), k.events[0].Notes.Request.Batch})
	require.Empty(t, w.Account().Missing)
}

// A batch is cut whatever else is in flight, and has ended since.
func TestBatchesAreCut(t *testing.T) {
	var f inFlight
	add := func(tid int32, batch int64, index uint32, key uint64) {
		s := submitted(key, 0)
		s.Flags, s.Tid, s.Batch, s.Index = bpf.CFlagFLAG_AIO, uint32(tid), uint64(batch), index
		f.take(s.id())
		require.True(t, f.add(s))
	}
	keys := func() (all []uint64) {
		for _, id := range f.oldest() {
			all = append(all, id.Key)
		}
		return all
	}
	add(1, 1, 0, 10)
	add(1, 1, 1, 11)
	add(2, 2, 0, 20)
	add(1, 3, 0, 30)
	add(2, 2, 1, 21)
	add(1, 3, 1, 31)
	add(1, 3, 2, 32)
	ring := submitted(40, opRead)
	ring.Tid, ring.Batch = 1, 3
	require.True(t, f.add(ring))
	f.cut(1, 3, 1)
	require.Equal(t, []uint64{10, 11, 20, 30, 21, 40}, keys())
	f.cut(1, 3, 1)
	f.cut(3, 3, 0)
	f.cut(2, 1, 0)
	require.Equal(t, []uint64{10, 11, 20, 30, 21, 40}, keys(), "none of another thread or batch")
	f.cut(2, 2, 0)
	require.Equal(t, []uint64{10, 11, 30, 40}, keys())

	f.take(RequestID{Key: 30})
	add(1, 4, 0, 50)
	add(1, 4, 1, 50) // the same request twice
	add(1, 4, 2, 51)
	f.cut(1, 4, 1)
	require.Equal(t, []uint64{10, 11, 40}, keys())
	f.cut(1, 1, 0)
	require.Equal(t, []uint64{10, 11, 40}, keys(), "long since submitted")
}

// Requests without a completion stand in the order of their submission.
func TestUnfinishedRequestsAreInOrder(t *testing.T) {
	const n = 1000
	var k kept
	w := NewWriter(&k, 0)
	for i := range uint64(n) {
		w.Submit(submitted(i, opFsync))
	}
	for i := uint64(0); i < n; i += 3 { // so that later ones take their places
		w.Complete(ended(i, 0))
		w.Submit(submitted(n+i, opFsync))
	}
	require.NoError(t, w.Unfinished())
	unfinished := slices.DeleteFunc(k.events, func(e format.Event) bool { return e.Ret != format.NoResult })
	require.Len(t, unfinished, n)
	require.True(t, slices.IsSortedFunc(unfinished, func(a, b format.Event) int { return cmp.Compare(a.Start, b.Start) }))
}

func TestRequestsHaveNamesAndSlots(t *testing.T) {
	var k kept
	w := NewWriter(&k, 0)
	open := submitted(1, opOpenat)
	open.Entry = bpf.CEntry{Opcode: opOpenat, Fd: -100, Addr: 1, OpFlags: 2, Fd2: 5}
	open.Text, open.Len, open.State = []byte("data"), [2]uint16{4}, [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}
	w.Submit(open)
	copy(open.Text, "gone") // the text is the recorder's
	w.Complete(&Completion{CCompletion: bpf.CCompletion{Key: 1}, Details: &bpf.CDetails{Mode: 0o100600}})
	anywhere := submitted(2, opOpenat)
	anywhere.Entry = bpf.CEntry{Opcode: opOpenat, Fd: -100, Addr: 1, Fd2: -1}
	anywhere.State = [2]bpf.CStringState{bpf.CStringStateSTRING_UNREADABLE}
	w.Submit(anywhere)
	w.Complete(ended(2, 9))
	closing := submitted(3, opClose)
	closing.Entry = bpf.CEntry{Opcode: opClose, Fd2: 5}
	w.Submit(closing)
	w.Complete(ended(3, 0))
	require.NoError(t, w.Unfinished())

	require.Equal(t, "data", string(k.events[0].Str[0]))
	require.EqualValues(t, format.RDWR, k.events[0].Args[2])
	for i, slot := range []uint32{4, 9, 4} {
		require.True(t, k.events[i].Notes.Known(format.NotedSlot))
		require.Equal(t, slot, k.events[i].Notes.Request.Slot)
		require.False(t, k.events[i].Notes.Known(format.NotedMode), "descriptor 0 is another file")
	}
	require.Equal(t, format.StringUnreadable, k.events[1].Notes.Strings[0])
}

func TestRegistered(t *testing.T) {
	order := binary.NativeEndian
	list := func(first uint32, words ...uint32) []byte {
		b := order.AppendUint32(nil, first)
		for _, w := range words {
			b = order.AppendUint32(b, w)
		}
		return b
	}
	buffers := order.AppendUint64(order.AppendUint64(list(0), 0x1000), 4096)
	for _, test := range []struct {
		list []byte
		size uint64
		want string
	}{
		{list(0, 3, ^uint32(0), 7), 4, `"3,-1,7"`},
		{list(2, 3), 4, `"2=3"`},
		{buffers, 16, `"0x1000+4096"`},
		{buffers[:len(buffers)-1], 16, `""`},
		{list(0), 4, `""`},
		{list(0, 1), 0, "NULL"},
		{list(0, 1), 8, "NULL"},
		{nil, 4, "NULL"},
		{[]byte{1, 2}, 4, "NULL"},
	} {
		d := decoderForTests()
		require.Equal(t, test.want, string(d.registered(test.list, test.size).AppendQuoted(nil)))
	}
}

// More requests than are kept in flight are counted.
func TestRequestsInFlightAreBounded(t *testing.T) {
	w := NewWriter(&kept{}, 0)
	for i := range uint64(maxInFlight + 3) {
		w.Submit(submitted(i, opFsync))
	}
	require.EqualValues(t, 3, w.Account().Missing[0].Calls)
}

func TestRequestsAllocateNothing(t *testing.T) {
	w := NewWriter(discard{}, 0)
	s, c := submitted(0, opRead), ended(0, 4096)
	round := func() {
		for range 10 {
			for i := range uint64(32) {
				s.Key = i
				w.Submit(s)
			}
			for i := range uint64(32) {
				if c.Key = i; w.Complete(c) {
					require.NoError(t, w.Write())
				}
			}
		}
		require.NoError(t, w.Write())
	}
	round()
	require.Zero(t, testing.AllocsPerRun(20, round))
}

// BenchmarkPartsOfBatches measures an io_submit of which the kernel takes nothing, with many requests
// in flight.
func BenchmarkPartsOfBatches(b *testing.B) {
	var f inFlight
	s := submitted(0, 0)
	s.Flags = bpf.CFlagFLAG_AIO
	for i := range uint64(maxInFlight - 1) {
		s.Key, s.Tid = i, uint32(i)
		f.add(s)
	}
	s.Key, s.Tid = maxInFlight, 1
	for b.Loop() {
		s.Batch++
		f.add(s)
		f.cut(int32(s.Tid), int64(s.Batch), 0)
	}
}

// BenchmarkRequest measures a request from its submission to its event.
func BenchmarkRequest(b *testing.B) {
	w := NewWriter(discard{}, 0)
	s, c := submitted(0, opRead), ended(0, 4096)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		s.Key, c.Key = i%32, (i+1)%32 // 31 are in flight
		w.Submit(s)
		if w.Complete(c) {
			_ = w.Write()
		}
	}
}
