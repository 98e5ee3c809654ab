package plugin

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t", nil},
		{"cat", []string{"cat"}},
		{"  python3  a.py\t1 ", []string{"python3", "a.py", "1"}},
		{`awk '{ print $1, "x" }' f`, []string{"awk", `{ print $1, "x" }`, "f"}},
		{`a "b c"'d e'f\ g`, []string{"a", "b cd ef g"}},
		{`"" ''`, []string{"", ""}},
		{`"a\"b\\c\d" '\' \\`, []string{`a"b\c\d`, `\`, `\`}},
		{"$HOME * `x` ~ a|b >c", []string{"$HOME", "*", "`x`", "~", "a|b", ">c"}},
	} {
		got, err := words(test.line)
		require.NoError(t, err, test.line)
		require.Equal(t, test.want, got, test.line)
	}
	for _, line := range []string{`"`, `a 'b`, `"a\"`} {
		_, err := words(line)
		require.Error(t, err, line)
	}
}

func TestParse(t *testing.T) {
	p, err := Parse("exec:cat -u")
	require.NoError(t, err)
	require.Equal(t, "exec:cat -u", p.String())
	require.Equal(t, []string{"cat", "-u"}, p.args)
	for _, text := range []string{"cat", "exec:", "exec: ", "exec:''", `exec:"a`} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}
