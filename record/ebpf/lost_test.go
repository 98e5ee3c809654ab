package ebpf

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
	"pianola/record/recordkit"
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

// disturbed records a process from its first line of output on, which then reads a line, while
// a map of the program is not as it should be. It returns what was lost.
func disturbed(t *testing.T, o record.Options, disturb func(p *program)) map[string]int64 {
	t.Helper()
	cmd, in, out, _ := running(t, o)
	p, err := load(config{RingBytes: 1 << 20, Type: true, Off: true})
	require.NoError(t, err)
	defer p.close()
	require.NoError(t, p.attach())
	require.NoError(t, p.attachAdditional())
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, p.follow(pidfd))
	_, err = p.followTree()
	require.NoError(t, err)
	_, _ = in.WriteString("x")
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	disturb(p)
	_, _ = in.WriteString("x")
	require.NoError(t, cmd.Wait())
	l, err := p.lost()
	require.NoError(t, err)
	var r record.Result
	l.addTo(&r)
	return r.LostByOp
}

// Where there is no room for one more ring or context, that is said.
func TestLostRings(t *testing.T) {
	o := doing(t, "print(flush=True); os.read(0, 1)", "print(flush=True); os.read(0, 1)",
		"aio((1, f, address, 4096)); r = Ring(); r.do(23, f, 4096)")
	o.Command = append([]string{"/usr/bin/env", "--chdir", o.Dir}, o.Command...)
	require.Equal(t, map[string]int64{"rings": 3, "submissions": 1}, disturbed(t, o, func(p *program) {
		rings := p.coll.Maps[bpf.CMapRings]
		info := make([]byte, rings.ValueSize())
		var key bpf.CRingKey
		for range rings.MaxEntries() {
			key.Address++
			require.NoError(t, rings.Put(key, info))
		}
	}))
}

// A process in a PID namespace whose name outside of it is not known is counted, and one that
// was there before the recorder is known.
func TestLostNamesOfProcesses(t *testing.T) {
	if _, err := os.Stat("/usr/bin/unshare"); err != nil {
		t.Skip("no unshare")
	}
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprint(lose), func(t *testing.T) {
			o := recordkit.Python(t, "import os", "r, w = os.pipe(); pid = os.fork()", "if not pid: os.close(w); os.read(r, 1); os._exit(0)",
				"print(flush=True); os.read(0, 1)", "print(flush=True); os.read(0, 1); os.close(w); os.waitpid(pid, 0)")
			o.Command = append([]string{"/usr/bin/unshare", "--pid", "--fork"}, o.Command...)
			got := disturbed(t, o, func(p *program) {
				inners := p.coll.Maps[bpf.CMapInners]
				var key bpf.CInner
				var keys []bpf.CInner
				var tid uint32
				for all := inners.Iterate(); all.Next(&key, &tid); {
					keys = append(keys, key)
				}
				require.NotEmpty(t, keys)
				if lose {
					for _, key := range keys {
						require.NoError(t, inners.Delete(key))
					}
				}
			})
			if lose {
				require.Equal(t, map[string]int64{"names": 1}, got)
			} else {
				require.Empty(t, got)
			}
		})
	}
}

// Every record has a name among those that are lost.
func TestLostNames(t *testing.T) {
	for nr := bpf.CNumberNR_SPAN; nr <= bpf.CNumberNR_WAIT; nr++ {
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

// missed is a program with runs that the kernel has left out; fewer than none is an error.
type missed int

func (s missed) Stats() (*ebpf.ProgramStats, error) {
	if s < 0 {
		return nil, os.ErrPermission
	}
	return &ebpf.ProgramStats{RecursionMisses: uint64(s)}, nil
}

// The runs that were left out count, whichever program they are of.
func TestRecursed(t *testing.T) {
	sum, err := recursed(map[string]missed{"one": 1, "none": 0, "two": 2, "four": 4})
	require.NoError(t, err)
	require.Equal(t, uint64(7), sum)
	_, err = recursed(map[string]missed{"one": 1, "refused": -1})
	require.ErrorIs(t, err, os.ErrPermission)
}
