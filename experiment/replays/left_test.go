package replays

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Events that the last reply to a client left are counted, and the run is whole.
func TestLeft(t *testing.T) {
	trace := traceOf(t, "a.bin")
	r := NewReport(1, trace)
	results := resultsOf(t, 1, trace)
	results[0].Left = 1
	require.NoError(t, r.Add(results, nil))
	require.Contains(t, text(t, r), "\n1 event of the recording was not replayed: the last reply to a client ended the replay\n")
	require.NotNil(t, document(t, r)["comparison"])
	require.EqualValues(t, 1, document(t, r)["left_events"])
	require.Equal(t, false, document(t, r)["interrupted"])

	results = resultsOf(t, 1, trace)
	results[0].Left = 7
	require.NoError(t, r.Add(results, nil))
	require.Contains(t, text(t, r), "\n1 to 7 events of the recording were not replayed: the last reply to a client ended the replay\n")

	copies := NewReport(2, trace)
	results = resultsOf(t, 2, trace)
	require.NoError(t, copies.Add(results, nil))
	require.NotContains(t, text(t, copies), "not replayed")
	results[1].Left = 2
	require.Contains(t, text(t, copies), "\n0 to 2 events of the recording were not replayed: ")
}
