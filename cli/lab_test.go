package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A full TMPDIR is not helped by another root.
func TestCompileHint(t *testing.T) {
	h, ok := errors.AsType[*hint](compileHint(fmt.Errorf("write spool: %w", unix.ENOSPC)))
	require.True(t, ok)
	require.Contains(t, h.text, "TMPDIR")
	require.Equal(t, exitInterrupted, compileHint(context.Canceled).(*exitError).status)
}
