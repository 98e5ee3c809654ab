package record

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestComplete(t *testing.T) {
	require.EqualError(t, (&Options{}).Complete(), "no command to record")
	o := Options{Command: []string{"true"}, Dir: "/dir", Stdout: os.Stderr}
	require.NoError(t, o.Complete())
	require.Equal(t, []*os.File{os.Stdin, os.Stderr, os.Stderr}, []*os.File{o.Stdin, o.Stdout, o.Stderr})
	require.Contains(t, o.Env, "PWD=/dir")
}

func TestLostIsCounted(t *testing.T) {
	var r Result
	r.AddLost("read", 0)
	require.Equal(t, Result{}, r)
	r.AddLost("read", 2)
	r.AddLost("32-bit", 3)
	require.Equal(t, Result{Lost: 5, LostByOp: map[string]int64{"read": 2, "32-bit": 3}}, r)
}
