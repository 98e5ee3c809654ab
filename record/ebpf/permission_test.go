package ebpf

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record"
	"pianola/record/recordkit"
)

func TestMissingCapabilities(t *testing.T) {
	tests := []struct{ name, status, want string }{
		{"root", "CapPrm:\t0\nCapEff:\t000001ffffffffff\n", ""},
		{"administrator", "CapEff:\t0000000000200000\n", ""},
		{"none", "CapEff:\t0000000000000000\n", "CAP_BPF+CAP_PERFMON"},
		{"one", "CapEff:\t0000008000000000\n", "CAP_PERFMON"},
		{"both", "CapEff:\t000000c000000000\n", ""},
		{"no such line", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, missingIn(test.status)) })
	}
}

func TestUserNamespace(t *testing.T) {
	require.True(t, isIdentity("         0          0 4294967295\n"))
	require.False(t, isIdentity("         0       1000          1\n"))
	require.False(t, isIdentity("         0       1000          1\n         1     100000      65536\n"))
	require.False(t, isIdentity("")) // it is not set yet
}

func TestPermission(t *testing.T) {
	err := permission(fmt.Errorf("load: %w", os.ErrPermission))
	require.ErrorIs(t, err, record.ErrPermission)
	if missing := missingCapabilities(); missing != "" {
		require.ErrorContains(t, err, missing)
		err = permission(errors.New("a library's"))
		require.ErrorIs(t, err, record.ErrPermission)
		return
	}
	if InUserNamespace() {
		require.ErrorIs(t, err, errNamespace)
		return
	}
	require.ErrorIs(t, err, os.ErrPermission)
	verifier := fmt.Errorf("load: %w", &ebpf.VerifierError{Cause: unix.EACCES, Log: []string{"R1 invalid mem access"}})
	err = permission(verifier)
	require.NotErrorIs(t, err, record.ErrPermission)
	require.ErrorContains(t, err, "the verifier of this kernel refuses the eBPF program")
	require.ErrorContains(t, err, "R1 invalid mem access")
	other := errors.New("other")
	require.Equal(t, other, permission(other))
	require.NoError(t, permission(nil))
}

func TestProbe(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	s, err := Probe()
	require.NoError(t, err)
	require.Empty(t, s.Problems)
	require.True(t, s.OK() && s.BTF && s.RingBuffer && s.TaskStorage && s.Programs)
	require.NotEmpty(t, s.Kernel)
	require.GreaterOrEqual(t, s.Cost.Inside+s.Cost.Outside, int64(0))
}
