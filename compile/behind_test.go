package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// The time that a thread waited within a call for a processor that another recorded
// thread had follows the call as compute.
func TestBehind(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000001000>
102 0.000010000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000010000 fsync(3) = 0 <0.010000000> {path="/w/b" type=reg behind=4000000}
101 0.010100000 stat("/w/a", 0x1) = 0 <0.000001000> {by=102+5000000 behind=77777777777}
`, compile.Options{})
	var first []format.Event
	for _, e := range s.events {
		if e.TID == 1 {
			first = append(first, e)
		}
	}
	require.Len(t, first, 5) // one opens the file
	require.Equal(t, int64(6_000_000), first[3].Dur)
	require.Equal(t, int64(4_100_000), first[4].Compute)
	require.Equal(t, format.Off{Own: 4_000_000}, first[4].Off)
	require.Zero(t, first[4].Dur)
}

// A write returns late: what it wrote was read before, and its reader wrote and read
// again. Each read comes after what the writer of its byte did before.
func TestBehindOfWrite(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 pipe([3, 4]) = 0 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000001000>
101 0.000010000 mkdir("/w/a", 0777) = 0 <0.000001000>
102 0.000005000 read(3, 0x1, 1) = 1 <0.000001000> {type=fifo}
102 0.000002000 rmdir("/w/a") = 0 <0.000001000>
102 0.000002000 write(4, 0x1, 1) = 1 <0.000001000> {type=fifo}
102 0.000002000 read(3, 0x1, 1) = 1 <0.000001000> {type=fifo}
101 -0.000008000 write(4, 0x1, 1) = 1 <0.000030000> {type=fifo}
102 0.000031000 mkdir("/w/b", 0777) = 0 <0.000001000>
102 0.000002000 write(4, 0x1, 1) = 1 <0.000001000> {type=fifo}
101 0.000002000 read(3, 0x1, 1) = 1 <0.000001000> {type=fifo}
101 0.000002000 stat("/w/b", 0x1) = 0 <0.000001000>
`, compile.Options{})
	after := map[format.Op][]format.Edge{}
	for _, e := range s.events {
		for _, edge := range e.Edges {
			if edge.Kind == format.EdgeMessage {
				edge.Delay = 0
				after[e.Op] = append(after[e.Op], edge)
			}
		}
	}
	require.Equal(t, map[format.Op][]format.Edge{
		format.OpRmdir: {{Thread: 1, Event: 1, Kind: format.EdgeMessage}},
		format.OpStat:  {{Thread: 2, Event: 1, Kind: format.EdgeMessage}},
	}, after)
}
