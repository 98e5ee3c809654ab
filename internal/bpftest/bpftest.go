// Package bpftest gates tests that need the kernel to take eBPF programs, and
// makes the records that such a program writes.
package bpftest

import (
	"os"
	"sync"
	"testing"

	"pianola/record/ebpf"
)

// Variable in the environment makes tests that cannot record fail, where
// otherwise they are skipped: for machines that ought to be able to.
const Variable = "PIANOLA_REQUIRE_BPF"

// usable tries what every recording does.
var usable = sync.OnceValue(func() error {
	r, err := ebpf.Load(ebpf.Config{RingBytes: os.Getpagesize()})
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Attach()
})

// Require skips the test where the kernel cannot record or the caller may not.
// With PIANOLA_REQUIRE_BPF=1 it fails instead.
func Require(tb testing.TB) {
	tb.Helper()
	switch err := usable(); {
	case err == nil:
	case os.Getenv(Variable) == "1":
		tb.Fatalf("%s=1, but recording is not possible: %v", Variable, err)
	default:
		tb.Skipf("recording is not possible: %v", err)
	}
}
