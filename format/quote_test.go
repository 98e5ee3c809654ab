package format_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestCommandLine(t *testing.T) {
	words := []string{"sh", "-c", `echo "it's" $x`, "", "a=b", "ä"}
	require.Equal(t, `sh -c 'echo "it'\''s" $x' '' a=b 'ä'`, format.CommandLine(words))
	require.Equal(t, "./app --n 10", format.CommandLine(strings.Fields("./app --n 10")))
}
