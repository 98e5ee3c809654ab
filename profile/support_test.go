package profile

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

func read(t testing.TB, events ...format.Event) *Profile {
	t.Helper()
	p, err := Read(&testkit.Reader{Events: events, Batch: 3, Err: io.EOF})
	require.NoError(t, err)
	return p
}
