package ebpf

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit/recordkit"
	"pianola/record"
)

// recordOf returns the record that the program in the kernel writes for a call, by
// the layout in the documentation of the package.
func recordOf(c record.Call) []byte {
	order := binary.NativeEndian
	const rich, wide = 1, 1 << 9
	flags := uint32(c.Flags) | c.Type<<12
	args := c.Args[:4]
	if c.Details != nil || c.Off != (format.Off{}) || c.Args[4] != 0 || c.Args[5] != 0 || c.Calls > 127 {
		flags, args = flags|wide, c.Args[:]
	}
	if c.Details != nil {
		flags |= rich
	}
	nr := c.Nr
	if flags&wide == 0 {
		nr |= c.Calls << 9
	}
	b := order.AppendUint64(nil, uint64(c.Start))
	b = order.AppendUint64(b, uint64(c.Dur)|uint64(c.Faults)<<48)
	b = order.AppendUint64(b, uint64(c.Ret))
	b = order.AppendUint32(b, uint32(c.TID))
	b = order.AppendUint16(b, uint16(nr))
	b = order.AppendUint16(b, uint16(flags))
	for _, a := range args {
		b = order.AppendUint64(b, a)
	}
	if flags&wide != 0 {
		parts := c.Off.Parts()
		for _, part := range parts[:5] { // what is not told apart comes from older recordings only
			b = order.AppendUint64(b, uint64(*part))
		}
		b = order.AppendUint64(b, uint64(c.Taken))
		b = order.AppendUint64(b, uint64(c.Woken))
		b = order.AppendUint64(b, c.Channel)
		b = order.AppendUint32(b, c.Pos)
		b = order.AppendUint32(b, uint32(c.Waker))
		b = order.AppendUint32(b, c.Calls)
		b = order.AppendUint32(b, uint32(c.Behind))
	}
	if c.Details != nil {
		b = append(b, (*[detailsSize]byte)(unsafe.Pointer(c.Details))[:]...)
		b = append(b, c.Text...)
	}
	return b
}

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
