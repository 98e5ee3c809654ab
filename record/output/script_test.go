package output

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/files"
)

// TestScriptFile checks which file a recording writes to, and what remains of one that
// fails before its first event.
func TestScriptFile(t *testing.T) {
	for _, c := range []struct {
		name       string
		make       func(t *testing.T, name string)
		forAnother bool
		err        string
		left       string // the content of the file after a failure, "none" for nothing
	}{
		{"new", func(*testing.T, string) {}, false, "", "none"},
		{"new for another", func(*testing.T, string) {}, true, "", "none"},
		{"old", write, false, "", "old"},
		{"old for another", write, true, "", "old"},
		{"link", link, false, "", "old"},
		{"link for another", link, true, "a symbolic link, which is not followed for another user", "old"},
		{"link to nothing", dangle, false, "a symbolic link to nothing", "none"},
		{"link to nothing for another", dangle, true, "a symbolic link, which is not followed", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "t.txt")
			c.make(t, name)
			f, err := open(new(files.Set), name, c.forAnother)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			} else {
				require.NoError(t, err)
				require.NoError(t, f.finish(false))
			}
			text, err := os.ReadFile(name)
			if c.left == "none" {
				require.ErrorIs(t, err, os.ErrNotExist)
			} else {
				require.Equal(t, c.left, string(text))
			}
		})
	}
}

func write(t *testing.T, name string) { require.NoError(t, os.WriteFile(name, []byte("old"), 0o640)) }

func link(t *testing.T, name string) {
	write(t, name+".old")
	dangle(t, name)
}

func dangle(t *testing.T, name string) { require.NoError(t, os.Symlink(name+".old", name)) }

// TestScriptFileKept checks what happens to a file whose name a recording takes.
func TestScriptFileKept(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, name string)
		kept string // the content of the file with .old, "" for nothing
	}{
		{"new", func(*testing.T, string) {}, ""},
		{"empty", func(t *testing.T, name string) { require.NoError(t, os.WriteFile(name, nil, 0o600)) }, ""},
		{"old", write, "old"},
		{"one generation", func(t *testing.T, name string) {
			write(t, name)
			require.NoError(t, os.WriteFile(name+kept, []byte("older"), 0o600))
		}, "old"},
		{"a link in the way", func(t *testing.T, name string) {
			write(t, name)
			write(t, name+".target")
			require.NoError(t, os.Symlink(name+".target", name+kept))
		}, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "t.txt")
			c.make(t, name)
			f, err := open(new(files.Set), name, true)
			require.NoError(t, err)
			_, err = f.Write([]byte("new\n"))
			require.NoError(t, err)
			require.Equal(t, name, f.Name())
			require.NoError(t, f.finish(true))
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, "new\n", string(text))
			text, err = os.ReadFile(name + kept)
			if c.kept == "" {
				require.ErrorIs(t, err, os.ErrNotExist)
			} else {
				require.NoError(t, err)
				require.Equal(t, c.kept, string(text))
			}
			if text, err = os.ReadFile(name + ".target"); err == nil {
				require.Equal(t, "old", string(text), "the link was replaced, not followed")
			}
			left, err := filepath.Glob(filepath.Join(dir, ".*"))
			require.NoError(t, err)
			require.Empty(t, left, "temporary files")
		})
	}
}

// A file that can't be kept is overwritten in place, as the target of a link is.
func TestScriptFileNotKept(t *testing.T) {
	for _, make := range []func(t *testing.T, name string){
		link,
		func(t *testing.T, name string) {
			write(t, name)
			require.NoError(t, os.Mkdir(name+kept, 0o700))
		},
	} {
		name := filepath.Join(t.TempDir(), "t.txt")
		make(t, name)
		f, err := open(new(files.Set), name, false)
		require.NoError(t, err)
		_, err = f.Write([]byte("new\n"))
		require.NoError(t, err)
		require.NoError(t, f.finish(true))
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, "new\n", string(text))
		left, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// The kept file is an output, too: it can't be an input of the command.
func TestKeptIsClaimed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.txt")
	write(t, name)
	write(t, name+kept)
	set := new(files.Set)
	require.NoError(t, set.Words([]string{"cat", name + kept}))
	_, err := open(set, name, false)
	require.EqualError(t, err, name+kept+": both an input and an output")
}

// A file that replaced a new script is not removed with it.
func TestScriptFileRenamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.txt")
	f, err := open(new(files.Set), name, false)
	require.NoError(t, err)
	require.NoError(t, os.Rename(name, name+".away"))
	write(t, name)
	require.NoError(t, f.finish(false))
	require.FileExists(t, name)
}

func TestScriptFileMode(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old"))
	for name, mode := range map[string]uint32{"old": 0o640, "new": 0o600} {
		f, err := open(new(files.Set), filepath.Join(dir, name), false)
		require.NoError(t, err)
		_, err = f.Write([]byte("text\n"))
		require.NoError(t, err)
		require.NoError(t, f.finish(true))
		info, err := os.Stat(f.Name())
		require.NoError(t, err)
		require.Equal(t, mode, info.Sys().(*syscall.Stat_t).Mode&0o777, name)
	}
}
