package layer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compilePlayer compiles the player of a layer, and returns the program.
func compilePlayer(t *testing.T, name string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	l, err := Load(name)
	require.NoError(t, err)
	var source bytes.Buffer
	require.NoError(t, l.Player(&source))
	dir := t.TempDir()
	file, program := filepath.Join(dir, "player.c"), filepath.Join(dir, "player")
	require.NoError(t, os.WriteFile(file, source.Bytes(), 0o600))
	args := append([]string{"-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-type-limits", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", program, file}, flags...)
	out, err := exec.Command("gcc", args...).CombinedOutput()
	if strings.Contains(string(out), "No such file or directory") || strings.Contains(string(out), "cannot find") {
		t.Skipf("the library or a sanitizer is not installed: %s", out)
	}
	require.NoError(t, err, "%s", out)
	return program
}

var seconds = regexp.MustCompile(`(?m) <[0-9]+\.[0-9]{9}>$`)

// feed gives a player lines in a directory, and returns its answers without the times.
func feed(t *testing.T, program, dir, lines string) (answers, said string, err error) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(lines)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err = cmd.Run()
	return seconds.ReplaceAllString(out.String(), " <>"), stderr.String(), err
}

func TestPlayerOfStreams(t *testing.T) {
	program, dir := compilePlayer(t, "stdio"), t.TempDir()
	answers, said, err := feed(t, program, dir, `# pianola intermediate 1
# spans: 1
# layer: stdio libc.so.6
stdio:fopen(path="a \"b\"\n\303\244", "w+") = 94 <0.000010000> {span=open}
stdio:setvbuf(0x5e, 0x7f00, 0, 65536) = 0 {span=setup}
stdio:fprintf(0x5e, 0x7f10) = 7 <0.000001000> {span=write bytes=7}
stdio:fwrite(0x7f20, 100, 30, 0x5e) = 30 <0.000001000> {span=write bytes=3000}
stdio:fputs("text"..., 0x5e) = 1
stdio:fputs(0x7f00, 0x5e) = 1
stdio:fputs("text", 0x5e) = 1
stdio:fseek(0x5e, -4, 2) = 0
stdio:fread(0x7f20, 1, 100, 0x5e) = 100
stdio:ftell(0x5e) = 3011
stdio:fclose(0x5e) = 0
stdio:fclose(0x5e) = 0
stdio:popen("touch x", "r") = 95
stdio:fopen(path="none", "r") = 0 {failed}
stdio:fwrite(0x7f20, 4294967296, 4294967295, 0x7fff) = 0
`)
	require.NoError(t, err, said)
	require.Empty(t, said)
	lines := strings.Split(answers, "\n")
	require.Regexp(t, `^[1-9][0-9]* <>$`, lines[0])
	require.Equal(t, []string{
		"0 <>", "7 <>", "30 <>", "? a text was recorded only in part", "? an argument was not recorded", "1 <>", "0 <>", "4 <>", "3011 <>", "0 <>",
		"? a handle comes from a call that was not recorded or not played", "? the player does not play this function", "0 <>",
		"? a handle comes from a call that was not recorded or not played", "",
	}, lines[1:])
	info, err := os.Stat(filepath.Join(dir, "a \"b\"\nä"))
	require.NoError(t, err)
	require.EqualValues(t, 3011, info.Size())
}

// Threads have their own numbers, and one player.
func TestPlayerOfThreads(t *testing.T) {
	program, dir := compilePlayer(t, "stdio"), t.TempDir()
	answers, said, err := feed(t, program, dir, "# thread: 1 process=1\n# thread: 2 process=1\n7 stdio:fopen(path=\"x\", \"w\") = 9 {span=open}\n")
	require.NoError(t, err, said)
	require.Regexp(t, `^7 [1-9][0-9]* <>\n$`, answers)
}

func TestPlayerRefuses(t *testing.T) {
	program, dir := compilePlayer(t, "stdio"), t.TempDir()
	for line, want := range map[string]string{
		"# spans: 2":                            "it knows version 1 of the protocol, not 2",
		"x":                                     "it is not a span",
		"hdf5:H5open() = 0":                     "it is of another layer",
		"stdio:fopen":                           "it has no arguments",
		"stdio:fopen(1":                         "it has no result",
		"stdio:fopen(1) = x":                    "a number is malformed",
		"stdio:fopen(99999999999999999999) = 1": "a number is malformed",
		`stdio:fopen("x) = 1`:                   "a text does not end",
		`stdio:fopen("x\`:                       "a text does not end",
		"stdio:fopen([1, x]) = 1":               "a number is malformed",
		"stdio:fopen([" + strings.Repeat("1, ", 1100) + "]) = 1": "an array is too long",
		"stdio:fopen(" + strings.Repeat("1, ", 65) + ") = 1":     "too many arguments",
	} {
		_, said, err := feed(t, program, dir, line+"\n")
		require.Error(t, err, line)
		require.Contains(t, said, want, line)
	}
}

func TestPlayerOfHDF5(t *testing.T) {
	program, dir := compilePlayer(t, "hdf5", "-I/usr/include/hdf5/serial", "-L/usr/lib/x86_64-linux-gnu/hdf5/serial", "-lhdf5"), t.TempDir()
	answers, said, err := feed(t, program, dir, `# layer: hdf5 other.so
# global: hdf5 H5T_NATIVE_INT_g 777
# global: hdf5 H5T_nosuch_g 778
# global: mpi H5T_NATIVE_CHAR_g 779
hdf5:H5Fcreate(path="f.h5", 2, 0, 0) = 101 <0.000030000> {span=open}
hdf5:H5Screate_simple(2, [3, 5], NULL) = 102 {span=setup}
hdf5:H5Dcreate2(101, "d", 777, 102, 0, 0, 0) = 103 {span=open}
hdf5:H5Sselect_hyperslab(102, 0, [1, 0, 9, 9, 9, 9], NULL, [1, 5, 0, 0, 0, 0], NULL) = 0 {span=setup}
hdf5:H5Dwrite(103, 777, 102, 102, 0, 0x10) = 0 {span=write}
hdf5:H5Dread(103, 777, 0, 0, 0, 0x10) = 0 {span=read}
hdf5:H5Dget_storage_size(103) = 60 {span=metadata}
hdf5:H5Dget_storage_size(778) = 60 {span=metadata}
hdf5:H5Dclose(103) = 0 {span=close}
hdf5:H5Literate(101, 0, 0, NULL, 0x10, 0x20) = 0 {span=metadata}
hdf5:H5Dopen2(101, "e", 0) = -1 {span=open failed}
hdf5:H5Fclose(101) = 0 {span=close}
`)
	require.NoError(t, err, said)
	require.Empty(t, said)
	lines := strings.Split(answers, "\n")
	for _, i := range []int{0, 1, 2} {
		require.Regexp(t, `^[1-9][0-9]{10,} <>$`, lines[i])
	}
	require.Equal(t, []string{"0 <>", "0 <>", "0 <>", "60 <>", "? a handle comes from a call that was not recorded or not played", "0 <>", "0 <>", "-1 <>", "0 <>", ""}, lines[3:])
	_, err = os.Stat(filepath.Join(dir, "f.h5"))
	require.NoError(t, err)

	// A failure that was not recorded is explained.
	_, said, err = feed(t, program, dir, "# global: hdf5 H5T_NATIVE_INT_g 777\nhdf5:H5Fopen(path=\"none.h5\", 0, 0) = 101 {span=open}\n")
	require.NoError(t, err, said)
	require.Contains(t, said, "HDF5-DIAG")

	// Ids of another version mean something else.
	_, said, err = feed(t, program, dir, "# layer: hdf5 libhdf5.so.1\nhdf5:H5Fopen(path=\"none.h5\", 0, 0) = 101 {span=open}\n")
	require.Error(t, err)
	require.Contains(t, said, "libhdf5.so.1 was recorded, and this player calls libhdf5")

	globals, err := exec.Command(program, "--globals").Output()
	require.NoError(t, err)
	require.Regexp(t, `(?m)^# global: hdf5 H5P_CLS_FILE_ACCESS_ID_g [0-9]+$`, string(globals))
	require.Regexp(t, `(?m)^# global: hdf5 H5T_NATIVE_INT_g [0-9]+$`, string(globals))
}

// A description gives the C compiler names, numbers and calls, and nothing else.
func TestPlayerChecks(t *testing.T) {
	const whole = `{"layer":"own","libraries":["libown.so"],"includes":["own.h"],"globals":[{"type":"t","c":"int","name":"g"}],"functions":[
		{"name":"f","result":{"c":"int","kind":"int","size":4},"args":[{"name":"p","c":"void *","kind":"pointer","size":8}],"span":"read","pass":[{"arg":"p","expr":"room(4)"}]}]}`
	l, err := Parse(strings.NewReader(whole))
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, l.Player(&b))
	require.Contains(t, b.String(), "#include <own.h>\n")
	require.Contains(t, b.String(), "void *p = is_null(call_, 0) ? NULL : (void *)(room(4));")
	for _, test := range []struct{ from, to, want string }{
		{"room(4)", "room(4); system(1)", "is not an expression"},
		{"room(4)", `room(\"x\")`, `is not a number`},
		{"room(4)", "func() int {}", "only names, numbers, operators and calls"},
		{`"arg":"p"`, `"arg":"q"`, `"q" is not an argument, or is passed twice`},
		{"own.h", "own.h>\\n", "is not a valid header name"},
		{`"c":"int","name":"g"`, `"c":"int","name":"g=1"`, "is not a variable with a handle"},
		{`"c":"void *"`, `"c":"void *;"`, "is not a C type"},
	} {
		_, err := Parse(strings.NewReader(strings.Replace(whole, test.from, test.to, 1)))
		require.ErrorContains(t, err, test.want)
	}
	l, err = Parse(strings.NewReader(strings.Replace(whole, `,"pass":[{"arg":"p","expr":"room(4)"}]`, "", 1)))
	require.NoError(t, err)
	require.Equal(t, "no value is known for p", l.Functions[0].Unplayed())
	require.ErrorContains(t, l.Player(&b), "layer own has no function that a player can call")
}
