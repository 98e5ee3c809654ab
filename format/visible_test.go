package format

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", `a "b" \ ä 漢 😀`, `a "b" \ ä 漢 😀`},
		{"C0", "\x1b[2J\x07\r\n\t\x7f", `\33[2J\7\r\n\t\177`},
		{"before a digit", "\x011", `\0011`},
		{"C1", "\u0085\u009b31m", `\302\205\302\23331m`},
		{"C1 of eight bits", "\x9b2J", `\2332J`},
		{"bidi", "\u202a\u202e\u2066\u2069\u200e\u200f\u061c", `\342\200\252\342\200\256\342\201\246\342\201\251\342\200\216\342\200\217\330\234`},
		{"cut off", "a\xe2\x80", `a\342\200`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, Visible(c.text))
			require.Equal(t, c.want, Visible(c.want), "visible text is not changed")
		})
	}
}

func TestVisibleWriter(t *testing.T) {
	for _, c := range []struct {
		name       string
		notation   Notation
		text, want string
	}{
		{"text", TextNotation, "a\tä\n\x1b\u202e\r\x9b\n", "a\tä\n\\33\\342\\200\\256\\r\\233\n"},
		{"csv", CSVNotation, "a,\"b\r\n\"\"\n\",c\r\n\td\n", "a,\"b\\r\\n\"\"\\n\",c\r\n\\td\n"},
		{"json", JSONNotation, "{\n\t\"\u009b\u202eä\x7f\": 1}\n", "{\n\t\"\\u009b\\u202eä\\u007f\": 1}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, cut := range map[string]func(b *bytes.Reader) int{"at once": (*bytes.Reader).Len, "byte by byte": func(*bytes.Reader) int { return 1 }} {
				var b bytes.Buffer
				w := NewVisibleWriter(&b, c.notation)
				for from := bytes.NewReader([]byte(c.text)); from.Len() > 0; {
					part := make([]byte, cut(from))
					_, _ = from.Read(part)
					n, err := w.Write(part)
					require.NoError(t, err)
					require.Equal(t, len(part), n)
				}
				require.Equal(t, c.want, b.String(), name)
			}
		})
	}
}

func FuzzVisible(f *testing.F) {
	f.Add([]byte("a\x1b\u202eb\x9b\"\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		shown := AppendVisible(nil, text)
		require.True(t, utf8.Valid(shown))
		for _, r := range string(shown) {
			require.False(t, Hidden(r), "%q", shown)
		}
		require.Equal(t, shown, AppendVisible(nil, shown))

		value := string(bytes.ToValidUTF8(text, []byte("?")))
		document, err := json.Marshal(value)
		require.NoError(t, err)
		var b bytes.Buffer
		_, err = NewVisibleWriter(&b, JSONNotation).Write(document)
		require.NoError(t, err)
		for _, r := range b.String() {
			require.False(t, Hidden(r), "%q", b.String())
		}
		var back string
		require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		require.Equal(t, value, back)
	})
}
