package transform

import (
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
		"sync:none": `no transform "sync:"`,
		"sync=all":  `transform sync=all: want none, fdatasync or fsync, not "all"`,
	} {
		_, err := Parse(text)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, want, text)
		}
	}
}

// FuzzParse: whatever is asked for is a transform or an error.
func FuzzParse(f *testing.F) {
	for _, t := range All() {
		f.Add(t.Name + t.Arg)
	}
	f.Add("sync=none")
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := Parse(text)
		require.Equal(t, err == nil, fn != nil, text)
	})
}
