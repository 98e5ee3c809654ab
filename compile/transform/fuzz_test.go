package transform

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// FuzzTransforms takes scripts through transforms. Whatever they are there is no
// panic, a thread's events stay in their order, and a second pass gives the same.
func FuzzTransforms(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		_, with, _ := strings.Cut(string(text), "# with: ")
		with, _, _ = strings.Cut(with, "\n")
		f.Add(with, text)
	}
	f.Fuzz(func(t *testing.T, with string, text []byte) {
		var funcs []Func
		for _, one := range strings.Split(with, "+") {
			fn, err := Builtin().Parse(one)
			if err != nil || len(funcs) > 3 || strings.Contains(one, "clone") && len(funcs) > 0 || strings.Contains(one, "sessions") && len(funcs) > 0 {
				return
			}
			funcs = append(funcs, fn)
		}
		c := NewChain(func() (format.Reader, error) {
			return script.NewReader(bytes.NewReader(text), "fuzz.txt"), nil
		}, funcs...)
		defer c.Close()
		const most = 20_000
		read := func() (out []format.Event, failure string) {
			r, err := c.Open()
			if err != nil {
				return nil, err.Error()
			}
			batch := make([]format.Event, 5)
			for len(out) < most {
				n, err := r.Read(batch)
				if err != nil {
					require.Zero(t, n)
					r.Header()
					return out, err.Error()
				}
				for i := range n {
					out = append(out, batch[i].Clone())
				}
			}
			return out, ""
		}
		first, failure := read()
		second, again := read()
		require.Equal(t, failure, again)
		require.Equal(t, first, second)
	})
}
