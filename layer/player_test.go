package layer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func source(t *testing.T, name string) string {
	l, err := Load(name)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, l.Player(&b))
	for _, f := range l.Functions {
		if why := f.Unplayed(); why != "" {
			t.Log(f.Name, why)
		}
	}
	return b.String()
}

func TestPlayer(t *testing.T) {
	for _, name := range []string{"stdio", "hdf5"} {
		file := filepath.Join(t.TempDir(), "player.c")
		require.NoError(t, os.WriteFile(file, []byte(source(t, name)), 0o600))
		out, err := exec.Command("gcc", "-Wall", "-Wextra", "-Wno-unused-function", "-g", "-I/usr/include/hdf5/serial", "-o", "/tmp/h/player/player-"+name, file, "-L/usr/lib/x86_64-linux-gnu/hdf5/serial", "-lhdf5", "-lpthread").CombinedOutput()
		require.NoError(t, err, string(out))
		t.Log(string(out))
	}
}
