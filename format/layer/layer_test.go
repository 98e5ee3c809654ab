package layer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// function returns a description of one function with members in JSON.
func function(members string) string {
	return `{"layer":"l","libraries":["libl.so"],"includes":[],"functions":[
{"name":"f","result":{"c":"int","kind":"int","size":4},"args":[{"name":"a","c":"int","kind":"int","size":4},{"name":"p","c":"int *","kind":"pointer","size":8,"to":{"c":"int","kind":"int","size":4}},{"name":"x","c":"double","kind":"float","size":8}]` + members + `}
]}`
}

// pointers returns a description with types that can be pointers.
func pointers(types string) string {
	return strings.Replace(function(`,"span":"read"`), `"functions"`, `"pointers":`+types+`,"functions"`, 1)
}

func TestParse(t *testing.T) {
	l, err := Parse(strings.NewReader(function(`,"span":"read","map":[{"type":"h","value":"a"}],"define":[{"type":"h","value":"*p"}],"bytes":"result * a","error":"result < 0"`)))
	require.NoError(t, err)
	f := l.Functions[0]
	require.Equal(t, []string{"x"}, f.Unread())
	n, ok := f.Moved([]int64{3, 0, 0}, 5)
	require.True(t, ok)
	require.EqualValues(t, 15, n)
	require.False(t, f.Failed([]int64{3, 0, 0}, 5))
	require.True(t, f.Failed([]int64{3, 0, 0}, -1))
	_, ok = f.Moved([]int64{3, 0, 0}, -1)
	require.False(t, ok)
	_, ok = f.Moved(nil, 5)
	require.False(t, ok)
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "line 1: EOF"},
		{"no object", "[]", "line 1: json: cannot unmarshal array"},
		{"syntax", "{\n\"layer\":\n}", "line 3: invalid character '}'"},
		{"unknown member", `{"layer":"l","color":1}`, `unknown field "color"`},
		{"two", function(`,"span":"read"`) + "{}", "more than one description"},
		{"name", `{"layer":"a b"}`, `"a b" is not a valid layer name`},
		{"library", `{"layer":"a"}`, "layer a names no library"},
		{"pattern", `{"layer":"a","libraries":["[x"],"functions":[{}]}`, `"[x" is not a pattern`},
		{"directory", `{"layer":"a","libraries":["/lib/x"],"functions":[{}]}`, `"/lib/x" is not a pattern`},
		{"no function", `{"layer":"a","libraries":["x"]}`, "layer a has no function with a span"},
		{"null", `{"layer":"a","libraries":["x"],"functions":[null]}`, "layer a has a function that is null"},
		{"no span", function(""), `f: "" is not a span: open, close`},
		{"span", function(`,"span":"fly"`), `f: "fly" is not a span: open, close`},
		{"path", function(`,"span":"open","path":"a"`), `f: "a" is not an argument that points to text`},
		{"handle", function(`,"span":"open","define":[{"type":"h","value":"*a"}]`), `f: "*a" is neither an argument nor result`},
		{"handle's type", function(`,"span":"open","define":[{"type":"","value":"a"}]`), `f: "" is not a handle type`},
		{"array", function(`,"span":"open","arrays":[{"arg":"a","count":"1"}]`), `f: "a" is not an argument that points to an array`},
		{"number", function(`,"span":"open","numbers":["a"]`), `f: "a" is not an argument that points to a number`},
		{"count", function(`,"span":"open","arrays":[{"arg":"p","count":"a + 1"}]`), `f: "a + 1" is not a number of elements: want N, ARG, *ARG, result, or one of these * N`},
		{"negative count", function(`,"span":"open","arrays":[{"arg":"p","count":"-1"}]`), `f: "-1" is not a number of elements`},
		{"count of a float", function(`,"span":"open","arrays":[{"arg":"p","count":"x"}]`), `f: "x" is not a number of elements`},
		{"count behind a number", function(`,"span":"open","arrays":[{"arg":"p","count":"*a"}]`), `f: "*a" is not a number of elements`},
		{"product of numbers", function(`,"span":"open","arrays":[{"arg":"p","count":"2 * 3"}]`), `f: "2 * 3" is not a number of elements`},
		{"factor", function(`,"span":"open","arrays":[{"arg":"p","count":"a * a"}]`), `f: "a * a" is not a number of elements`},
		{"result before", function(`,"span":"open","arrays":[{"arg":"p","count":"result","before":true}]`), `f: "result" is not a number of elements`},
		{"two before", function(`,"span":"open","arrays":[{"arg":"p","count":"1","before":true},{"arg":"p","count":"1","before":true}]`), "f: two arrays before the call"},
		{"pointers' symbol", pointers(`{"symbol":"a b","types":["t"]}`), `"a b" is not a symbol of a library`},
		{"no pointers", pointers(`{"symbol":"s","types":[]}`), "0 types that are pointers, want 1 to 100"},
		{"pointers' type", pointers(`{"symbol":"s","types":["struct t"]}`), `"struct t" is not a valid type name`},
		{"expression", function(`,"span":"open","bytes":"a +"`), `f: "a +" is not an expression`},
		{"operator", function(`,"span":"open","bytes":"a << 3"`), `f: "a << 3": no operator <<`},
		{"call", function(`,"span":"open","error":"a()"`), `f: "a()": only numbers, arguments, result and operators`},
		{"unknown name", function(`,"span":"open","error":"b"`), `f: "b": b is neither an argument nor result`},
		{"float", function(`,"span":"open","error":"x == 1"`), `f: "x == 1": x can't be read`},
		{"fraction", function(`,"span":"open","error":"a == 1.5"`), `f: "a == 1.5": 1.5 is not a whole number`},
		{"long", function(`,"span":"open","error":"` + strings.Repeat("-", 2000) + `a"`), "f: an expression of 2001 characters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader(test.text))
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestExpressions(t *testing.T) {
	l, err := Parse(strings.NewReader(function(`,"span":"read"`)))
	require.NoError(t, err)
	for text, want := range map[string]int64{
		"1 + 2 * 3": 7, "(1 + 2) * 3": 9, "a": 10, "result": -4, "-a + 1": -9, "!a": 0, "!!a": 1, "a % 4": 2, "0x10": 16,
		"a == 10 && result < 0": 1, "a != 10 || result >= 0": 0, "a > 3": 1, "a <= 3": 0, "result / 2": -2,
	} {
		e, err := parse(text, l.Functions[0])
		require.NoError(t, err, text)
		got, ok := e([]int64{10, 0, 0}, -4)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"a / 0", "1 % (a - 10)"} {
		e, err := parse(text, l.Functions[0])
		require.NoError(t, err, text)
		_, ok := e([]int64{10, 0, 0}, 0)
		require.False(t, ok, text)
	}
}

// The descriptions that ship are complete.
func TestShipped(t *testing.T) {
	require.Equal(t, []string{"hdf5", "mpi", "sqlite3", "stdio"}, Names())
	for _, name := range Names() {
		l, err := Load(name)
		require.NoError(t, err, name)
		require.Equal(t, name, l.Name)
		for _, f := range l.Functions {
			for _, h := range f.Undefine {
				require.True(t, l.defines(h.Type), "%s: %s ends a %s, which nothing makes", name, f.Name, h.Type)
			}
		}
	}
	_, err := Load("nosuch")
	require.ErrorContains(t, err, `no layer "nosuch": hdf5, mpi, sqlite3, stdio`)
}

func (l *Layer) defines(handle string) bool {
	for _, f := range l.Functions {
		for _, h := range f.Define {
			if h.Type == handle {
				return true
			}
		}
	}
	return false
}

func FuzzParse(f *testing.F) {
	f.Add(function(`,"span":"read","bytes":"result * a","error":"result < 0"`))
	f.Add(pointers(`{"symbol":"s","types":["int"]}`))
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, form := range l.Forms() {
			for _, fn := range form {
				fn.Moved(make([]int64, len(fn.Args)), 1)
				fn.Failed(make([]int64, len(fn.Args)), 1)
			}
		}
	})
}
