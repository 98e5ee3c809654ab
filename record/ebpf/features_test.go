package ebpf

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/record"
	"pianola/record/recordkit"
)

func TestFeatures(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	all, err := Features()
	require.NoError(t, err)
	require.Len(t, all, len(optionalFeatures))
	program, err := load(configOf(&record.Options{RingBytes: 1 << 20}))
	require.NoError(t, err)
	defer program.close()
	for i, f := range all {
		require.Regexp(t, `^[56]\.[0-9]+$`, f.Since)
		require.NotEmpty(t, f.Without, f.Name)
		if name := optionalFeatures[i].program; name != "" {
			_, loaded := program.coll.Programs[name]
			require.Equal(t, loaded, f.Present, "%s is loaded where the kernel has what it takes", name)
		}
	}
}

// TestVerifiedInstructions bounds what the verifier reads. It gives up at a million
// instructions: that of Linux 6.1 did so with a program of which 6.18 read 142,202.
func TestVerifiedInstructions(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	program, err := load(configOf(&record.Options{RingBytes: 1 << 20}))
	require.NoError(t, err)
	defer program.close()
	for name, p := range program.coll.Programs {
		info, err := p.Info()
		require.NoError(t, err)
		read, known := info.VerifiedInstructions()
		if !known {
			t.Skip("the kernel does not tell")
		}
		require.Less(t, read, uint32(200_000), name)
	}
}
