package transform

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// Each file of testdata is a script, whose remark "with" is what it goes
// through; its golden file is what comes out.
func TestGolden(t *testing.T) { testkit.Goldens(t, through) }

// through returns what comes out of a script that says what it goes through.
func through(t *testing.T, input []byte) []byte {
	_, line, _ := strings.Cut(string(input), "# with: ")
	line, _, _ = strings.Cut(line, "\n")
	f, err := Builtin().Parse(line)
	require.NoError(t, err)
	c := NewChain(func() (format.Reader, error) {
		return script.NewReader(bytes.NewReader(input), "test.txt"), nil
	}, f)
	var b bytes.Buffer
	w := script.NewWriter(&b)
	for range 2 { // the second pass must give the same
		b.Reset()
		w = script.NewWriter(&b)
		r, err := c.Open()
		require.NoError(t, err)
		events := make([]format.Event, 3)
		for {
			n, err := r.Read(events)
			if n == 0 {
				require.ErrorContains(t, err, "EOF")
				break
			}
			require.NoError(t, err)
			require.NoError(t, w.Write(events[:n]))
		}
		require.NoError(t, w.WriteHeader(r.Header()))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, c.Close())
	return b.Bytes()
}
