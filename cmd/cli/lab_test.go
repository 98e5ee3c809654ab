package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/console"
)

// Another root does not help if TMPDIR is full.
func TestCompileHint(t *testing.T) {
	h, ok := errors.AsType[*console.Hint](compileHint(fmt.Errorf("write spool: %w", unix.ENOSPC)))
	require.True(t, ok)
	require.Contains(t, h.Text, "TMPDIR")
	require.Equal(t, exitInterrupted, compileHint(context.Canceled).(*exitError).status)
}
