package bin

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// version1 is a trace of version 1, which no Writer makes any more: 218 events
// of four threads in two processes, with a fileset, strings, durations, edges
// and a descriptor that is open at the start.
func version1(t testing.TB) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/version1.bin")
	require.NoError(t, err)
	return file
}

// printed returns a trace as pianola convert shows it.
func printed(t *testing.T, tr *Trace) string {
	t.Helper()
	var out bytes.Buffer
	p := script.NewIntermediateWriter(&out, tr.Header())
	r, batch := tr.Events(), make([]format.Event, 64)
	for {
		n, err := r.Read(batch)
		if n == 0 {
			require.Equal(t, io.EOF, err)
			break
		}
		require.NoError(t, p.Write(batch[:n]))
	}
	require.NoError(t, p.Flush())
	return out.String()
}

func TestVersion1(t *testing.T) {
	testkit.Golden(t, "version1.golden", []byte(printed(t, opened(t, version1(t)))))
}
