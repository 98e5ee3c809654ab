package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A replay needs only a directory to write to: no program, no device, no /proc. The
// test lists the features that need one of those.
func TestBare(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	program, err := os.Executable()
	require.NoError(t, err)
	if dynamic(t, program) {
		t.Skip("built with cgo, so it needs libraries")
	}
	for _, test := range []struct {
		name, script, who string
		user              uint32
		null              bool   // a plain file stands at /dev/null
		want              string // of the error; empty: none
	}{
		{"files", plainCalls, "root", 0, false, ""},
		{"files", plainCalls, "nobody", nobody, false, ""},
		{"a mode", modeCall, "root", 0, false, ""},
		{"a mode", modeCall, "nobody", nobody, false, "needs /proc, because threads cannot have their own root directory: mount /proc, or replay as root"},
		{"a pipe", pipeCall, "root", 0, false, noNull},
		{"a pipe and a file", pipeCall, "root", 0, true, noNull},
	} {
		t.Run(test.name+" as "+test.who, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o777))
			text, err := os.ReadFile(program)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "pianola"), text, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "t.txt"), []byte(test.script), 0o644))
			null := filepath.Join(dir, "dev/null")
			if test.null {
				require.NoError(t, os.Mkdir(filepath.Dir(null), 0o755))
				require.NoError(t, os.WriteFile(null, nil, 0o666))
			}
			bare := func(words ...string) (string, error) {
				cmd := exec.Command("/pianola", words...)
				cmd.Env, cmd.Dir = []string{"TMPDIR=/"}, "/"
				cmd.Stdin = strings.NewReader("") // no /dev/null to open
				cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: test.user, Gid: test.user}}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, err := bare("doctor")
			require.Error(t, err)
			require.Contains(t, out, "missing  record with eBPF: kernel file systems: /proc and /sys not mounted\n         hint: mount /proc and /sys\n")
			require.Contains(t, out, "         hint: mount /proc\n")
			require.Contains(t, out, "\nok       replay: ")
			out, err = bare("compile", "-o", "/t.bin", "/t.txt")
			require.NoError(t, err, out)
			backends := []string{"posix"}
			if test.want == "" {
				backends = append(backends, "memory", "null")
			}
			for _, backend := range backends {
				out, err = bare("replay", "--strict", "--timing", "afap", "--backend", backend, "/t.bin")
				if test.want == "" {
					require.NoError(t, err, out)
					continue
				}
				require.Error(t, err)
				require.Contains(t, out, test.want)
			}
			if test.null {
				left, err := os.ReadFile(null)
				require.NoError(t, err)
				require.Empty(t, left)
			}
		})
	}
}

// dynamic reports whether a program asks for a loader.
func dynamic(t *testing.T, name string) bool {
	f, err := elf.Open(name)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}

const noNull = "needs /dev/null: it is missing or not the null device"

const (
	plainCalls = `# pianola script 1
1 0.000001 mkdir("/d", 0700) = 0 <0.000001000>
1 0.000001 openat(AT_FDCWD, "/d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000>
1 0.000001 pwrite64(3, 0x1000, 4096, 0) = 4096 <0.000001000>
1 0.000001 fsync(3) = 0 <0.000001000>
1 0.000001 close(3) = 0 <0.000001000>
1 0.000001 unlink("/d/f") = 0 <0.000001000>
`
	modeCall = `# pianola script 1
1 0.000001 mkdir("/d", 0700) = 0 <0.000001000>
1 0.000001 chmod("/d", 0750) = 0 <0.000001000>
`
	pipeCall = `# pianola script 1
1 0.000001 pipe2([3, 4], 0) = 0 <0.000001000>
1 0.000001 openat(AT_FDCWD, "/f", O_RDONLY) = 5 <0.000001000> {type=reg mode=0644 size=4096}
1 0.000001 splice(5, NULL, 4, NULL, 4096, 0) = 4096 <0.000001000>
`
)
