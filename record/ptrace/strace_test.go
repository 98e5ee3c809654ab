package ptrace

import (
	"testing"

	"pianola/internal/testkit/recordkit"
)

func TestSameAsStrace(t *testing.T) { recordkit.SameAsStrace(t, Run) }
