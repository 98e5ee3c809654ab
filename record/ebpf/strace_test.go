package ebpf

import (
	"testing"

	"pianola/internal/testkit/recordkit"
)

func TestSameAsStrace(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	recordkit.SameAsStrace(t, Run)
}
