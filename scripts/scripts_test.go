// Package scripts tests the scripts of this directory.
package scripts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// silent is a program that fails and doesn't say why.
const silent = "#!/bin/sh\nexit 3\n"

// broken runs a script where a program is another one, and returns what it says
// on its standard error. The script must fail.
func broken(t *testing.T, program, text string, command ...string) string {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte(text), 0o755))
	cmd := exec.Command("sh", command...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PIANOLA=true", "GO=go")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	var failure *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &failure, stderr.String())
	return stderr.String()
}

// No script fails in silence, whatever it is that fails.
func TestNoScriptIsSilent(t *testing.T) {
	names, err := filepath.Glob("*.sh")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		switch name {
		case "lib.sh", "apps.sh", "device.sh", "slowdisk.sh", "need.sh", "can-bpf.sh", "conformance-test.sh", "install.sh", "licenses.sh", "clean-install.sh", "matrix-guest.sh": // which are sourced, only look, do what a test or a machine says, or leave it to commands that say why
			continue
		}
		t.Run(name, func(t *testing.T) {
			program, first := "mkdir", filepath.Join(t.TempDir(), "out")
			switch name {
			case "pictures.sh":
				program = "mktemp"
			case "generated.sh":
				program, first = "go", "sh"
			}
			said := broken(t, program, silent, "scripts/"+name, first, "sqlite3")
			require.Regexp(t, `(?m)^`+name+`: (ended early, with status 3, at: |only root can |[a-z]+ is not here$)`, said)
		})
	}
}

// The log of a program is shown when the program fails, and an error in a command line once.
func TestLogIsShown(t *testing.T) {
	const sqlite3 = "#!/bin/sh\necho 'this is why' >&2\nexit 7\n"
	const text = `set -eu
. scripts/lib.sh
[ $# = 1 ] || fail 2 "no case $2"
at "sqlite3: the recording"
into "$1" sqlite3 app.db
`
	dir := t.TempDir()
	script, log := filepath.Join(dir, "some.sh"), filepath.Join(dir, "run.out")
	require.NoError(t, os.WriteFile(script, []byte(text), 0o644))
	require.Equal(t, "some.sh: ended early, with status 7, at: sqlite3: the recording\nsome.sh: the end of "+log+":\nthis is why\n",
		broken(t, "sqlite3", sqlite3, script, log))
	require.Equal(t, "some.sh: no case nosuch\n", broken(t, "sqlite3", sqlite3, script, log, "nosuch"))
}

// The connector for HDF5 says which version it needs if the headers are of an older one, or
// missing.
func TestConnectorNeedsVersion(t *testing.T) {
	for _, tool := range []string{"make", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not here")
		}
	}
	dir := t.TempDir()
	built := func(headers string) string {
		out, _ := exec.Command("make", "-n", "-C", "../hdf5/memvol", "HDF5="+headers, "OUT="+dir).CombinedOutput()
		return string(out)
	}
	require.Contains(t, built(dir), "no headers of HDF5 in "+dir+": HDF5=DIRECTORY says where those of 1.14 or newer are")
	for version, fits := range map[[2]string]bool{{"1", "10"}: false, {"1", "12"}: false, {"1", "14"}: true, {"2", "0"}: true} {
		text := "#define H5_VERS_MAJOR " + version[0] + "\n#define H5_VERS_MINOR " + version[1] + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "H5public.h"), []byte(text), 0o600))
		if fits {
			require.Contains(t, built(dir), "-shared")
		} else {
			require.Contains(t, built(dir), "the connector needs HDF5 1.14 or newer, and "+dir+" has "+version[0]+"."+version[1])
		}
	}
}

// The connector's own programs do in memory what they do on native files. It takes the HDF5 that
// make hdf5-vol has fetched, or the machine's.
func TestConnector(t *testing.T) {
	dir := t.TempDir()
	for _, root := range []string{"../demo/hdf5-vol/tree", "/"} {
		tree, err := filepath.Abs(root)
		require.NoError(t, err)
		header, _ := os.ReadFile(filepath.Join(tree, "usr/include/hdf5/serial/H5public.h"))
		_, err = os.Stat(filepath.Join(tree, "usr/bin/h5dump"))
		if err != nil || !regexp.MustCompile(`(?m)^#define\s+H5_VERS_MAJOR\s+([2-9]|1\s(.|\n)*?^#define\s+H5_VERS_MINOR\s+(1[4-9]|[2-9]\d))`).Match(header) {
			continue
		}
		require.NoError(t, os.Symlink(tree, filepath.Join(dir, "tree")))
		cmd := exec.Command("sh", "scripts/hdf5-vol.sh", dir)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "TESTS=everything_tests", "PIANOLA=/nonexistent")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Regexp(t, `(?m)^1[23] passed, 0 failed$`, string(out))
		return
	}
	t.Skip("HDF5 1.14 or newer with h5dump is not here: ONLY= make hdf5-vol fetches it")
}

// disk puts up a slow disk, and returns how long reads of 4 KiB at these offsets take, at once or in turn.
func disk(t *testing.T, options ...string) func(together bool, offsets ...int64) time.Duration {
	t.Helper()
	dir := t.TempDir()
	program, store, place := filepath.Join(dir, "slowdisk"), filepath.Join(dir, "store"), filepath.Join(dir, "disk")
	out, err := exec.Command("gcc", "-O2", "-Wall", "-Werror", "-pthread", "-o", program, "load/slowdisk.c").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Mkdir(place, 0o700))
	require.NoError(t, os.WriteFile(store, make([]byte, 1<<20), 0o600))
	cmd := exec.Command(program, append([]string{store, "5", "0", place}, options...)...)
	require.NoError(t, cmd.Start())
	image := filepath.Join(place, "image")
	require.Eventually(t, func() bool { _, err := os.Stat(image); return err == nil }, 10*time.Second, time.Millisecond)
	f, err := os.Open(image)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, f.Close())
		require.NoError(t, exec.Command("umount", place).Run())
		require.NoError(t, cmd.Wait())
	})
	return func(together bool, offsets ...int64) time.Duration {
		begun := time.Now()
		var all sync.WaitGroup
		for _, at := range offsets {
			all.Go(func() {
				n, err := f.ReadAt(make([]byte, 4096), at)
				require.NoError(t, err)
				require.Equal(t, 4096, n)
			})
			if !together {
				all.Wait()
			}
		}
		all.Wait()
		return time.Since(begun)
	}
}

// A slow disk with an arm serves one request at a time; those far from the last one take longer,
// and bytes take their time.
func TestSlowDisk(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and gcc")
	}
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skip(err)
	} else {
		f.Close()
	}
	const end = 1<<20 - 4096
	for _, wrong := range []string{"seek=5", "seek=5:4", "seek=-1:4", "rate=0", "rate=x", "arm"} {
		out, err := exec.Command("sh", "-c", `gcc -pthread -o "$0" load/slowdisk.c && "$0" / 0 0 / "$1"`, filepath.Join(t.TempDir(), "slowdisk"), wrong).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "want STORE", wrong)
	}
	read := disk(t)
	apart, together := read(false, 0, end, 0, end, 0, end), read(true, 0, end, 0, end, 0, end)
	require.Greater(t, apart, 30*time.Millisecond)
	require.Less(t, together, apart)

	read = disk(t, "seek=10:50")
	apart, together = read(false, 0, 4096, 8192, 12288), read(true, 0, end, 0, end)
	require.Greater(t, apart, 20*time.Millisecond)
	require.Greater(t, together, (3*10+4*5)*time.Millisecond)
	near, far := read(false, 0, 8192, 16384, 24576, 32768), read(false, 0, end, 0, end, 0)
	require.Greater(t, near, 5*(5+10)*time.Millisecond)
	require.Greater(t, far, (5*5+4*49)*time.Millisecond)
	require.Less(t, near, far)

	read = disk(t, "rate=0.1") // 41 ms for 4 KiB
	require.Greater(t, read(true, 0, 4096, 8192), 3*(5+40)*time.Millisecond)
}
