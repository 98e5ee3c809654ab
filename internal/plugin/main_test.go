package plugin

import (
	"bufio"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// answer in the environment makes the test binary a backend that answers 4096
// to everything.
const answer = "PIANOLA_TEST_ANSWER"

func TestMain(m *testing.M) {
	if os.Getenv(answer) == "" {
		// Tests that are parallel wait for time to pass, and use no processor.
		if err := flag.Set("test.parallel", "16"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Bytes()[0] != '#' {
			if _, err := os.Stdout.WriteString("4096\n"); err != nil {
				os.Exit(1)
			}
		}
	}
}

// answering returns this binary as a backend.
func answering(t testing.TB) *Program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p, err := Parse("exec:env " + answer + "=1 " + self)
	require.NoError(t, err)
	return p
}
