package ptrace

import (
	"bytes"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/bpf"
)

var (
	pageBytes = uint64(os.Getpagesize())
	zeroes    [unix.PathMax]byte
)

// firstBytes is how much of a string is read at first: most are shorter.
const firstBytes = 256

// readString appends the string that an argument points to to the thread's
// text, as string n.
func (t *thread) readString(n int, address uint64) {
	if address == 0 {
		t.details.State[n] = bpf.CStringStateSTRING_NULL
		return
	}
	if w := t.written; w != nil {
		p := &w.pieces[n]
		t.Text = append(t.Text, p.bytes...)
		t.details.State[n], t.details.Len[n] = bpf.CStringState(p.state), uint16(len(p.bytes))
		return
	}
	from, state := len(t.Text), bpf.CStringStateSTRING_UNREADABLE
	for size := uint64(firstBytes); ; size = pageBytes {
		// No read goes beyond a page, because the next may not be there.
		size = min(size, pageBytes-address%pageBytes, uint64(unix.PathMax-(len(t.Text)-from)))
		if size == 0 {
			state = bpf.CStringStateSTRING_CUT
			break
		}
		at := len(t.Text)
		t.Text = append(t.Text, zeroes[:size]...)
		got := t.peek(address, t.Text[at:])
		t.Text = t.Text[:at+got]
		if end := bytes.IndexByte(t.Text[at:], 0); end >= 0 {
			t.Text, state = t.Text[:at+end], bpf.CStringStateSTRING_WHOLE
			break
		}
		if uint64(got) < size {
			t.Text = t.Text[:from]
			break
		}
		address += size
	}
	t.details.State[n], t.details.Len[n] = state, uint16(len(t.Text)-from)
}

// peek reads memory of the thread's program, or what the record of a call has of it.
func (t *thread) peek(address uint64, into []byte) int {
	if t.written != nil {
		return t.written.peek(address, into)
	}
	return readMemory(t.TID, address, into)
}

// readSlice fills into from a thread's memory.
func readSlice[T any](t *thread, address uint64, into []T) bool {
	var one T
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(into))), len(into)*int(unsafe.Sizeof(one)))
	return t.peek(address, b) == len(b)
}

// readMemory reads from a thread's memory as much as there is of it, and
// returns how many bytes that is.
func readMemory(tid int32, address uint64, into []byte) int {
	if len(into) == 0 {
		return 0
	}
	local := unix.Iovec{Base: &into[0], Len: uint64(len(into))}
	remote := unix.RemoteIovec{Base: uintptr(address), Len: len(into)}
	n, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return 0
	}
	return int(n)
}

// asMemory returns the memory of *v.
func asMemory[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// readStruct fills *into from a thread's memory.
func readStruct[T any](t *thread, address uint64, into *T) bool {
	bytes := asMemory(into)
	return address != 0 && t.peek(address, bytes) == len(bytes)
}
