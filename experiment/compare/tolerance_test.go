package compare

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTolerance(t *testing.T) {
	for text, want := range map[string]float64{
		"5": 0.05, "5%": 0.05, "0.05": 0.05, "1": 0.01, "0.999": 0.999, "0.5%": 0.005, "0": 0, "300%": 3, "1e3": 10,
	} {
		got, err := ParseTolerance(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, got, 1e-12, text)
	}
	for _, text := range []string{"", "%", "-1", "much", "NaN", "Inf", "5%%", "1e9"} {
		_, err := ParseTolerance(text)
		require.ErrorContains(t, err, "is not a tolerance (want for example 10%, 10 or 0.1)", text)
	}
}
