package recordkit

import (
	"os"
	"sync"
	"testing"

	"pianola/format"
)

// Variable is an environment variable. It makes tests that cannot record fail instead
// of skip, on machines that should be able to record.
const Variable = "PIANOLA_REQUIRE_BPF"

var (
	tried    sync.Once
	unusable error
)

// RequireEBPF skips the test if the kernel or the caller's privileges do not allow
// recording with eBPF. With PIANOLA_REQUIRE_BPF=1 it fails instead. measure is
// ebpf.MeasureCost, which it calls once; this package cannot import ebpf, whose tests
// import it.
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
