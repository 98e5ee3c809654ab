package ptrace

import (
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// A call site is an instruction of two bytes. A jump has five. It takes the place of an
// instruction before it that loads the number, and the call stays after it; or of the call
// and of instructions after it that can be moved to the stub. As rr does
// (O'Callahan et al., Engineering Record And Replay For Deployability, 2017).

const (
	syscallBytes = 2
	jumpBytes    = 5
	loadBytes    = 5 // mov $nr, %eax
	maxInst      = 15

	// The bytes around a call that are looked at: for branches to what the jump covers.
	sightBytes = 160
)

// site is a call site that can become a jump.
type site struct {
	from   uint64          // the first byte that the jump covers
	call   uint64          // of the system call, where it is
	back   uint64          // where the stub returns to
	moved  []byte          // instructions that the stub executes after the call
	load   []byte          // and before it
	before [jumpBytes]byte // what is there before the jump
}

// siteOf returns the site of a call of number nr at address call, and false if it fits no
// pattern. The code is that from address at on.
func siteOf(code []byte, at, call, nr uint64) (s site, ok bool) {
	i := int(call - at)
	if i < loadBytes+1 || i+syscallBytes > len(code) || code[i] != 0x0f || code[i+1] != 0x05 {
		return s, false
	}
	if code[i-loadBytes] == 0xe9 { // its load is a jump already: the thread had executed it before
		return s, false
	}
	s = site{from: call, call: call}
	copy(s.before[:], code[i:])
	if load := code[i-loadBytes : i]; load[0] == 0xb8 && uint64(binary.LittleEndian.Uint32(load[1:])) == nr && code[i-loadBytes-1]&^0x0f != 0x40 { // no prefix
		s.from, s.back, s.load = call-loadBytes, call+syscallBytes, slices.Clone(load)
		copy(s.before[:], load)
		return s, !branches(code, at, s.from)
	}
	end := i + syscallBytes
	for end < i+jumpBytes {
		inst, err := x86asm.Decode(code[end:], 64)
		switch {
		case err == nil && inst.Op == x86asm.RET && inst.Args[0] == nil:
			end += inst.Len
			s.moved, s.back = slices.Clone(code[i+syscallBytes:end]), call+syscallBytes
			for end < i+jumpBytes { // what follows must be padding
				n := paddingAt(code[end:])
				if n == 0 {
					return s, false
				}
				end += n
			}
			return s, !branches(code, at, s.from)
		case err != nil || !movable(inst):
			return s, false
		}
		end += inst.Len
	}
	s.moved, s.back = slices.Clone(code[i+syscallBytes:end]), at+uint64(end)
	return s, !branches(code, at, s.from)
}

// paddingAt returns the length of an instruction that does nothing.
func paddingAt(code []byte) int {
	if len(code) > 0 && code[0] == 0xcc {
		return 1
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil || inst.Op != x86asm.NOP {
		return 0
	}
	return inst.Len
}

// movable reports whether an instruction does the same at another address.
func movable(inst x86asm.Inst) bool {
	if inst.PCRel != 0 {
		return false
	}
	for _, a := range inst.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.RIP {
			return false
		}
	}
	switch inst.Op {
	case x86asm.CALL, x86asm.JMP, x86asm.RET, x86asm.LCALL, x86asm.LJMP, x86asm.LRET, x86asm.INT, x86asm.SYSCALL, x86asm.SYSENTER,
		x86asm.HLT, x86asm.UD1, x86asm.UD2, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ:
		return false
	}
	return true
}

// branches reports whether a branch nearby leads into the jump.
func branches(code []byte, at, from uint64) bool {
	for i, b := range code {
		end, distance := i+2, int64(0)
		switch {
		case (b >= 0x70 && b < 0x80 || b >= 0xe0 && b <= 0xe3 || b == 0xeb) && end <= len(code):
			distance = int64(int8(code[i+1]))
		case b == 0xe9 && i+5 <= len(code):
			end, distance = i+5, int64(int32(binary.LittleEndian.Uint32(code[i+1:])))
		case b == 0x0f && i+6 <= len(code) && code[i+1]&0xf0 == 0x80:
			end, distance = i+6, int64(int32(binary.LittleEndian.Uint32(code[i+2:])))
		default:
			continue
		}
		target := at + uint64(int64(end)+distance)
		own := at+uint64(i) >= from && at+uint64(i) < from+jumpBytes // what the jump covers
		if target > from && target < from+jumpBytes && !own && begins(code, i, int(from-at)) {
			return true
		}
	}
	return false
}

// begins reports whether an instruction can begin at place i. The first instruction of the function
// is not known, but decoding from any byte meets the true ones after a few. So it decodes from
// several bytes, and takes the decodings that meet the call site.
func begins(code []byte, i, call int) bool {
	if i > call { // from there on it is known
		return passes(code, call, i)
	}
	known := false
	for start := range min(maxInst+1, i+1) {
		if passes(code, start, call) {
			known = true
			if passes(code, start, i) {
				return true
			}
		}
	}
	return !known
}

// passes reports whether an instruction begins at place to, where one begins at from.
func passes(code []byte, from, to int) bool {
	for from < to {
		inst, err := x86asm.Decode(code[from:], 64)
		if err != nil {
			from++
			continue
		}
		from += inst.Len
	}
	return from == to
}

// The places in a stub. It saves the red zone, calls the blob, and makes the call itself where
// the blob has not, with the registers and the stack of the program.
const (
	stubBytes = 64
	stubAfter = 21 // where what was moved begins
)

// stub returns the code of a stub at an address. The address of the blob is at literal.
func (s *site) stub(at, literal uint64) []byte {
	b := make([]byte, 0, stubBytes)
	b = append(b, s.load...)
	b = append(b, 0x48, 0x8d, 0x64, 0x24, 0x80) // lea -0x80(%rsp), %rsp
	b = relative(append(b, 0xff, 0x15), at, literal)
	b = append(b, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0) // lea 0x80(%rsp), %rsp
	b = append(b, 0x73, syscallBytes)                    // jnc
	b = append(b, 0x0f, 0x05)
	b = append(b, s.moved...)
	return relative(append(b, 0xe9), at, s.back)
}

// after returns where a stub continues once the call has returned.
func (s *site) after(stub uint64) uint64 {
	return stub + uint64(len(s.load)) + stubAfter + syscallBytes
}

// jump returns the code that replaces the first bytes of the site.
func (s *site) jump(stub uint64) []byte { return relative([]byte{0xe9}, s.from, stub) }

// relative appends the distance of target from the end of the instruction, which stands in code
// that begins at address at.
func relative(code []byte, at, target uint64) []byte {
	return binary.LittleEndian.AppendUint32(code, uint32(target-at-uint64(len(code))-4))
}
