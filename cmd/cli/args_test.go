package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The parser wants options first; what follows an operand of compare and "--" is the
// second group.
func TestOptionsFirst(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"compare a b --json", "compare --json -- a b"},
		{"compare a -- b", "compare -- a -- b"},
		{"compare a --names x,y -- --json b --tolerance 5% c", "compare --names x,y --json --tolerance 5% -- a -- b c"},
		{"compare -- a b", "compare -- a b"},
		{"compare --json -- -a -b", "compare --json -- -a -b"},
		{"compare -- -a -- -b", "compare -- -a -- -b"},
		{"compare a -- -- -b", "compare -- a -- -b"},
		{"compare a -- b -- c", "compare -- a -- b -- c"},
		{"compare a --", "compare -- a --"},
		{"compare a --tolerance", "compare --tolerance"},
		{"convert a -- --x --", "convert -- a --x --"},
		{"record --json -- a -- b", "record --json -- a -- b"},
	} {
		args := strings.Fields("pianola " + test.given)
		require.Equal(t, "pianola "+test.want, strings.Join(optionsFirst(args, newApp().Commands), " "), test.given)
	}
}
