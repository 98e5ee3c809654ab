package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// inFull parses a line without parsePlain.
func inFull(line string) (e format.Event, clock int64, msg string) {
	r := NewReader(strings.NewReader(""), "test")
	r.dialect = Recorded
	e.Dur = format.Unknown
	r.cursor = cursor{b: []byte(line)}
	if !r.parseRecorded(&e) && r.cursor.msg == "" {
		return e, r.clock, "no event"
	}
	return e, r.clock, r.cursor.msg
}

// atGlance parses a line by parsePlain.
func atGlance(line string) (e format.Event, clock int64, ok bool) {
	r := NewReader(strings.NewReader(""), "test")
	ok = r.parsePlain([]byte(line), &e)
	return e, r.clock, ok
}

// The lines that most scripts consist of are parsed at a glance.
func TestPlain(t *testing.T) {
	for _, line := range []string{
		"1000 0.000021000 pread64(3, 0x7f0000001000, 4096, 16379904) = 4096 <0.000001000>",
		"1 0.5 read(3, 0x0, 0) = 0 <0.123456>",
		"1 123456789.000000001 write(3, 0xffffffffffffffff, 999999999999999999) = 0 <0.123456789> {}",
		"4194304 0.000000 close(3) = 0 <0.000012> {faults=3 off=0.000001 x}",
		"7 0.000012345 fdatasync(3) = 0 <0.003000000>",
		"7 0.12345678 pwrite64(3, 12, 4096, 0x10) = 4096 <0.00000001>",
	} {
		want, clock, msg := inFull(line)
		require.Empty(t, msg, line)
		got, now, ok := atGlance(line)
		require.True(t, ok, line)
		require.Equal(t, want, got, line)
		require.Equal(t, clock, now, line)
	}
}

// The fast parser returns the same events as the full one.
func FuzzPlain(f *testing.F) {
	f.Add("1000 0.000021000 pread64(3, 0x7f0000001000, 4096, 8192) = 4096 <0.000001000>")
	f.Add("1 0.5 read(3, 0x0, 0) = 0 <0.123456> {faults=1 x}")
	f.Add("2147483648 0.5 pwritev(3, 0x1, 2, 0, 5) = 0 <0.000000000> {a=\"}\"}")
	f.Add("1 0.1 close(3) = 0 <0.1> <unfinished ...>")
	f.Fuzz(func(t *testing.T, line string) {
		got, now, ok := atGlance(line)
		if !ok {
			require.Zero(t, now)
			return
		}
		want, clock, msg := inFull(line)
		require.Empty(t, msg)
		require.Equal(t, want, got)
		require.Equal(t, clock, now)
	})
}
