package compare

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile"
)

func read(t testing.TB, events ...format.Event) *profile.Profile {
	t.Helper()
	p, err := profile.Read(&testkit.Reader{Events: events, Batch: 3, Err: io.EOF})
	require.NoError(t, err)
	return p
}
