package ptrace

import (
	"testing"

	"pianola/record/recordkit"
)

func TestSameAsStrace(t *testing.T) { recordkit.SameAsStrace(t, Run) }
