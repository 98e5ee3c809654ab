package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A thread takes the processor that is free first, when it asks or later.
func TestTakeProcessors(t *testing.T) {
	p := newProcessors(2)
	for _, test := range []struct{ from, nanos, until int64 }{
		{100, 50, 150},
		{100, 20, 120},
		{110, 10, 130}, // after the second
		{110, 5, 135},
		{140, 0, 140}, // only looks
		{145, 10, 155},
		{145, 10, 160}, // after the first
	} {
		require.Equal(t, test.until, p.take(test.from, test.nanos), "%+v", test)
	}
}
