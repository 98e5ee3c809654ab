package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCounts(t *testing.T) {
	var c Counts
	require.Empty(t, c.String())
	c[OpWrite], c[OpRead] = 3, 12
	require.Equal(t, "read=12 write=3", c.String())
	require.EqualValues(t, 15, c.Total())
	require.Equal(t, c, ParseCounts(c.String()+" nosuch=1 close=-1 open=1x stat"))
}
