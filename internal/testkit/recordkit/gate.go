package recordkit

import (
	"os"
	"sync"
	"testing"

	"pianola/format"
)

// Variable in the environment makes tests that cannot record fail, where
// otherwise they are skipped: for machines that ought to be able to.
const Variable = "PIANOLA_REQUIRE_BPF"

var (
	tried    sync.Once
	unusable error
)

// RequireEBPF skips the test where the kernel cannot record with eBPF or the
// caller may not. With PIANOLA_REQUIRE_BPF=1 it fails instead. measure is
// ebpf.MeasureCost, which is tried once; this package can't import it, because
// the tests of package ebpf import this one.
func RequireEBPF(tb testing.TB, measure func() (format.Cost, error)) {
	tb.Helper()
	tried.Do(func() { _, unusable = measure() })
	switch {
	case unusable == nil:
	case os.Getenv(Variable) == "1":
		tb.Fatalf("%s=1, but recording is not possible: %v", Variable, unusable)
	default:
		tb.Skipf("recording is not possible: %v", unusable)
	}
}
