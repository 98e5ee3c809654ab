package layer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The header of docs/reference/layers.md becomes a description.
func TestOwn(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	page, err := os.ReadFile("../../docs/reference/layers.md")
	require.NoError(t, err)
	_, header, ok := strings.Cut(string(page), "```c\n")
	require.True(t, ok)
	header, _, ok = strings.Cut(header, "```\n")
	require.True(t, ok)
	dir := t.TempDir()
	name := filepath.Join(dir, "queue.h")
	require.NoError(t, os.WriteFile(name, []byte(header), 0o600))
	generate := func() (string, error) {
		cmd := exec.Command("go", "run", "-C", "generate", ".", "-o", dir, name)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := generate()
	if strings.Contains(out, "dial tcp") || strings.Contains(out, "module lookup disabled") {
		t.Skip("the C parser can't be downloaded")
	}
	require.NoError(t, err, out)
	l, err := Load(filepath.Join(dir, "queue.json"))
	require.NoError(t, err)
	require.Equal(t, "queue", l.Name)
	require.Len(t, l.Functions, 5)
	push := l.Functions[1]
	require.Equal(t, []Handle{{"queue", "q"}}, push.Map)
	require.Equal(t, Arg{Name: "size", Value: Value{C: "size_t", Kind: Uint, Size: 8}}, push.Args[2])
	n, ok := push.Moved([]int64{0, 0, 12}, 0)
	require.True(t, ok)
	require.EqualValues(t, 12, n)
	require.Equal(t, "file", l.Functions[0].Path)
	require.Equal(t, Pointer, l.Functions[0].Result.Kind)

	// A struct of integers is an array of such as its first field.
	const opaque, sync = "typedef struct queue queue;", "//span sync //map queue q"
	arrays := strings.Replace(header, "int queue_sync(queue *q); "+sync, "\n// Annotations stand above it, too.\n//span sync\nint queue_sync(queue *q); //array q 2 before", 1)
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(arrays, opaque, "typedef struct { int head; long tail; } queue;", 1)), 0o600))
	out, err = generate()
	require.NoError(t, err, out)
	l, err = Load(filepath.Join(dir, "queue.json"))
	require.NoError(t, err)
	require.Equal(t, []Array{{Arg: "q", Count: "2", Before: true, count: Count{Times: 2}}}, l.Functions[3].Arrays)
	require.Equal(t, &Value{C: "int", Kind: Int, Size: 4}, l.Functions[3].Args[0].To)

	for _, test := range []struct{ from, to, want string }{
		{opaque, "typedef struct { int head; double tail; } queue; int f(queue *p); //span sync //array p 2", "is not an argument that points to an array"},
		{sync, "//span sync //array q 3", `queue_sync: "q" is not an argument that points to an array`},
		{sync, "//span sync //always yes", `queue_sync: //always takes 0 words, not "yes"`},
		{"//span sync", "", "queue_sync has no //span"},
		{"//span sync", "//span sync //color red", "line 9: queue_sync: //color is not an annotation"},
		{"//layer", "//pointers queue\n//layer", "line 2: want one //pointers SYMBOL TYPE…"},
		{"//undefine queue q", "//undefine queue q\n\n//span sync\ntypedef int last;", "line 12: //span belongs to no prototype"},
		{"//bytes size", "//bytes length", "queue_push: \"length\": length is neither an argument nor result"},
		{"//layer queue \"libqueue.so*\"", "", "no //layer NAME"},
		{"size_t size);", "size_t size;", "queue.h:7:"},
	} {
		require.NoError(t, os.WriteFile(name, []byte(strings.Replace(header, test.from, test.to, 1)), 0o600))
		out, err := generate()
		require.Error(t, err)
		require.Contains(t, out, test.want)
	}
}
