package experiment

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseNames(t *testing.T) {
	names, err := ParseNames("nvme,kernel-6.18+x")
	require.NoError(t, err)
	require.Equal(t, [2]string{"nvme", "kernel-6.18+x"}, names)
	for _, text := range []string{"", "a", "a,", ",b", "a,b,c", "a a,b", "a/b,c", "a\n,b", "\xff,b", `"a,b`, strings.Repeat("x", maxName+1) + ",y"} {
		_, err := ParseNames(text)
		require.ErrorContains(t, err, "is not a pair of names (want for example nvme,sata", text)
	}
	_, err = ParseNames("a,a")
	require.EqualError(t, err, "both sides are called a")
}
