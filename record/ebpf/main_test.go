package ebpf

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record"
	"pianola/record/recordkit"
)

func TestMain(m *testing.M) {
	recordkit.ReadMain()
	os.Exit(m.Run())
}

// recordLong is recordOne, unless tests are to be short: to attach takes long, and
// one more recording says nothing about concurrency.
func recordLong(t *testing.T, o record.Options, s record.Sink) (record.Result, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: one recording of many")
	}
	return recordOne(t, o, s)
}

// recordOne records a command in a new directory, and returns what was written
// to standard output, too.
func recordOne(t *testing.T, o record.Options, s record.Sink) (record.Result, string) {
	t.Helper()
	recordkit.RequireEBPF(t, MeasureCost)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	out, err := os.CreateTemp(t.TempDir(), "stdout")
	require.NoError(t, err)
	defer out.Close()
	if o.Stdout == nil {
		o.Stdout = out
	}
	if o.RingBytes == 0 {
		o.RingBytes = 1 << 20
	}
	r, err := Run(context.Background(), o, s)
	require.NoError(t, err)
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return r, string(text)
}

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }
