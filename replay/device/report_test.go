package device

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/files"
	"pianola/internal/testkit"
)

// Each half of a single recording is held out. The file says what was used of it.
func TestNewFile(t *testing.T) {
	var events []format.Event
	for i := range int64(40) {
		events = append(events, testkit.Event(format.OpFsync, i*10*ms, 2*ms, 0))
	}
	s, err := NewRecording("app.txt", &testkit.Reader{Events: events, Batch: 7, Err: io.EOF}, Cache{})
	require.NoError(t, err)
	about := s.About(&format.Header{Meta: []format.Meta{{Key: format.MetaDevice, Value: "disk"}, {Key: format.MetaCommand, Value: "./app"}}})
	require.Equal(t, []format.Meta{{Key: "from recording", Value: "app.txt: 40 calls that reach the device"}, {Key: "recording's device", Value: "disk"}}, about)
	f, err := NewFile(t.Context(), []Sample{s}, Cache{Capacity: 1 << 30}, about)
	require.NoError(t, err)
	require.Len(t, f.HeldOut, 2)
	require.Equal(t, "app.txt, second half", f.HeldOut[1].Name)
	require.EqualValues(t, 1<<30, f.Model.Cache.Capacity)
	require.Equal(t, Remark{"recording's device", "disk"}, f.Meta[1])

	broken := errors.New("broken")
	_, err = NewRecording("app.txt", &testkit.Reader{Err: broken}, Cache{})
	require.Equal(t, broken, err)
	_, err = NewRecording("app.txt", &testkit.Reader{Err: io.EOF}, Cache{})
	require.Equal(t, ErrNoCalls, err)
}

func TestText(t *testing.T) {
	f := disk()
	f.Shared, f.Burst = true, 1e-3
	require.Regexp(t, `(?m)^read, random +\S+ µs +\d+ +\S+\n^read, sequential `, f.Text())
	require.Contains(t, f.Text(), "share the requests")
	require.Contains(t, f.Text(), "an idle device saves up 1000.0 µs\n")

	var b strings.Builder
	require.NoError(t, WriteHeldOut(&b, "held out", []HeldOut{{"a\x1b", "read", 3, 2, 1}, {"b", "sync", 4, 2, 3}}))
	require.Equal(t, `held out  class  calls  measured s  model s     off
a\33       read      3       2.000    1.000  -50.0%
b          sync      4       2.000    3.000  +50.0%
off by 50.0 % in the median, 50.0 % of the measured time
`, b.String())
	b.Reset()
	require.NoError(t, WriteHeldOut(&b, "held out", nil))
	require.Equal(t, 1, strings.Count(b.String(), "\n"))
}

// Errors of a file have its name, and the line.
func TestOpen(t *testing.T) {
	var s files.Set
	name := filepath.Join(t.TempDir(), "disk.json")
	for text, want := range map[string]string{
		"{}":                     name + ": not a model of pianola model fit",
		"{\n\"pianola_model\":x": name + ":2: invalid character 'x' looking for beginning of value",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := Open(&s, name)
		require.EqualError(t, err, want)
		require.ErrorAs(t, err, new(*FileError))
	}
	_, _, err := OpenFio(&s, name)
	require.ErrorContains(t, err, name)
	require.ErrorAs(t, err, new(*FileError))
	_, err = Open(&s, name+"2")
	require.EqualError(t, err, name+"2: no such file")
	require.ErrorAs(t, err, new(*FileError))
}
