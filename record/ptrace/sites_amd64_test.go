package ptrace

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Code as the compilers of glibc, musl and Go make it.
func TestSites(t *testing.T) {
	const at, nr = 0x1000, 17
	for _, test := range []struct {
		name, before, after string
		from, back          int64 // after the begin of the call; back is 0 if it is not a site
		moved               string
	}{
		{"glibc", "49 89 ca b8 11 00 00 00", "48 3d 00 f0 ff ff 77 1a c3", -5, 2, ""},
		{"another number", "49 89 ca b8 12 00 00 00", "48 3d 00 f0 ff ff 77 1a c3", 0, 8, "48 3d 00 f0 ff ff"},
		{"read of glibc", "90 90 90 90 74 13 31 c0", "48 3d 00 f0 ff ff 77 4f c3", 0, 8, "48 3d 00 f0 ff ff"},
		{"an argument of r8", "90 90 41 b8 11 00 00 00", "48 89 c5 48 3d 00 f0 ff ff", 0, 5, "48 89 c5"},
		{"Syscall6 of Go", "90 90 48 8b 44 24 08 90", "48 3d 01 f0 ff ff 76 1f", 0, 8, "48 3d 01 f0 ff ff"},
		{"two instructions", "90 90 90 90 90 90 31 c0", "89 c2 85 c0 75 11", 0, 6, "89 c2 85 c0"},
		{"return and padding", "90 90 90 90 90 90 90 90", "c3 66 66 2e 0f 1f 84 00 00 00 00 00", 0, 2, "c3"},
		{"pop, return", "90 90 90 90 90 90 90 90", "41 5c c3 66 66 2e 0f 1f 84 00 00 00 00 00", 0, 2, "41 5c c3"},
		{"return and code", "90 90 90 90 90 90 90 90", "c3 31 c0 c3 90 90 90", 0, 0, ""},
		{"a branch follows", "90 90 90 90 90 90 31 c0", "73 01 c3 90 90 90", 0, 0, ""},
		{"a place by its distance", "90 90 90 90 90 90 31 c0", "8b 05 50 ea 1a 00 90", 0, 0, ""},
		{"a call follows", "90 90 90 90 90 90 31 c0", "e8 00 00 00 00 90", 0, 0, ""},
		{"a branch into it", "90 90 eb 06 90 90 90 90", "48 3d 00 f0 ff ff c3", 0, 0, ""},
		{"what looks like one", "90 48 89 74 24 02 90 90", "48 3d 00 f0 ff ff c3", 0, 8, "48 3d 00 f0 ff ff"},
		{"a jump already", "90 90 90 e9 11 00 00 00", "48 3d 00 f0 ff ff c3", 0, 0, ""},
		{"the end", "90 90 90 90 90 90 31 c0", "48 3d", 0, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := unhex(t, test.before)
			code := append(append(before, 0x0f, 0x05), unhex(t, test.after)...)
			call := uint64(at + len(before))
			s, ok := siteOf(code, at, call, nr)
			require.Equal(t, test.back != 0, ok)
			if !ok {
				return
			}
			require.Equal(t, call+uint64(test.from), s.from)
			require.Equal(t, call+uint64(test.back), s.back)
			require.Equal(t, unhex(t, test.moved), append([]byte{}, s.moved...))
			require.Equal(t, code[s.from-at:][:jumpBytes], s.before[:])

			const stub = 0x7000
			text := s.stub(stub, stub-stubBytes)
			require.LessOrEqual(t, len(text), stubBytes)
			require.True(t, isStub(text[:s.after(stub)-stub-syscallBytes]))
			end := uint64(stub + len(text))
			require.Equal(t, s.back, end+uint64(int64(int32(binary.LittleEndian.Uint32(text[len(text)-4:])))), "the jump back")
			jump := s.jump(stub)
			require.Equal(t, uint64(stub), s.from+jumpBytes+uint64(int64(int32(binary.LittleEndian.Uint32(jump[1:])))))
		})
	}
}

func unhex(t *testing.T, text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return append([]byte{}, b...)
}

// Whatever the code is, the search for a site ends, and what it takes over is what is there.
func FuzzSites(f *testing.F) {
	f.Add(unhex(&testing.T{}, "4989cab8110000000f05483d00f0ffff771ac3"), 8)
	f.Fuzz(func(t *testing.T, code []byte, at int) {
		if at < 0 || at+2 > len(code) || len(code) > 400 {
			return
		}
		code[at], code[at+1] = 0x0f, 0x05
		s, ok := siteOf(code, 0x1000, 0x1000+uint64(at), 17)
		if !ok {
			return
		}
		require.LessOrEqual(t, len(s.stub(0x7000, 0x6000)), stubBytes)
		require.Equal(t, code[s.from-0x1000:][:min(jumpBytes, len(code)-int(s.from-0x1000))], s.before[:min(jumpBytes, len(code)-int(s.from-0x1000))])
	})
}
