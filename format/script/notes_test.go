package script

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Every note is read into a field and printed from it, in one order.
func TestNotes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"type=reg mode=0644 size=12 cached=3 dev=8:1 ino=7 nlink=2 sparse new", "type=reg mode=0644 size=12 cached=3 dev=8:1 ino=7 nlink=2 sparse new"},
		{"new  size=0 type=dir ", "type=dir size=0 new"},
		{`target="a\"b c" args=unreadable signal=SIGSEGV killed was=9 faults=1 off=20 cut=-30`, `target="a\"b c" args=unreadable signal=SIGSEGV killed was=9 faults=1 off=20 cut=-30`},
		{`target="plain" signal=64`, `target="plain" signal=64`},
		{"dev=253:0:2 path=cut", "path=cut dev=253:0:2"},
		{"path=unreadable", "path=unreadable"},
		{"", ""},
	} {
		e := format.Event{Op: format.OpOpen}
		setNotes(&e, tt.text)
		require.Equal(t, tt.want, printed(&e))
		if e.Notes != nil {
			require.Empty(t, e.Notes.Text)
		}
	}
}

// An argument of rename is called as a note is.
func TestNotesOfNew(t *testing.T) {
	e := format.Event{Op: format.OpRename}
	setNotes(&e, "old=cut new=unreadable new")
	require.Equal(t, "old=cut new=unreadable new", printed(&e))
	require.Equal(t, [format.MaxStrings]format.StringState{format.StringCut, format.StringUnreadable}, e.Notes.Strings)
	require.True(t, e.Notes.Known(format.NotedNew))
}

// What is no note, or no value of it, stays text.
func TestTextNotes(t *testing.T) {
	for _, text := range []string{
		"size=x", "size=", "size", "size=-1", "size=2305843009213693953", "type=", "type=unknown", "type=file", "mode=0999", "mode=010000", "dev=1", "dev=1:2:0", "dev=1:2:3:4",
		"dev=:", "ino=-1", "new=1", "killed=", "signal=0", "signal=KILL", "was=0", "was=2147483648", `target=a`, `target="a"b`, `target="a`, "cut=x", "cut=2305843009213693953",
		"buf=cut", "nosuch=cut", "path=whole", "args=cut", `x="a b" y`, "=",
	} {
		e := format.Event{Op: format.OpStat}
		setNotes(&e, text)
		require.Equal(t, text, printed(&e))
		require.NotNil(t, e.Notes, text)
		require.Equal(t, &format.Notes{Text: []byte(text), Type: e.Notes.Type}, e.Notes)
		require.Equal(t, format.TypeUnknown, e.FileType())
	}
	e := format.Event{Op: format.OpStat}
	setNotes(&e, "type=reg path=cut off=1 type=sock path=cut off=2")
	require.Equal(t, "path=cut type=reg off=1 type=sock path=cut off=2", printed(&e))
	require.Equal(t, format.TypeReg, e.FileType())
}

func TestNotesAllocateNothing(t *testing.T) {
	r := Reader{}
	text := []byte(`type=reg mode=0644 size=12 cached=3 dev=8:1 ino=7 nlink=2 sparse new target="a" faults=1 off=20 other=1`)
	var e format.Event
	var line []byte
	parse := func() {
		r.arena, r.notes = r.arena[:0], r.notes[:0]
		e = format.Event{Op: format.OpOpen}
		r.parseNotes(&e, text)
		line = appendNotes(line[:0], &e)
	}
	parse()
	require.Zero(t, testing.AllocsPerRun(10, parse))
}

// printed returns the notes of an event as text.
func printed(e *format.Event) string {
	text := appendNotes(nil, e)
	if len(text) == 0 {
		return ""
	}
	return string(text[1:])
}
