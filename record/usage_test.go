package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/provenance"
)

func TestUsage(t *testing.T) {
	u, err := provenance.ReadProcessors()
	require.NoError(t, err)
	require.Positive(t, u.Allowed.All)
	require.LessOrEqual(t, u.Allowed.All, u.All.All+uint64(1000)) // each line of the file is rounded

	for name, test := range map[string]struct {
		to      usage
		delayed string
		stolen  string
	}{
		"nothing":    {to: usage{own: time.Second}},
		"idle":       {to: usage{Processors: provenance.Processors{Allowed: provenance.Ticks{All: 1000, Idle: 200}}, own: time.Second}},
		"saturated":  {to: usage{Processors: provenance.Processors{Allowed: provenance.Ticks{All: 1000, Idle: 20}}, own: time.Second}, delayed: "0.080"},
		"stolen":     {to: usage{Processors: provenance.Processors{All: provenance.Ticks{All: 1000, Idle: 500, Stolen: 50}}}, stolen: "0.100"},
		"impossible": {to: usage{Processors: provenance.Processors{Allowed: provenance.Ticks{All: 10}}, own: time.Second}, delayed: "1.000"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &format.Header{}
			putUsage(h, usage{}, test.to)
			delayed, _ := h.Value(format.MetaDelayed)
			require.Equal(t, test.delayed, delayed)
			stolen, _ := h.Value(format.MetaStolen)
			require.Equal(t, test.stolen, stolen)
		})
	}
}
