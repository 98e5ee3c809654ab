package format

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandLine(t *testing.T) {
	words := []string{"sh", "-c", `echo "it's" $x`, "", "a=b", "ä"}
	require.Equal(t, `sh -c 'echo "it'\''s" $x' '' a=b 'ä'`, CommandLine(words))
	require.Equal(t, "./app --n 10", CommandLine(strings.Fields("./app --n 10")))
}

func TestQuote(t *testing.T) {
	tests := []struct{ value, text string }{
		{"", `""`},
		{"plain /a-b", `"plain /a-b"`},
		{"q\"b\\", `"q\"b\\"`},
		{"\n\t\r\v\f", `"\n\t\r\v\f"`},
		{"\x00", `"\0"`},
		{"\x001", `"\0001"`},
		{"\x008", `"\08"`},
		{"\x1b7", `"\0337"`},
		{"\xff\x7f", `"\377\177"`},
	}
	for _, tt := range tests {
		require.Equal(t, tt.text, string(AppendQuoted(nil, []byte(tt.value))))
		value, rest, err := Unquote([]byte("dst"), []byte(tt.text+" rest"))
		require.NoError(t, err, tt.text)
		require.Equal(t, "dst"+tt.value, string(value))
		require.Equal(t, " rest", string(rest))
	}
}

func TestQuoteRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		s := make([]byte, rnd.IntN(8))
		for i := range s {
			s[i] = byte(rnd.Uint32() & rnd.Uint32()) // many octal digits and control characters
		}
		text := AppendQuoted(nil, s)
		got, rest, err := Unquote([]byte{}, text)
		require.NoError(t, err, "%s", text)
		require.Empty(t, rest)
		require.Equal(t, s, got, "%s", text)
	}
}

func TestUnquoteForeign(t *testing.T) {
	got, _, err := Unquote(nil, []byte(`"\x41\xa\'\?"`))
	require.NoError(t, err)
	require.Equal(t, "A\n'?", string(got))
	for text, want := range map[string]error{
		``: errQuote, `a`: errQuote, `"\xg"`: errQuote, `"\400"`: errQuote, `"\e"`: errQuote,
		`"`: errUnended, `"a`: errUnended, `"\`: errUnended, `"\"`: errUnended,
	} {
		_, _, err := Unquote(nil, []byte(text))
		require.ErrorIs(t, err, want, text)
	}
}

func TestSeconds(t *testing.T) {
	tests := []struct {
		nanos int64
		text  string
	}{
		{0, "0.000000000"},
		{1, "0.000000001"},
		{-1, "-0.000000001"},
		{102840, "0.000102840"},
		{999_999_999, "0.999999999"},
		{1_000_000_000, "1.000000000"},
		{-12_345_678_901, "-12.345678901"},
		{maxSeconds * 1e9, "2305843008.000000000"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.text, string(AppendSeconds(nil, tt.nanos)))
		nanos, err := ParseSeconds([]byte(tt.text))
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.nanos, nanos)
	}
	for text, want := range map[string]int64{"7": 7e9, "0.5": 5e8, "0.00010284": 102840, "1.0000000019": 1_000_000_001} {
		nanos, err := ParseSeconds([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, nanos, text)
	}
	for _, text := range []string{"", "-", ".5", "1.", "1.x", "x", "1 ", "+1", "--1", "1e3"} {
		_, err := ParseSeconds([]byte(text))
		require.ErrorIs(t, err, errSeconds, text)
	}
	_, err := ParseSeconds([]byte("2305843010"))
	require.ErrorIs(t, err, errSecondsRange)

	nanos, n, err := ScanSeconds([]byte("-1.25>"))
	require.NoError(t, err)
	require.EqualValues(t, -1_250_000_000, nanos)
	require.Equal(t, 5, n)
	for _, nanos := range []int64{math.MaxInt64, math.MinInt64} {
		require.Equal(t, big.NewRat(nanos, 1e9).FloatString(9), string(AppendSeconds(nil, nanos)))
	}
}

func TestNote(t *testing.T) {
	notes := []byte(`size=12 new  name="a b\" size=3" type=reg empty= `)
	tests := []struct {
		key, value string
		ok         bool
	}{
		{"size", "12", true},
		{"new", "", true},
		{"name", `"a b\" size=3"`, true},
		{"type", "reg", true},
		{"empty", "", true},
		{"siz", "", false},
		{"b", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		value, ok := Note(notes, tt.key)
		require.Equal(t, tt.ok, ok, tt.key)
		require.Equal(t, tt.value, string(value), tt.key)
	}
	_, ok := Note(nil, "size")
	require.False(t, ok)
	value, ok := Note([]byte(`a="no end`), "a")
	require.True(t, ok)
	require.Equal(t, `"no end`, string(value))
	require.Zero(t, testing.AllocsPerRun(10, func() { Note(notes, "type") }))
}

func TestEightDigits(t *testing.T) {
	word := func(s string) (v uint64) {
		for i := range s {
			v |= uint64(s[i]) << (8 * i)
		}
		return v
	}
	for text, want := range map[string]uint64{"00000000": 0, "12345678": 12345678, "99999999": 99999999, "00000010": 10} {
		got, ok := eightDigits(word(text))
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for b := range 256 {
		for i := range 8 {
			text := []byte("12345678")
			text[i] = byte(b)
			_, ok := eightDigits(word(string(text)))
			require.Equal(t, b >= '0' && b <= '9', ok, "%q", text)
		}
	}
}
