package format

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func parseHeader(text []byte) (*Header, error) {
	var h Header
	for line := range bytes.Lines(text) {
		if err := h.ParseLine(bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			return nil, err
		}
	}
	return &h, nil
}

func TestHeaderRoundTrip(t *testing.T) {
	h := &Header{
		Meta:    []Meta{{MetaCommand, "./app --n 10"}, {MetaCwd, `"/home/a b"`}, {"a key: of some", "value: too"}, {"empty", ""}, {MetaLost, "0"}},
		Threads: []Thread{{Process: 1}, {Process: 2, Parent: 1, Start: 1_500_000_001}, {Process: 2, Parent: 2, Ring: ViaAIO}, Thread{Process: 4, Ring: ViaUring}.OfRank(0)},
		Ranks:   []Rank{{Rank: 0, Process: 4711, Node: "n1"}, {Rank: MaxRank, Node: "b.example"}},
		Descriptors: []Descriptor{
			{Process: 1, FD: 0, Flags: RDONLY, Path: "pipe:[1]"},
			{Process: 1, FD: 3, Flags: RDWR | APPEND, Offset: 1 << 40, Path: "a \"b\"\n"},
			{Process: 1, FD: 4, Flags: RDONLY, Path: "/srv/x", Has: NotedType | NotedMode | NotedSize | NotedCached, Type: TypeReg, Mode: 0o640, Size: 8192},
			{Process: 1, FD: 5, Flags: RDONLY, Path: "/dev/sda", Has: NotedType | NotedCached | NotedDirty, Type: TypeBlk, Cached: 17, Dirty: 2},
		},
		Files: []File{
			{Path: "d", Type: TypeDir, Mode: 0o755, Size: 64, Cached: -1},
			{Path: "d/f\xff", Type: TypeReg, Mode: 0o4600, Size: 1 << 50, Cached: 3, Dirty: 1, Sparse: true},
			{Path: "d/l", Type: TypeLnk, Mode: 0o777, Target: "f x"},
			{Path: "d/h", Type: TypeReg, Mode: 0, Link: "d/f\xff"},
			{Path: "d/x", Type: TypeReg, Sparse: true, Attrs: []Attr{{Name: "user.a b", Size: 5}, {Name: "user.\n", Size: 0}}},
			{Path: "d/y", Type: TypeReg, Blocks: []Stretch{{Data, 4096}, {Hole, 8192}, {Reserved, 4096}}, Attrs: []Attr{{Name: "user.a", Size: 5}}},
		},
	}
	text := h.Append(nil)
	require.Equal(t, `# command: ./app --n 10
# cwd: "/home/a b"
# a key: of some: value: too
# empty: 
# lost: 0
# thread: 1 process=1 parent=0 start=0.000000000
# thread: 2 process=2 parent=1 start=1.500000001
# thread: 3 process=2 parent=2 ring=aio start=0.000000000
# thread: 4 process=4 parent=0 rank=0 ring=io_uring start=0.000000000
# rank: 0 process=4711 node=n1
# rank: 2147483646 node=b.example
# fd: 1 0 O_RDONLY 0 "pipe:[1]"
# fd: 1 3 O_RDWR|O_APPEND 1099511627776 "a \"b\"\n"
# fd: 1 4 O_RDONLY 0 "/srv/x" type=reg mode=0640 size=8192 cached=0
# fd: 1 5 O_RDONLY 0 "/dev/sda" type=blk cached=17 dirty=2
# file: "d" dir mode=0755 size=64 cached=-1
# file: "d/f\377" reg mode=04600 size=1125899906842624 cached=3 dirty=1 sparse
# file: "d/l" lnk mode=0777 size=0 cached=0 target="f x"
# file: "d/h" reg mode=0 size=0 cached=0 link="d/f\377"
# file: "d/x" reg mode=0 size=0 cached=0 sparse attr="user.a b":5 attr="user.\n":0
# file: "d/y" reg mode=0 size=0 cached=0 blocks=data:4096,hole:8192,reserved:4096 attr="user.a":5
`, string(text))
	got, err := parseHeader(text)
	require.NoError(t, err)
	// A key ends at the first colon.
	h.Meta[2] = Meta{"a key", "of some: value: too"}
	require.Equal(t, h, got)
}

func TestHeaderThatSaysNothing(t *testing.T) {
	require.Empty(t, (&Header{}).Append(nil))
	require.Empty(t, (&Header{Threads: []Thread{{Process: 1}}}).Append(nil))
	require.NotEmpty(t, (&Header{Threads: []Thread{{Process: 1, Start: 1}}}).Append(nil))
}

func TestHeaderValues(t *testing.T) {
	h := &Header{Meta: []Meta{{"a", "1"}, {"b", "2"}, {"a", "3"}}}
	v, ok := h.Value("a")
	require.True(t, ok)
	require.Equal(t, "3", v)
	_, ok = h.Value("c")
	require.False(t, ok)
	h.Set("c", "4")
	h.Set("b", "5")
	require.Equal(t, []Meta{{"a", "1"}, {"b", "5"}, {"a", "3"}, {"c", "4"}}, h.Meta)
	require.Equal(t, "# k: a\\nb\\tc\n", string(AppendMeta(nil, "k", "a\nb\tc")))
}

func TestKeysArePrintable(t *testing.T) {
	for _, key := range []string{"a\x1b[2J", "a\tb", "\x7f", "\u202etxt", "clé", "\x9b"} {
		h := &Header{}
		require.ErrorContains(t, h.ParseLine([]byte("# "+key+": value")), "not printable ASCII", "%q", key)
		require.Empty(t, h.Meta)
	}
	h := &Header{}
	require.NoError(t, h.ParseLine([]byte("# file ~systems!: \u202e")))
	require.Equal(t, []Meta{{"file ~systems!", "\u202e"}}, h.Meta)
	require.Equal(t, "# file ~systems!: \\342\\200\\256\n", string(h.Append(nil)))
}

func TestManyThreads(t *testing.T) {
	h := &Header{Threads: make([]Thread, 5000)}
	for i := range h.Threads {
		h.Threads[i] = Thread{Process: int32(i + 1), Parent: int32(i)}
	}
	got, err := parseHeader(h.Append(nil))
	require.NoError(t, err)
	require.Equal(t, h, got)
}

func TestHeaderErrors(t *testing.T) {
	for _, line := range []string{
		"", "x", "# thread: ", "# thread: 2 process=1 parent=0 start=0.0", "# thread: 1 process=1 parent=0", "# thread: 1 process=x parent=0 start=0.0",
		"# thread: 1 process=1 parent=0 start=0.0 x", "# thread: 1 process=1 parent=0 rank=-1 start=0.0", "# thread: 1 process=1 parent=0 rank=2147483647 start=0.0", "# thread: 1 process=4294967296 parent=0 start=0.0",
		"# rank: ", "# rank: 0", "# rank: -1 node=n1", "# rank: 0 node=", "# rank: 0 node=n1 x", "# rank: 0 process=0 node=n1", "# rank: 0 process=x node=n1", "# rank: 0 node=n\x1b1",
		"# fd: 1 2", `# fd: 1 x O_RDONLY 0 "a"`, `# fd: 1 2 O_NOSUCH 0 "a"`, "# fd: 1 2 O_RDONLY 0 a", `# fd: 1 2 O_RDONLY 0 "a" b`,
		`# fd: 1 2 O_RDONLY 0 "a" type=x`, `# fd: 1 2 O_RDONLY 0 "a" size=-1`, `# fd: 1 2 O_RDONLY 0 "a" cached=`, `# fd: 1 2 O_RDONLY 0 "a" mode=-1`,
		"# file: ", `# file: "a"`, `# file: "a" door mode=0 size=0 cached=0`, `# file: "a" reg mode=0 size=x cached=0`,
		`# file: "a" reg mode=-1 size=0 cached=0`, `# file: "a" reg mode=0 size=-1 cached=0`,
		`# file: "a" reg mode=0 size=0 cached=0 dense`, `# file: "a" reg mode=0 size=0 cached=0 target=x`, `# file: "a reg mode=0 size=0 cached=0`,
	} {
		var h Header
		require.ErrorIs(t, h.ParseLine([]byte(line)), errHeader, line)
		require.Equal(t, Header{}, h, line)
	}
	for _, line := range []string{"#", "# a remark", "#:", "# 10:30", "#!/bin/sh"} {
		var h Header
		require.NoError(t, h.ParseLine([]byte(line)), line)
		require.Equal(t, Header{}, h, line)
	}
}

// FuzzHeader demands that nothing panics, and that whatever parses is the same
// after printing and parsing it again.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("# command: ./app\n#a: b\n# thread: 1 process=1 parent=0 start=0.5\n"))
	f.Add([]byte("# thread: 1 process=1 parent=0 rank=3 start=0.5\n# rank: 3 process=7 node=n1\n# rank: 4 node=n2\n"))
	f.Add([]byte("# fd: 1 4 O_RDONLY 0 \"a\" type=reg mode=0640 size=8192 cached=2\n"))
	f.Add([]byte("# fd: 1 3 O_RDWR|O_APPEND 12 \"a \\\"b\\n\"\n"))
	f.Add([]byte("# file: \"a\" reg mode=0644 size=1 cached=-1 sparse target=\"x\" link=\"y\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := parseHeader(text)
		if err != nil {
			require.ErrorIs(t, err, errHeader)
			return
		}
		printed := h.Append(nil)
		again, err := parseHeader(printed)
		require.NoError(t, err, "%s", printed)
		require.Equal(t, string(printed), string(again.Append(nil)))
	})
}
