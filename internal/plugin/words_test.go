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

// An "if" that is not quoted begins an expression.
func TestCondition(t *testing.T) {
	for _, test := range []struct{ text, what, expr string }{
		{"posix", "posix", ""},
		{"posix if class == read", "posix", "class == read"},
		{`exec:sh -c 'if true; then cat; fi' if path ~ "*it's*"`, `exec:sh -c 'if true; then cat; fi'`, `path ~ "*it's*"`},
		{`exec:cat "if" \if if=x`, `exec:cat "if" \if if=x`, ""},
	} {
		what, expr, err := Condition(test.text)
		require.NoError(t, err, test.text)
		require.Equal(t, []string{test.what, test.expr}, []string{what, expr}, test.text)
	}
	_, _, err := Condition("null if ")
	require.EqualError(t, err, `null: filter "": at byte 0: expected a comparison`)
	p, err := Parse("exec:cat -u if op == read")
	require.NoError(t, err)
	require.Equal(t, []string{"cat", "-u"}, p.args)
	require.Equal(t, "op == read", p.Only)
}
