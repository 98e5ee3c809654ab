package table

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestFormat(t *testing.T) {
	rows := [][]string{{"name", "µs", "note"}, {"a", "12.5", ""}, {"longer", "7", "x"}}
	for _, test := range []struct {
		left func(int) bool
		want string
	}{
		{FirstLeft, "name      µs  note\na       12.5\nlonger     7     x\n"},
		{AllLeft, "name    µs    note\na       12.5\nlonger  7     x\n"},
		{AllRight, "  name    µs  note\n     a  12.5\nlonger     7     x\n"},
	} {
		require.Equal(t, test.want, Format(rows, test.left))
	}
	require.Empty(t, Format(nil, FirstLeft))
}

func TestFit(t *testing.T) {
	long := strings.Repeat("directory/", 20) + "file"
	lines := strings.Split(strings.TrimSuffix(Fit([][]string{{"file", "ms", "on"}, {long, "1.5", long}, {"short", "22.5", "b"}}, func(column int) bool { return column != 1 }), "\n"), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, Width, utf8.RuneCountInString(lines[1]), "a long name takes what room there is")
	require.True(t, strings.HasSuffix(lines[1], "directory/file"), lines[1])
	require.Equal(t, 2, strings.Count(lines[1], "…"))
	require.Contains(t, lines[2], "22.5")

	numbers := [][]string{slices.Repeat([]string{"123456789"}, 20)}
	require.Equal(t, Format(numbers, AllRight), Fit(numbers, AllRight), "numbers are not cut")
	short := [][]string{{"a", "1"}}
	require.Equal(t, Format(short, FirstLeft), Fit(short, FirstLeft))
}

// Columns on the right are left out where names cannot be cut enough, except for those that are kept.
func TestNarrow(t *testing.T) {
	row := append([]string{strings.Repeat("n", 60)}, slices.Repeat([]string{"123456789"}, 12)...)
	row[12] = "kept"
	text, leftOut := Narrow([][]string{row}, FirstLeft, func(column int) bool { return column == 0 || column == 12 })
	require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(text)), Width)
	require.Equal(t, 5, leftOut)
	require.True(t, strings.HasSuffix(text, "kept\n"), text)
	require.Contains(t, text, "…")
	text, leftOut = Narrow([][]string{{"a", "1"}, {"b"}}, FirstLeft, AllRight)
	require.Equal(t, "a  1\nb\n", text, "a row can be short")
	require.Zero(t, leftOut)
}

func TestUnit(t *testing.T) {
	for _, test := range []struct {
		longest, seconds float64
		want             string
	}{
		{334, 35.8, "35.800 s"},
		{334, 0, "0.000 s"},
		{334, 0.0004, "<0.001 s"},
		{0.9, 0.0358, "35.800 ms"},
		{0.0005, 0.0000004, "0.400 µs"},
		{0, 0, "0.000 µs"},
	} {
		u := UnitOf(test.longest)
		require.Equal(t, test.want, u.Format(test.seconds)+" "+u.Name)
	}
	require.Equal(t, "1.500 ms", Duration(0.0015))
	require.Equal(t, Missing, Unit{}.Optional(nil))
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Percent(0.5):         "50 %",
		Percent(0.12345):     "12.3 %",
		Percent(1000):        "100000 %",
		Share(1, 3):          "33.3 %",
		Share(1, 0):          Missing,
		Micros(1234):         "1.2",
		Plural(1, "process"): "1 process",
		Plural(2, "process"): "2 processes",
		Plural(0, "thread"):  "0 threads",
	} {
		require.Equal(t, want, got)
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, `"a\nb"`, Name("a\nb"))
	require.Equal(t, "dir/file", ShortName("dir/file"))
	long := "a/very/long/directory/whose/name/does/not/fit/a/cell/file"
	require.Equal(t, "a/very/long…se/name/does/not/fit/a/cell/file", ShortName(long))
}

func TestBytes(t *testing.T) {
	for bytes, want := range map[float64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB", 99_960: "100 kB", 999_600: "1.00 MB", 88_121_491: "88.1 MB", 9e18: "9.00 EB",
	} {
		require.Equal(t, want, Bytes(bytes))
	}
}
