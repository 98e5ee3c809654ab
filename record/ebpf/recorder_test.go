package ebpf_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/bpftest"
	"pianola/record/ebpf"
)

func TestRecorder(t *testing.T) {
	bpftest.Require(t)
	r, err := ebpf.Load(ebpf.Config{RingBytes: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.NoError(t, r.Attach())

	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	cmd := exec.Command("cat")
	cmd.Stdin = in
	require.NoError(t, cmd.Start())
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, r.Follow(pidfd))
	live, err := r.Live()
	require.NoError(t, err)
	require.Equal(t, int64(1), live)

	require.NoError(t, out.Close())
	require.NoError(t, cmd.Wait())
	live, err = r.Live()
	require.NoError(t, err)
	require.Zero(t, live)
	lost, err := r.Lost()
	require.NoError(t, err)
	for _, n := range lost.ByCPU {
		require.Zero(t, n)
	}
	lost.ByCPU = nil
	require.Equal(t, ebpf.Lost{BySyscall: map[int]uint64{}}, lost)
}

func TestLoadBadSize(t *testing.T) {
	bpftest.Require(t)
	_, err := ebpf.Load(ebpf.Config{RingBytes: 1000})
	require.Error(t, err)
	require.False(t, ebpf.Denied(err))
}

func TestFollowNoProcess(t *testing.T) {
	bpftest.Require(t)
	r, err := ebpf.Load(ebpf.Config{RingBytes: os.Getpagesize()})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	require.ErrorContains(t, r.Follow(-1), "follow the process: ")

	command := exec.Command("true")
	require.NoError(t, command.Start())
	pidfd, err := unix.PidfdOpen(command.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, command.Wait())
	require.ErrorIs(t, r.Follow(pidfd), os.ErrProcessDone)

	live, err := r.Live()
	require.NoError(t, err)
	require.Zero(t, live)
}
