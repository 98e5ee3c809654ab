package bin

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// compiled returns the file that a Writer makes of events.
func compiled(t testing.TB, h *format.Header, events []format.Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, new(testkit.Spool))
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Close(h))
	return out.Bytes()
}

func opened(t testing.TB, file []byte) *Trace {
	t.Helper()
	tr, err := Open(bytes.NewReader(file), int64(len(file)), DefaultLimit)
	require.NoError(t, err)
	return tr
}

// every reads events to the end, or an error, in batches of n.
func every(r format.Reader, n int) ([]format.Event, error) {
	all, err := testkit.ReadAll(r, n)
	for i := range all {
		all[i].Notes = nil
	}
	return all, err
}
