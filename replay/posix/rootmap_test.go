package posix

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseMap(t *testing.T) {
	m, err := ParseMap("*/a=b=dir")
	require.NoError(t, err)
	require.Equal(t, Map{"*/a=b", "dir"}, m)
	require.Equal(t, "*/a=b=dir", m.String())
	for _, text := range []string{"", "x", "=dir", "x="} {
		_, err := ParseMap(text)
		require.Error(t, err, text)
	}
}
