package layer

// Entry is the first instruction of a function, as far as the cost of a probe depends
// on it: what the kernel can carry out itself costs about a microsecond less than what
// it has to single-step. (arch/x86/kernel/uprobes.c, arch/arm64/kernel/probes/decode-insn.c)
type Entry string

// The kinds of entries.
const (
	Nop     Entry = "nop"      // a nop of five bytes, which newer kernels turn into a call
	Push    Entry = "push"     // a push
	Carried Entry = "emulated" // another that the kernel carries out
	Stepped Entry = "single-stepped"
)

// longest is how many bytes entryOf looks at.
const longest = 16

// entryOf says what a function begins with, and how many bytes of it a probe skips. A
// probe skips endbr64 (Intel CET), which does nothing and would be single-stepped.
func entryOf(code []byte, arch string) (e Entry, skip uint64) {
	if arch == "arm64" {
		return entryARM(code), 0
	}
	if len(code) >= 4 && string(code[:4]) == "\xf3\x0f\x1e\xfa" {
		code, skip = code[4:], 4
	}
	is := func(prefix ...byte) bool {
		return len(code) >= len(prefix) && string(code[:len(prefix)]) == string(prefix)
	}
	switch {
	case is(0x0f, 0x1f, 0x44, 0x00, 0x00):
		return Nop, skip
	case len(code) > 0 && code[0]&^7 == 0x50, len(code) > 1 && code[0] == 0x41 && code[1]&^7 == 0x50:
		return Push, skip
	case is(0x90), is(0x66, 0x90), is(0xe8), is(0xe9), is(0xeb),
		len(code) > 0 && code[0]&^15 == 0x70, len(code) > 1 && code[0] == 0x0f && code[1]&^15 == 0x80:
		return Carried, skip
	}
	return Stepped, skip
}

// entryARM knows branches and loads relative to the instruction; the rest of arm64 is
// single-stepped.
func entryARM(code []byte) Entry {
	if len(code) < 4 {
		return Stepped
	}
	word := uint32(code[0]) | uint32(code[1])<<8 | uint32(code[2])<<16 | uint32(code[3])<<24
	for _, p := range []struct{ mask, value uint32 }{
		{0x7c000000, 0x14000000}, // b, bl
		{0xff000010, 0x54000000}, // b.cond
		{0x7e000000, 0x34000000}, // cbz, cbnz
		{0x7e000000, 0x36000000}, // tbz, tbnz
		{0x1f000000, 0x10000000}, // adr, adrp
		{0x3b000000, 0x18000000}, // ldr of a literal
	} {
		if word&p.mask == p.value {
			return Carried
		}
	}
	return Stepped
}
