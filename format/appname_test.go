package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppNames(t *testing.T) {
	h := &Header{Names: []AppName{
		{".", "/"}, {"a", "/srv/a"}, {"a/pianola_tmp1", "/srv/a/wal"}, {"flat", "/deep/er"}, {"flat~2", "/other"},
	}}
	names := h.AppNames()
	for path, want := range map[string]string{
		".": "/", "x": "/x", "x/y": "/x/y", "x/": "/x/", "a": "/srv/a", "a/": "/srv/a/", "a/b/c": "/srv/a/b/c", "ab": "/ab", "a//b": "/srv/a/b",
		"a/pianola_tmp1": "/srv/a/wal", "a//pianola_tmp1": "/srv/a/wal", "a/pianola_tmp1/": "/srv/a/wal/", "a/pianola_tmp1/x": "/srv/a/wal/x",
		"a/pianola_tmp12": "/srv/a/pianola_tmp12", "flat": "/deep/er", "flat~2": "/other", "/abs": "/abs", "": "",
	} {
		require.Equal(t, want, names.Of(path), path)
	}
	require.Equal(t, "before /x", string(names.Append([]byte("before "), []byte("x"))))
	require.Equal(t, "/new/x", (&Header{Names: []AppName{{".", "/new"}}}).AppNames().Of("x"))
	require.Equal(t, "x", (&Header{Names: []AppName{{"a", "/b"}}}).AppNames().Of("x"), "without a name of the root")
	require.Nil(t, new(Header).AppNames())
	require.Equal(t, "a//b", new(Header).AppNames().Of("a//b"), "a trace without names shows what it has")
}

func TestNameLines(t *testing.T) {
	want := Header{Names: []AppName{{".", "/"}, {"w/pianola_tmp1", "/w/\xff \"\n"}}}
	text := want.Append(nil)
	require.Equal(t, "# name: \".\" \"/\"\n# name: \"w/pianola_tmp1\" \"/w/\\377 \\\"\\n\"\n", string(text))
	var got Header
	require.NoError(t, got.ParseLine([]byte(`# name: "." "/"`)))
	require.NoError(t, got.ParseLine([]byte(`# name: "w/pianola_tmp1" "/w/\377 \"\n"`)))
	require.Equal(t, want, got)
	for line, why := range map[string]string{
		`# name: x`:               "malformed header line: name",
		`# name: "a"`:             "malformed header line: name",
		`# name: "a" "/b" x`:      "malformed header line: name",
		`# name: "a""/b"`:         "malformed header line: name",
		`# name: "" "/b"`:         "malformed header line: name: the path is not below the root",
		`# name: "/a" "/b"`:       "malformed header line: name: the path is not below the root",
		`# name: "a" "b"`:         "malformed header line: name: the application's name is not absolute",
		`# name: "a" ""`:          "malformed header line: name: the application's name is not absolute",
		`# name: "a\0b" "/b"`:     "malformed header line: name: a NUL byte",
		`# name: "a" "/b\000"`:    "malformed header line: name: a NUL byte",
		`# name: "a" "/b\000" ""`: "malformed header line: name",
	} {
		require.EqualError(t, new(Header).ParseLine([]byte(line)), why, line)
	}
}

func TestSortNames(t *testing.T) {
	require.Equal(t, []AppName{{".", "/"}, {"a", "/1"}, {"b", "/2"}}, SortNames([]AppName{{"b", "/2"}, {"a", "/1"}, {".", "/"}, {"b", "/3"}}))
}

func TestBothNames(t *testing.T) {
	require.Equal(t, `"pianola_tmp1" (/var/lib/wal)`, BothNames("pianola_tmp1", "/var/lib/wal"))
	require.Equal(t, `"w//x"`, BothNames("w//x", "/w/x"))
	require.Equal(t, `"w/x"`, BothNames("w/x", ""))
	require.Equal(t, `"."`, BothNames(".", "/"))
	require.Equal(t, `"t" (/w/\33)`, BothNames("t", "/w/\x1b"))
}
