package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseProcessors(t *testing.T) {
	for list, want := range map[string][]int{"": nil, "3": {3}, "0-2,8": {0, 1, 2, 8}, "1023": {1023}} {
		got, err := parseProcessors(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, list := range []string{"x", "1,", "3-1", "-1", "1024", "0-99999999"} {
		_, err := parseProcessors(list)
		require.Error(t, err, list)
	}
}
