package bpftest

import (
	"encoding/binary"
	"unsafe"

	"pianola/record/ebpf"
)

// flagWide says that a record is not a plain one. View takes it off.
const flagWide = 1 << 9

// Record returns the record that the program in the kernel writes for e, by the
// layout in the documentation of package bpf. One without details has none, and
// no strings.
func Record(e ebpf.Event, d *ebpf.Details, strings string) []byte {
	order := binary.NativeEndian
	flags := e.Flags | e.Type<<12
	wide := d != nil || e.Off != 0 || e.Args[4] != 0 || e.Args[5] != 0
	if wide {
		flags |= flagWide
	}
	if d != nil {
		flags |= ebpf.FlagRich
	}
	b := order.AppendUint64(nil, e.Start)
	b = order.AppendUint64(b, e.Dur|uint64(e.Faults)<<48)
	b = order.AppendUint64(b, uint64(e.Ret))
	b = order.AppendUint32(b, e.Tid)
	b = order.AppendUint16(b, uint16(e.Nr))
	b = order.AppendUint16(b, uint16(flags))
	args := e.Args[:4]
	if wide {
		args = e.Args[:]
	}
	for _, a := range args {
		b = order.AppendUint64(b, a)
	}
	if wide {
		b = order.AppendUint64(b, e.Off)
	}
	if d != nil {
		b = append(b, (*[ebpf.DetailsBytes]byte)(unsafe.Pointer(d))[:]...)
		b = append(b, strings...)
	}
	return b
}
