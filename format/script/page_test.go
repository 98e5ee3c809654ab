package script

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// The page of the reference has the notes of the tables of fields.
func TestPageOfNotes(t *testing.T) {
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
	for section, rows := range sections {
		require.Contains(t, headings, section)
		testkit.Table(t, "../../docs/reference/script.md", headings[section], rows)
	}
}
