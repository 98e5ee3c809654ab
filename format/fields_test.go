package format

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rows of notes have the order of the bits, and every part leads to a field of its own
// that keeps the numbers of its range.
func TestFields(t *testing.T) {
	keys, places := map[string]bool{}, map[any]bool{}
	e := Event{Op: OpMapRead, Notes: &Notes{}}
	row := func(f *Field) {
		key := fmt.Sprint(f.Key, f.Trace)
		require.True(t, f.Key == "" || !keys[key], f.Key)
		keys[key] = true
		if f.Key != "" {
			require.NotEmpty(t, f.At, f.Key)
			require.NotEmpty(t, f.Doc, f.Key)
		}
		require.LessOrEqual(t, len(f.Parts), 3)
		for i := range f.Parts {
			p := &f.Parts[i]
			require.False(t, places[p.Of(&e)], f.Key)
			places[p.Of(&e)] = true
			require.True(t, f.Key == "" || p.Unit != "", f.Key)
			require.Equal(t, p.IsText(), p.Text(&e) != nil, f.Key)
			require.Equal(t, p.Form == InFlags, p.Flags != nil, f.Key)
			require.Equal(t, i > 0 && f.Key != "", p.Before != 0, f.Key)
			require.False(t, p.IsText() && len(f.Parts) > 1, "a text is the whole value of %s", f.Key)
			require.False(t, p.Maybe && (i < len(f.Parts)-1 || p.Within(0)), f.Key)
			if p.IsText() {
				*p.Text(&e) = []byte(f.Key)
				continue
			}
			require.Zero(t, p.Int(&e), f.Key)
			n := max(p.Min, 1)
			if p.Form == InDecimal || p.Form == InOctal {
				require.True(t, p.Within(n), f.Key)
				if n = p.Most(); f.Key == "" {
					n = math.MaxInt32
				}
			}
			p.Set(&e, n)
			require.Equal(t, n, p.Int(&e), f.Key)
		}
	}
	for i := range NoteFields {
		f := &NoteFields[i]
		require.Equal(t, Noted(1)<<i, f.Noted, f.Key)
		require.False(t, f.Trace)
		found, rest := (f.Noted | 1<<63).Note()
		require.Same(t, f, found)
		require.Equal(t, Noted(1<<63), rest)
		require.False(t, f.Known(&e))
		e.Notes.Has |= f.Noted
		require.True(t, f.Known(&e))
		row(f)
	}
	texts := 0
	for _, text := range e.Notes.Texts() {
		if *text != nil {
			require.True(t, places[text])
			texts++
		}
	}
	require.Len(t, e.Notes.Texts(), texts+1, "all rows with texts, and the notes that are no rows")
	for i := range OwnFields {
		f := &OwnFields[i]
		require.Zero(t, f.Noted)
		require.Len(t, f.Parts, 1)
		only := Event{}
		require.False(t, f.Known(&only) || only.Owns() || only.Shows())
		*f.Own(&only) = 1
		require.True(t, f.Known(&only) && only.Owns(), f.Key)
		require.Equal(t, f.Key != "" && !f.Trace, only.Shows(), f.Key)
		require.Equal(t, f.Trace, only.Traces(), f.Key)
		require.True(t, f.Key != "" || f.Columns == nil)
		row(f)
	}
	for i, part := range e.Off.Parts() {
		require.True(t, places[part], OffNames[i])
	}
}
