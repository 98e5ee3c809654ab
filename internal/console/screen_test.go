package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCutLine(t *testing.T) {
	require.Equal(t, "▁▂", string(cutLine([]byte("▁▂▃"), 2)))
	require.Equal(t, "a", string(cutLine([]byte("a"), 5)))
}
