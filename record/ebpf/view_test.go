package ebpf

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/script"
	"pianola/record"
	"pianola/record/recordkit"
)

// recordOf returns the record that the program in the kernel writes for a call.
func recordOf(c record.Call) []byte {
	e := bpf.CEvent{Start: uint64(c.Start), Dur: uint64(c.Dur) | uint64(c.Faults)<<bpf.CBitsDUR_BITS, Ret: c.Ret, Tid: uint32(c.TID), Nr: uint16(c.Nr), Args: c.Args,
		Flags: c.Flags | bpf.CFlag(c.Type<<bpf.CBitsTYPE_SHIFT)}
	if c.Details == nil && c.Off == (format.Off{}) && c.Args[4] == 0 && c.Args[5] == 0 && c.Calls <= uint32(bpf.CBitsMAX_CALLS) {
		e.Nr |= uint16(c.Calls << bpf.CBitsNR_BITS)
		return bytes.Clone(bytesOf(&e)[:plainSize])
	}
	e.Flags |= bpf.CFlagFLAG_WIDE
	e.Off = [...]uint64{bpf.COffKindOFF_READY: uint64(c.Off.Ready), bpf.COffKindOFF_OWN: uint64(c.Off.Own), bpf.COffKindOFF_WAIT: uint64(c.Off.Wait),
		bpf.COffKindOFF_TIMER: uint64(c.Off.Timer), bpf.COffKindOFF_STORAGE: uint64(c.Off.Storage), bpf.COffKindOFF_RECORDER: uint64(c.Taken)}
	e.Woken, e.Channel, e.Pos, e.Waker, e.Calls, e.Behind = uint64(c.Woken), c.Channel, c.Pos, uint32(c.Waker), c.Calls, uint32(c.Behind)
	if c.Details == nil {
		return bytes.Clone(bytesOf(&e))
	}
	e.Flags |= bpf.CFlagFLAG_RICH
	return slices.Concat(bytesOf(&e), bytesOf(c.Details), c.Text)
}

func bytesOf[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

func TestView(t *testing.T) {
	plain := record.Call{Start: 1, Dur: 1<<48 - 1, Ret: -2, Args: [6]uint64{1, 2, 3, 4}, TID: 5, Nr: 511, Flags: bpf.CFlagFLAG_KILLED, Faults: 65535, Type: 15, Calls: 127}
	wide := plain
	wide.Args[5], wide.Off = 6, format.Off{Wait: 7}
	wide.Waker, wide.Woken, wide.Calls, wide.Taken = 8, 9, 128, 10
	wide.Channel, wide.Pos, wide.Behind, wide.Flags = 10, 11, 12, wide.Flags|bpf.CFlagFLAG_UNIX
	rich := wide
	rich.Details, rich.Text = &bpf.CDetails{Ino: 8, Len: [2]uint16{2, 3}}, []byte("abcde")
	for _, test := range []struct {
		name  string
		call  record.Call
		bytes int
	}{
		{"plain", plain, 64},
		{"wide", wide, 160},
		{"rich", rich, 160 + 56 + 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := recordOf(test.call)
			require.Len(t, b, test.bytes)
			var c record.Call
			require.True(t, view(b, &c))
			require.Equal(t, test.call, c)
			for n := range b {
				require.False(t, view(bytes.Clone(b[:n]), &c), "cut at %d", n)
			}
		})
	}
}

func TestViewRichWithoutDetails(t *testing.T) {
	var c record.Call
	require.False(t, view(recordOf(record.Call{Flags: bpf.CFlagFLAG_RICH}), &c))
}

// FuzzRecord takes any bytes from the ring to the sink.
func FuzzRecord(f *testing.F) {
	number := func(op format.Op) uint32 { return uint32(op.Info().Sys[format.HostArch]) }
	f.Add(recordOf(record.Call{Nr: number(format.OpRead)}))
	f.Add(recordOf(record.Call{Nr: number(format.OpOpenat), Flags: bpf.CFlagFLAG_STAT | bpf.CFlagFLAG_FILE,
		Details: &bpf.CDetails{Len: [2]uint16{3}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}}, Text: []byte("abc")}))
	f.Add(recordOf(record.Call{Nr: number(format.OpRenameat2), Flags: 0xffff,
		Details: &bpf.CDetails{Len: [2]uint16{1, 65535}, State: [2]bpf.CStringState{9, 2}}, Text: []byte(strings.Repeat("x", 70000))}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c record.Call
		if !view(bytes.Clone(b), &c) {
			return
		}
		w := record.NewWriter(recordkit.SinkFunc(func(events []format.Event) error {
			require.True(t, events[0].Op.Valid())
			require.Equal(t, 1, bytes.Count(script.AppendEvent(nil, &events[0], 0), []byte("\n")), "an event is a line")
			return nil
		}), 0)
		if _, err := w.Add(&c); err == nil {
			require.NoError(t, w.Write())
			require.Equal(t, int64(1), w.Events())
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	raw := recordOf(record.Call{Nr: uint32(format.OpPread64.Info().Sys[format.HostArch])})
	w := record.NewWriter(recordkit.Discard{}, 0)
	var c record.Call
	b.ReportAllocs()
	for b.Loop() {
		if !view(raw, &c) {
			b.Fatal("no record")
		}
		full, err := w.Add(&c)
		if err == nil && full {
			err = w.Write()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
