package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// A thread that obeys the rules reaches nothing outside of the root, by any
// path and without any other guard, and can do all that a trace needs in it.
func TestLandlock(t *testing.T) {
	base := t.TempDir()
	dir, err := os.Open(base)
	require.NoError(t, err)
	defer dir.Close()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("x"), 0o600))
	require.NoError(t, os.MkdirAll(base+"/a/b", 0o700))
	require.NoError(t, os.Mkdir(base+"/c", 0o700))

	rules, err := newRules(dir.Fd())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer unix.Close(rules)
	require.NoError(t, onThread(func() error {
		if err := obey(rules); err != nil {
			return err
		}
		_, err := unix.Open(outside, unix.O_RDONLY, 0)
		assert.Equal(t, unix.EACCES, err)
		assert.Equal(t, unix.EACCES, unix.Truncate(outside, 0))
		assert.Error(t, unix.Unlink(outside))
		assert.Error(t, unix.Mkdir(filepath.Dir(outside)+"/new", 0o700))
		assert.Error(t, unix.Link(outside, base+"/link"))
		assert.Error(t, unix.Mknod(base+"/device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
		assert.Equal(t, unix.EACCES, syscall.Exec("/bin/true", []string{"true"}, nil))

		fd, err := unix.Open(base+"/a/b/f", unix.O_RDWR|unix.O_CREAT, 0o600)
		assert.NoError(t, err)
		assert.NoError(t, unix.Ftruncate(fd, 10))
		assert.NoError(t, unix.Close(fd))
		assert.NoError(t, unix.Rename(base+"/a/b/f", base+"/c/f"), "into another directory")
		assert.NoError(t, unix.Symlink("f", base+"/c/s"))
		assert.NoError(t, unix.Unlink(base+"/c/f"))
		return nil
	}))
}

// A replay may be confined by Landlock on top of everything else.
func TestLandlockInReplay(t *testing.T) {
	r := newRoll(1)
	r.file(format.File{Path: "f", Type: format.TypeReg, Size: 100, Mode: 0o600})
	r.add(1, format.OpOpen, 3, "f", format.RDWR)
	r.add(1, format.OpMkdir, 0, "d", 0o700)
	r.add(1, format.OpRename, 0, "f", "d/f")
	r.add(1, format.OpUnlink, 0, "d/f")
	res, err := Run(t.Context(), r, Options{Root: filepath.Join(t.TempDir(), "root"), Landlock: true, Timing: AFAP})
	require.NoError(t, err)
	faultless(t, r, res)
}

// What a replay takes of the process it gives back: rules, and the memory that
// is set aside for the application's.
func TestRunGivesBack(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*guard) error) {
		const memory = 8 << 30
		rules := func() (n int) {
			links, err := filepath.Glob(ownFiles + "*")
			require.NoError(t, err)
			for _, link := range links {
				if to, err := os.Readlink(link); err == nil && to == "anon_inode:[landlock-ruleset]" {
					n++
				}
			}
			return n
		}
		mapped := func() (pages int) {
			text, err := os.ReadFile("/proc/self/statm")
			require.NoError(t, err)
			_, err = fmt.Sscan(string(text), &pages)
			require.NoError(t, err)
			return pages
		}
		r := newRoll(1)
		r.born(2, 1)
		rulesBefore, mappedBefore := rules(), mapped()
		for range 3 {
			_, err := run(t.Context(), r, Options{Root: t.TempDir(), Memory: true, Limits: Limits{Memory: memory}}, bind)
			require.NoError(t, err)
		}
		require.Equal(t, rulesBefore, rules())
		require.Less(t, mapped()-mappedBefore, memory/2/os.Getpagesize())
	})
}
