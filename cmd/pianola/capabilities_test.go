package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// A user without privileges records ranks, and calls of a library, if the program has two
// capabilities.
func TestRecordRanksWithCapabilities(t *testing.T) {
	t.Parallel()
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := openDir(t)
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(dir, "pianola")
	text, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, text, 0o755))
	require.NoError(t, os.Chmod(program, 0o755))
	const effective = 0x02000001 // vfs_cap_data of linux/capability.h, revision 2
	data, err := binary.Append(nil, binary.LittleEndian, []uint32{effective, 0, 0, 1<<(unix.CAP_BPF-32) | 1<<(unix.CAP_PERFMON-32), 0})
	require.NoError(t, err)
	if err := unix.Setxattr(program, "security.capability", data, 0); errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		t.Skip("no file capabilities here: ", err)
	} else {
		require.NoError(t, err)
	}

	var ranks [2]*exec.Cmd
	var said [2]bytes.Buffer
	for i := range ranks {
		c := exec.Command(program, "record", "--ranks", "--layer", "stdio", "--slow-functions", "-o", "run", "--", "head", "-c", "1", "/etc/passwd")
		c.Dir, c.Stderr = dir, &said[i]
		for _, name := range []string{"PIANOLA_%s=%d", "PIANOLA_LOCAL_%s=%d"} {
			c.Env = append(c.Env, fmt.Sprintf(name, "RANK", i), fmt.Sprintf(name, "SIZE", len(ranks)))
		}
		c.Env = append(c.Env, "PATH="+os.Getenv("PATH"))
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		require.NoError(t, c.Start())
		ranks[i] = c
	}
	for i, c := range ranks {
		require.NoError(t, c.Wait(), "%s", &said[i])
	}
	files, err := filepath.Glob(filepath.Join(dir, "run", "*.txt"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err = os.ReadFile(files[0])
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "# rank: "))
	require.Equal(t, 2, strings.Count(string(text), `"/etc/passwd", O_RDONLY) = `))
	require.Contains(t, string(text), " stdio:")
}
