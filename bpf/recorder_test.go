package bpf_test

import (
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"pianola/bpf"
)

func TestLoad(t *testing.T) {
	r, err := bpf.Load(4096)
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) {
		t.Logf("%+v", ve)
	}
	require.NoError(t, err)
	require.NoError(t, r.Attach())
	require.NoError(t, r.Close())
}
