package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// The page of the reference has the kinds, and the notes of the tables of fields.
func TestPage(t *testing.T) {
	sections := map[string][][]string{}
	add := func(f *format.Field) {
		if f.Key == "" {
			return
		}
		rows := sections[f.Section]
		if rows == nil {
			rows = [][]string{{"note", "at", "value", "meaning"}}
		}
		key := f.Key
		if f.Word != "" || len(f.Parts) > 0 {
			key += "=" + f.Word
		}
		if key = "`" + key + "`"; f.Sender != "" {
			key = "`" + f.Sender + "=`, " + key
		}
		value, doc := "", f.Doc
		for i := range f.Parts {
			p := &f.Parts[i]
			text := p.Unit
			if i > 0 {
				text = string(rune(p.Before)) + text
			}
			if p.Maybe {
				text = "[" + text + "]"
			}
			value += text
		}
		if f.Since != "" {
			doc += " (since " + f.Since + ")"
		}
		sections[f.Section] = append(rows, []string{key, f.At, value, doc})
	}
	for i := range format.NoteFields {
		add(&format.NoteFields[i])
	}
	for i := range format.OwnFields {
		add(&format.OwnFields[i])
	}
	headings := map[string]string{"": "## Notes", format.OfOff: "### " + format.OfOff, format.OfRequests: "### " + format.OfRequests,
		format.OfFaults: "### " + format.OfFaults, format.OfTraces: "## " + format.OfTraces}
	kinds := [][]string{{"kind", "is", "a line"}}
	for _, k := range format.EventKinds {
		line := "`" + k.Line + "`"
		if k.Line == "" {
			line = "none: a recording has none"
		}
		kinds = append(kinds, []string{k.Name, k.Doc, line})
	}
	testkit.Table(t, "../../docs/reference/script.md", "## Kinds of events", kinds)
	for section, rows := range sections {
		require.Contains(t, headings, section)
		testkit.Table(t, "../../docs/reference/script.md", headings[section], rows)
	}
}

// Each kind of event has a line, which reads as an event of the kind.
func TestKinds(t *testing.T) {
	for k, row := range format.EventKinds {
		if row.Line == "" {
			continue
		}
		text := "# pianola script 1\n# layer: hdf5 libhdf5.so\n1 0.1 close(3) = 0 <0.1>\n" + row.Line + "\n"
		events, err := testkit.ReadAll(NewReader(strings.NewReader(text), "kinds"), 4)
		require.NoError(t, err, row.Name)
		require.Len(t, events, 2)
		require.Equal(t, format.EventKind(k), events[1].Kind(), row.Name)
	}
}
