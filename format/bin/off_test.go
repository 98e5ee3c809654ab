package bin

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A trace holds the parts of the time off the processor, and a part of the file
// only where they are told apart.
func TestTimeOffTheProcessor(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	whole := format.Event{Op: format.OpSync, TID: 1, Compute: 100, Dur: 1, Off: format.Off{Other: 50}}
	apart := whole
	apart.Off = format.Off{Ready: 1, Own: 2, Wait: 3, Timer: 4, Storage: 5, Other: 6}
	file := compiled(t, h, []format.Event{whole})
	require.NotContains(t, tagsOf(t, file), "offs 1")
	file = compiled(t, h, []format.Event{whole, apart, whole})
	require.Contains(t, tagsOf(t, file), "offs 1")
	var got [4]format.Event
	n, err := opened(t, file).Events().Read(got[:])
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []format.Off{whole.Off, apart.Off, whole.Off}, []format.Off{got[0].Off, got[1].Off, got[2].Off})

	// A file can claim anything: the parts are at most the whole.
	e := whole
	kinds[kindOff].decode(nil, &e, []uint64{0, 1 << 63, 30, math.MaxInt64, 7, 8})
	require.Equal(t, format.Off{Own: 30, Wait: 20}, e.Off)
}
