package ebpf

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record/recordkit"
)

func TestProgram(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	p, err := load(config{RingBytes: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	require.NoError(t, p.attach())

	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	cmd := exec.Command("cat")
	cmd.Stdin = in
	require.NoError(t, cmd.Start())
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, p.follow(pidfd))
	live, err := p.live()
	require.NoError(t, err)
	require.Equal(t, int64(1), live)

	require.NoError(t, out.Close())
	require.NoError(t, cmd.Wait())
	live, err = p.live()
	require.NoError(t, err)
	require.Zero(t, live)
	missed, err := p.lost()
	require.NoError(t, err)
	for _, n := range missed.byCPU {
		require.Zero(t, n)
	}
	missed.byCPU = nil
	require.Equal(t, lost{byNumber: map[int]uint64{}}, missed)
}

func TestLoadBadSize(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	_, err := load(config{RingBytes: 1000})
	require.Error(t, err)
	require.False(t, denied(err))
}

func TestFollowNoProcess(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	p, err := load(config{RingBytes: os.Getpagesize()})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	require.ErrorContains(t, p.follow(-1), "follow the process: ")

	command := exec.Command("true")
	require.NoError(t, command.Start())
	pidfd, err := unix.PidfdOpen(command.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, command.Wait())
	require.ErrorIs(t, p.follow(pidfd), os.ErrProcessDone)

	live, err := p.live()
	require.NoError(t, err)
	require.Zero(t, live)
}
