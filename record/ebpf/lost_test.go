package ebpf

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/coverage"
	"pianola/format"
	"pianola/internal/testkit/recordkit"
	"pianola/record"
)

// blocked is a record.Sink that takes no events before the command has ended, so that
// the ring fills up.
type blocked struct {
	recordkit.Collect
	in, out *os.File // a pipe that the command holds open
	err     error
}

func (b *blocked) WriteHeader(h *format.Header) error {
	// The command has been started by now, and has the pipe; when no other
	// process has it, its end is the command's.
	if len(b.Headers) == 0 {
		b.err = b.out.Close()
	}
	return b.Collect.WriteHeader(h)
}

func (b *blocked) Write(events []format.Event) error {
	if b.err == nil {
		_, b.err = io.Copy(io.Discard, b.in)
	}
	if b.err != nil {
		return b.err
	}
	return b.Collect.Write(events)
}

func TestLostEventsAreCounted(t *testing.T) {
	const reads = 2000
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, make([]byte, reads), 0o600))
	o := recordkit.Shell(fmt.Sprintf("exec dd if=%s of=/dev/null bs=1 count=%d status=none 3>&1", file, reads))
	o.NoFaults = true // two runs need not have the same
	var whole recordkit.Collect
	r, _ := recordOne(t, o, &whole)
	require.Zero(t, r.Lost)
	all, bytes := len(whole.Of(format.OpRead)), r.Coverage.Recorded.Bytes
	require.GreaterOrEqual(t, all, reads)

	var s blocked
	var err error
	s.in, s.out, err = os.Pipe()
	require.NoError(t, err)
	defer s.in.Close()
	o.Stdout, o.RingBytes = s.out, os.Getpagesize()
	r, _ = recordOne(t, o, &s)

	require.Greater(t, r.LostByOp["read"], int64(reads/2))
	require.Equal(t, int64(all), int64(len(s.Of(format.OpRead)))+r.LostByOp["read"], "nothing is lost in silence")
	require.Equal(t, int64(len(s.Events)), r.Events)
	var sum int64
	for _, n := range r.LostByOp {
		sum += n
	}
	require.Equal(t, sum, r.Lost)
	require.Equal(t, r.Lost, missing(&r, coverage.Lost).Calls)
	require.Equal(t, bytes, r.Coverage.Recorded.Bytes+missing(&r, coverage.Lost).Bytes)
	var byCPU int64
	for _, n := range r.LostByCPU {
		byCPU += n
	}
	require.Equal(t, r.Lost, byCPU, "all of them found the ring full")
	lost, _ := s.Headers[1].Value(format.MetaLost)
	require.Regexp(t, fmt.Sprintf(`^%d .*\bread=%d\b`, r.Lost, r.LostByOp["read"]), lost)
	require.Regexp(t, ` cpu\d+=\d+`, lost)
}

// A record that is no event is counted, too.
func TestLostRecordsAreCounted(t *testing.T) {
	const processes = 200
	var s blocked
	var err error
	s.in, s.out, err = os.Pipe()
	require.NoError(t, err)
	defer s.in.Close()
	o := recordkit.Shell(fmt.Sprintf("i=0; while [ $i -lt %d ]; do (:); /bin/true; i=$((i+1)); done 3>&1", processes))
	o.Stdout, o.RingBytes = s.out, os.Getpagesize()
	r, _ := recordOne(t, o, &s)

	require.Greater(t, r.LostByOp["spaces"], int64(processes/2))
	require.Greater(t, r.LostByOp["programs"], int64(processes/2))
	lost, _ := s.Headers[1].Value(format.MetaLost)
	require.Regexp(t, `\bprograms=\d+ .*\bspaces=\d+\b`, lost)
}

// Every record has a name among those that are lost.
func TestLostNames(t *testing.T) {
	for nr := recorderNumberNR_SPAN; nr <= recorderNumberNR_WAIT; nr++ {
		l := lost{byNumber: map[int]uint64{int(nr): 1}}
		var r record.Result
		l.addTo(&r)
		require.Len(t, r.LostByOp, 1)
		require.NotContains(t, r.LostByOp, format.OpNone.String(), "%d", nr)
	}
	for _, name := range untrackedNames {
		require.NotEmpty(t, name)
	}
}
