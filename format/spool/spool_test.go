package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// made returns events of every shape that the bytes of data lead to.
func made(data []byte) (events []format.Event) {
	byte1 := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	number := func() int64 {
		switch b := byte1(); {
		case b < 64:
			return int64(b) - 32
		case b < 128:
			return 4096 * int64(b)
		default:
			var word [8]byte
			data = data[copy(word[:], data):]
			return int64(binary.LittleEndian.Uint64(word[:]))
		}
	}
	str := func() []byte {
		n := int(byte1())
		if n == 0 {
			return nil
		}
		n = min(n-1, len(data))
		s := data[:n:n]
		data = data[n:]
		return s
	}
	for len(data) > 0 {
		what := byte1()
		e := format.Event{Op: format.Op(byte1()) % format.Op(format.NumOps), TID: int32(what & 3), Start: number(), Dur: number(), Ret: number()}
		if what&4 != 0 {
			for k := range e.Args {
				e.Args[k] = number()
			}
		}
		if what&8 != 0 {
			e.TID = int32(number())
			e.Str[0], e.Str[1] = str(), str()
		}
		if what&16 != 0 {
			e.Notes = &format.Notes{
				Has: format.Noted(number()) & allNotes, Text: str(),
				Strings: [format.MaxStrings]format.StringState{format.StringState(byte1()), format.StringState(byte1())},
			}
			for has := e.Notes.Has; has != 0; {
				var f *format.Field
				f, has = has.Note()
				for i := range f.Parts {
					if p := &f.Parts[i]; p.IsText() {
						*p.Text(&e) = str()
					} else {
						p.Set(&e, number())
					}
				}
			}
		}
		if what&128 != 0 {
			e.Via = format.Via(byte1())
			e.How = format.How{Flags: number(), RW: number(), Slot: number(), Buf: number()}
		}
		if what&32 != 0 {
			e.Line = number()
			for i := range format.OwnFields {
				*format.OwnFields[i].Own(&e) = number()
			}
		}
		if what&64 != 0 {
			for range 1 + byte1()%4 {
				e.Edges = append(e.Edges, format.Edge{Thread: int32(number()), Kind: format.EdgeKind(byte1()), Event: number(), Delay: number()})
			}
		}
		events = append(events, e)
	}
	return events
}

// Readers return the appended events, in memory and from the file.
func FuzzSpool(f *testing.F) {
	f.Add([]byte("\x0c\x0a 12345678\x05/a/b\x00"))
	f.Add(bytes.Repeat([]byte{0x7f, 9, 33, 34, 200, 1, 2, 3}, 40))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip("longer than needed to show a fault")
		}
		want := made(data)
		var c codec
		var packed []byte
		for i := range want {
			packed = c.append(packed, &want[i])
		}
		var d decoder
		d.begin(append(packed, make([]byte, slack)...))
		for i := range want {
			require.True(t, d.more())
			var got format.Event
			d.next(&got)
			require.False(t, d.bad)
			require.Equal(t, want[i], got)
		}
		require.False(t, d.more())

		// Damaged data do no harm.
		d.begin(append(bytes.Clone(data), make([]byte, slack)...))
		for d.more() {
			d.next(new(format.Event))
		}
	})
}

func temporary(t *testing.T) *os.File {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// several are events that fill more chunks than stay in memory.
func several(n int) []format.Event {
	events := make([]format.Event, n)
	for i := range events {
		events[i] = format.Event{Op: format.OpPread64, TID: int32(i % 3), Start: int64(i) * 1000, Dur: int64(i % 7), Ret: 4096,
			Args: [format.MaxArgs]int64{3, int64(i) << 40, 4096, int64(i*i) % 1000003}}
		if i%5 == 0 {
			events[i].Op, events[i].Str[0] = format.OpStat, []byte(strings.Repeat("name", i%50))
		}
	}
	return events
}

// A Reader that begins before there are events reads what is read afterwards.
func TestFollow(t *testing.T) {
	file := temporary(t)
	s := New(file)
	want := several(300_000)
	type result struct {
		events []format.Event
		err    error
	}
	early := make(chan result)
	go func() {
		events, err := testkit.ReadAll(s.Reader(), 7)
		early <- result{events, err}
	}()
	for i := range want {
		require.NoError(t, s.Append(&want[i]))
	}
	fault := errors.New("line 7")
	s.End(fault)
	info, err := file.Stat()
	require.NoError(t, err)
	require.Positive(t, info.Size())
	first := <-early
	second, err := testkit.ReadAll(s.Reader(), 7)
	for _, got := range []result{first, {second, err}} {
		require.Equal(t, fault, got.err)
		require.Len(t, got.events, len(want))
		for i := range want { // Equal of all at once would print them all
			require.Equal(t, want[i], got.events[i])
		}
	}
}

// Few events need no file, none are the end.
func TestSmall(t *testing.T) {
	s := New(nil)
	want := several(1000)
	for i := range want {
		require.NoError(t, s.Append(&want[i]))
	}
	s.End(nil)
	got, err := testkit.ReadAll(s.Reader(), 7)
	require.NoError(t, err)
	require.Equal(t, want, got)

	s = New(nil)
	s.End(nil)
	_, err = testkit.ReadAll(s.Reader(), 7)
	require.NoError(t, err)
}

func TestUnknownOperation(t *testing.T) {
	require.ErrorContains(t, New(nil).Append(&format.Event{Op: format.Op(format.NumOps)}), fmt.Sprintf("unknown operation %d", format.NumOps))
}

// full is a file on a file system without room.
type full struct{ *os.File }

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A file that can't be written or read is an error, where it was met.
func TestFile(t *testing.T) {
	s := New(full{})
	want := several(300_000)
	var err error
	for i := 0; i < len(want) && err == nil; i++ {
		err = s.Append(&want[i])
	}
	require.ErrorIs(t, err, errFull)
	s.End(err)
	_, err = testkit.ReadAll(s.Reader(), 7)
	require.ErrorIs(t, err, errFull)

	file := temporary(t)
	s = New(file)
	for i := range want {
		require.NoError(t, s.Append(&want[i]))
	}
	s.End(nil)
	require.NoError(t, file.Truncate(chunkSize))
	_, err = testkit.ReadAll(s.Reader(), 7)
	require.ErrorContains(t, err, "read spool: EOF")
}

func BenchmarkSpool(b *testing.B) {
	events := several(4000)
	b.ReportAllocs()
	var packed []byte
	for b.Loop() {
		var c codec
		packed = packed[:0]
		for i := range events {
			packed = c.append(packed, &events[i])
		}
		var d decoder
		d.begin(packed[:len(packed)+slack])
		var e format.Event
		for d.more() {
			d.next(&e)
		}
	}
	b.ReportMetric(float64(len(packed))/4000, "B/event")
	b.ReportMetric(4000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
