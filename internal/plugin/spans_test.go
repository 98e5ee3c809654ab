package plugin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

var span = &format.Event{Dur: 20_000, Ret: 7, Span: &format.Span{
	Layer: "hdf5", Function: "H5Fopen", Kind: "open", Bytes: format.Unknown,
	Args: []format.Value{{Kind: format.ValuePath, Text: []byte("a b")}, {Kind: format.ValueInt, Int: -2}},
}}

// A program gets the header with the version, and a line for each span.
func TestPlaySpan(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1}}}
	p := shell(t, `while read -r a b c d; do
		case "$a $b" in
		"# spans:") version=$c ;;
		"2 "*) test "$b $c $d" = 'hdf5:H5Fopen(path="a b", -2) = 7 <0.000020000> {span=open}' && echo "2 -$version <0.000001500>" ;;
		esac
	done`)
	o, err := p.Spans(t.Context(), h)
	require.NoError(t, err)
	defer o.Close()
	got, err := o.PlaySpan(2, span)
	require.NoError(t, err)
	require.Equal(t, Answer{Result: -1, Dur: 1500}, got)
	require.Empty(t, h.Meta, "the header of the trace")
}

func TestSpanAnswer(t *testing.T) {
	for _, test := range []struct {
		text string
		want Answer
		ok   bool
	}{
		{"72057594037927936 <0.000001000>", Answer{Result: 72057594037927936, Dur: 1000}, true},
		{"-9223372036854775808", Answer{Result: -1 << 63, Dur: format.Unknown}, true},
		{"? why\x1b not", Answer{Result: format.NoResult, Dur: format.Unknown, Refused: format.Visible("why\x1b not")}, true},
		{"1 <0.000001000> ? by half\x1b", Answer{Result: 1, Dur: 1000, Remark: format.Visible("by half\x1b")}, true},
		{"1 ? by half", Answer{Result: 1, Dur: format.Unknown, Remark: "by half"}, true},
		{"?", Answer{Result: format.NoResult, Dur: format.Unknown, Refused: "no reason given"}, true},
		{text: ""},
		{text: "x"},
		{text: "9223372036854775808"},
		{text: "1 ENOENT"},
		{text: "1 <>"},
		{text: "1 <-0.5>"},
		{text: "1 <0.5> 2"},
		{text: "1 <0.5"},
	} {
		got, err := spanAnswer([]byte(test.text))
		require.Equal(t, test.ok, err == nil, "%q: %v", test.text, err)
		if test.ok {
			require.Equal(t, test.want, got, test.text)
		}
	}
}

// A program works in its directory, and is found from the working directory.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	p := shell(t, "pwd -P")
	p.Dir = dir
	var out strings.Builder
	require.NoError(t, p.Generate(t.Context(), &out))
	require.Equal(t, dir+"\n", out.String())
}
