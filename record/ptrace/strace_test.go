package ptrace

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/recordtest"
	"pianola/record"
)

func TestSameAsStrace(t *testing.T) {
	recordtest.SameAsStrace(t, func(t *testing.T, o record.Options, s record.Sink) {
		r, err := Run(context.Background(), o, s)
		require.NoError(t, err)
		require.Zero(t, r.Lost)
	})
}
