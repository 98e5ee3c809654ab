package ebpf

import (
	"testing"

	"pianola/record/recordkit"
)

func TestSameAsStrace(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	recordkit.SameAsStrace(t, Run)
}
