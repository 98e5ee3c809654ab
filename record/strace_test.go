package record_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/bpftest"
	"pianola/internal/recordtest"
	"pianola/record"
)

func TestSameAsStrace(t *testing.T) {
	bpftest.Require(t)
	recordtest.SameAsStrace(t, func(t *testing.T, o record.Options, s record.Sink) {
		r, err := record.Run(context.Background(), o, s)
		require.NoError(t, err)
		require.Zero(t, r.Lost, r.LostByOp)
	})
}
