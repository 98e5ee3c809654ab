package ebpf

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/testkit/recordkit"
	"pianola/record"
)

func TestLongestPause(t *testing.T) {
	require.Equal(t, maxPause, longestPause(record.DefaultRingBytes))
	require.Equal(t, minPause, longestPause(4096))
	middle := longestPause(16 << 20)
	require.Greater(t, middle, minPause)
	require.Less(t, middle, maxPause)
}

func TestDrainOfGarbage(t *testing.T) {
	for name, garbage := range map[string]string{"short": "abc", "a call that is not recorded": string(recordOf(record.Call{Nr: record.NrWait - 1}))} {
		t.Run(name, func(t *testing.T) {
			f := newFakeRing(256)
			f.put(uint32(len(garbage)), garbage)
			d := drain{ring: f.ring, writer: record.NewWriter(recordkit.Discard{}, 0)}
			_, err := d.all()
			require.ErrorContains(t, err, "read what the kernel recorded: ")
		})
	}
}
