package ebpf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

func TestLongestPause(t *testing.T) {
	require.Equal(t, maxPause, longestPause(record.DefaultRingBytes))
	require.Equal(t, minPause, longestPause(4096))
	middle := longestPause(16 << 20)
	require.Greater(t, middle, minPause)
	require.Less(t, middle, maxPause)
}

func TestNextPause(t *testing.T) {
	const size = record.DefaultRingBytes
	require.Equal(t, 8*time.Millisecond, nextPause(4*time.Millisecond, 4*time.Millisecond, 0, size), "nothing comes")
	require.Equal(t, maxPause, nextPause(maxPause, maxPause, 0, size))
	require.Equal(t, maxPause, nextPause(maxPause, maxPause, 50_000/20*plainBytes, size), "50 000 events a second leave room")
	require.Equal(t, maxPause/4, nextPause(maxPause, maxPause, size/2, size), "half of the ring")
	require.Equal(t, minPause, nextPause(minPause, minPause, size, size), "all of it")
}

func TestDrainOfGarbage(t *testing.T) {
	for name, garbage := range map[string]string{"short": "abc", "a call that is not recorded": string(recordOf(record.Call{Nr: uint32(bpf.CNumberNR_WAIT) - 1}))} {
		t.Run(name, func(t *testing.T) {
			f := newFakeRing(256)
			f.put(uint32(len(garbage)), garbage)
			d := drain{ring: f.ring, writer: record.NewWriter(recordkit.Discard{}, 0), look: func() error { return nil }}
			require.ErrorContains(t, d.all(), "read the events of the kernel: ")
		})
	}
}

// looked is a Sink that counts how often it is looked after, and has more events come each time.
type looked struct {
	recordkit.Discard
	times int
	come  func()
}

func (l *looked) Look() error { l.times++; l.come(); return nil }

// Under a flood, in which the ring is never empty, sinks are still served.
func TestDrainUnderFlood(t *testing.T) {
	const rounds, batch = 10, 1024
	f := newFakeRing(1 << 18)
	call := string(recordOf(record.Call{Nr: uint32(format.OpRead.Info().Sys[format.HostArch])}))
	var s looked
	s.come = func() {
		for n := 0; n < batch && s.times <= rounds; n++ {
			f.put(uint32(len(call)), call)
		}
	}
	looks := 0
	d := drain{ring: f.ring, writer: record.NewWriter(&s, 0), look: func() error { looks++; return nil }}
	s.come()
	require.NoError(t, d.all())
	require.Greater(t, s.times, rounds)
	require.Equal(t, s.times, looks)
	require.Equal(t, int64((rounds+1)*batch), d.writer.Events())
}
