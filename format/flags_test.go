package format

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// flagSets returns every set of flags that an argument of the table has.
func flagSets() map[string]*FlagSet {
	sets := make(map[string]*FlagSet)
	for op := OpNone + 1; op.Valid(); op++ {
		for _, a := range op.Info().Args {
			if a.Kind == Flags {
				sets[op.String()+" "+a.Name] = a.Flags
			}
		}
	}
	return sets
}

// TestFlagsRoundTrip takes words of flags from a platform to their names and
// back, for every architecture.
func TestFlagsRoundTrip(t *testing.T) {
	for name, set := range flagSets() {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			words := []uint64{0, 1<<32 - 1}
			for i := range set.Flags {
				words = append(words, set.Flags[i].Native[:]...)
			}
			for range 1000 {
				words = append(words, uint64(rnd.Uint32()), uint64(rnd.Uint32()&rnd.Uint32()&rnd.Uint32()))
			}
			for a := range numArch {
				for _, native := range words {
					canon := set.FromNative(a, native)
					text := set.Append(nil, canon)
					parsed, err := set.Parse(text)
					require.NoError(t, err, "%s", text)
					require.Equal(t, canon, parsed, "%s", text)
					back, ok := set.ToNative(a, parsed)
					require.True(t, ok || set.Enum, "%s", text) // no platform has an unknown value
					require.Equal(t, native, back, "%s on %s", text, a)
				}
			}
		})
	}
}

// TestFlagsKeepForeignBits holds that a canonical word with bits that no flag
// has survives its text, and that no platform claims to have them.
func TestFlagsKeepForeignBits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, set := range flagSets() {
		for range 1000 {
			canon := int64(rnd.Uint64())
			text := set.Append(nil, canon)
			parsed, err := set.Parse(text)
			require.NoError(t, err, "%s: %s", name, text)
			require.Equal(t, canon, parsed, "%s: %s", name, text)
		}
	}
	_, ok := OpenFlags.ToNative(AMD64, 1<<30)
	require.False(t, ok)
	_, ok = Whence.ToNative(AMD64, 9)
	require.False(t, ok)
}

func TestFlagWords(t *testing.T) {
	tests := []struct {
		set   *FlagSet
		amd64 uint64
		arm64 uint64
		canon int64
		text  string
	}{
		{OpenFlags, 0, 0, RDONLY, "O_RDONLY"},
		{OpenFlags, 0o102, 0o102, RDWR | CREAT, "O_RDWR|O_CREAT"},
		{OpenFlags, 0o4010001, 0o4010001, WRONLY | SYNC, "O_WRONLY|O_SYNC"},
		{OpenFlags, 0o10001, 0o10001, WRONLY | DSYNC, "O_WRONLY|O_DSYNC"},
		{OpenFlags, 0o20200002, 0o20040002, RDWR | TMPFILE, "O_RDWR|O_TMPFILE"},
		{OpenFlags, 0o200000, 0o40000, RDONLY | DIRECTORY, "O_RDONLY|O_DIRECTORY"},
		{OpenFlags, 0o40000, 0o200000, RDONLY | DIRECT, "O_RDONLY|O_DIRECT"},
		{PipeFlags, 0o2000000, 0o2000000, CLOEXEC, "O_CLOEXEC"},
		{Whence, 2, 2, SeekEnd, "SEEK_END"},
		{AccessMode, 0, 0, 0, "F_OK"},
		{AtFlags, 0, 0, 0, "0"},
		{CloneFlags, 0x1200011, 0x1200011, 0x1200000 | CloneSigchld, "SIGCHLD|CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID"},
		{FcntlCmd, 1030, 1030, FDupfdCloexec, "F_DUPFD_CLOEXEC"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, tt.canon, tt.set.FromNative(AMD64, tt.amd64))
			require.Equal(t, tt.canon, tt.set.FromNative(ARM64, tt.arm64))
			require.Equal(t, tt.text, string(tt.set.Append(nil, tt.canon)))
		})
	}
}

func TestFlagErrors(t *testing.T) {
	for _, text := range []string{"O_NOSUCH", "O_RDWR|", "|O_RDWR", "O_RDWR||O_CREAT", "-1", "0x", "0x100000000", "canon:0x", "canon:0x100000000", "canon:1"} {
		_, err := OpenFlags.Parse([]byte(text))
		require.ErrorIs(t, err, errFlag, text)
	}
	for _, text := range []string{"", "SEEK_NOSUCH", "SEEK_SET|SEEK_CUR"} {
		_, err := Whence.Parse([]byte(text))
		require.ErrorIs(t, err, errFlag, text)
	}
}
