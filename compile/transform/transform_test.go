package transform

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"sync=none": "",
		"nosuch":    `no transform "nosuch"`,
		"":          `no transform ""`,
		"sync":      "transform sync=none|fdatasync|fsync: the argument is missing",
		"sync=":     "transform sync=none|fdatasync|fsync: the argument is missing",
		"sync:none": `no transform "sync:none"`,
		"sync=all":  `transform sync=all: expected none, fdatasync or fsync, not "all"`,
	} {
		_, err := Builtin().Parse(text)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, want, text)
		}
	}
}

// FuzzParse: whatever is asked for is a transform or an error.
func FuzzParse(f *testing.F) {
	for _, t := range Builtin() {
		f.Add(t.Name + t.Arg.String())
	}
	f.Add("sync=none")
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := Builtin().Parse(text)
		require.Equal(t, err == nil, fn != nil, text)
	})
}

// A set has each name once, in order, and only names that can be asked for.
func TestWith(t *testing.T) {
	mine := Transform{Name: "mine", Doc: "does nothing", Keeps: "all", New: Builtin()[0].New}
	s := Builtin().With(mine)
	require.True(t, s.Has("mine"))
	require.False(t, Builtin().Has("mine"))
	require.True(t, slices.IsSortedFunc(s, func(a, b Transform) int { return strings.Compare(a.Name, b.Name) }))
	require.Panics(t, func() { s.With(mine) })
	for _, name := range []string{"", "a=b", "a:b", "a+b"} {
		mine.Name = name
		require.Panics(t, func() { Builtin().With(mine) }, name)
	}
	mine.Name, mine.New = "other", nil
	require.Panics(t, func() { Builtin().With(mine) })
}

// The table of the docs says which transforms take a compiled trace.
func TestCompiledTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/internals/transforms.md")
	require.NoError(t, err)
	var rows strings.Builder
	for _, one := range Builtin() {
		answer := "yes"
		if one.Needs != "" {
			answer = "no: " + one.Needs
		}
		fmt.Fprintf(&rows, "| `%s` | %s |\n", one.Name, answer)
	}
	require.Contains(t, string(page), rows.String())
}
