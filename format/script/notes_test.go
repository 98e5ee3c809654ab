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
		{"late=12 blocks=data:4096,hole:8192", "blocks=data:4096,hole:8192 late=12"},
		{"new  size=0 type=dir ", "type=dir size=0 new"},
		{`target="a\"b c" args=unreadable signal=SIGSEGV killed was=9 faults=1 off=20 cut=-30`, `target="a\"b c" args=unreadable signal=SIGSEGV killed was=9 faults=1 off=20 cut=-30`},
		{`target="plain" signal=64`, `target="plain" signal=64`},
		{"dev=253:0:2 path=cut", "path=cut dev=253:0:2"},
		{"path=unreadable", "path=unreadable"},
		{"got=unix:1f+4294967295 by=7", "by=7 got=unix:1f+4294967295"},
		{"got=tcp:ffffffffffffffff+0", "got=tcp:ffffffffffffffff+0"},
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

// The operation says whether a message was sent or received.
func TestNotesOfMessages(t *testing.T) {
	for _, op := range []format.Op{format.OpWrite, format.OpSendmmsg, format.OpSendfile, format.OpSplice} {
		e := format.Event{Op: op}
		setNotes(&e, "sent=tcp:9f3c+1234")
		require.Equal(t, "sent=tcp:9f3c+1234", printed(&e))
		require.Equal(t, &format.Notes{Has: format.NotedMessage, Channel: 0x9f3c, Pos: 1234}, e.Notes)
	}
	e := format.Event{Op: format.OpRecvfrom}
	setNotes(&e, "got=unix:2+7")
	require.Equal(t, &format.Notes{Has: format.NotedMessage, ChannelKind: format.ChannelUNIX, Channel: 2, Pos: 7}, e.Notes)
}

// Faults have notes of their own. For other calls these stay text.
func TestNotesOfFaults(t *testing.T) {
	e := format.Event{Op: format.OpMapWrite}
	setNotes(&e, `cow filled path="/bin/a\"b"`)
	require.Equal(t, `path="/bin/a\"b" filled cow`, printed(&e))
	require.Equal(t, &format.Notes{Has: format.NotedPath | format.NotedFilled | format.NotedCow, Path: []byte(`/bin/a"b`)}, e.Notes)
	e = format.Event{Op: format.OpMmap}
	setNotes(&e, `path="/bin/a" filled cow`)
	require.Equal(t, &format.Notes{Text: []byte(`path="/bin/a" filled cow`)}, e.Notes)
}

// An argument of rename is called as a note is.
func TestNotesOfNew(t *testing.T) {
	e := format.Event{Op: format.OpRename}
	setNotes(&e, "old=cut new=unreadable new")
	require.Equal(t, "old=cut new=unreadable new", printed(&e))
	require.Equal(t, [format.MaxStrings]format.StringState{format.StringCut, format.StringUnreadable}, e.Notes.Strings)
	require.True(t, e.Notes.Known(format.NotedNew))
}

// An unknown note, or a note with an invalid value, stays text.
func TestTextNotes(t *testing.T) {
	for _, text := range []string{
		"size=x", "size=", "size", "size=-1", "size=2305843009213693953", "type=", "type=unknown", "type=file", "mode=0999", "mode=010000", "dev=1", "dev=1:2:0", "dev=1:2:3:4",
		"dev=:", "ino=-1", "new=1", "killed=", "signal=0", "signal=KILL", "was=0", "was=2147483648", `target=a`, `target="a"b`, `target="a`, "cut=x", "cut=2305843009213693953",
		"buf=cut", "nosuch=cut", "path=whole", "sent=tcp:1+2", "got=", "got=udp:1+2", "got=tcp:1", "got=tcp:x+1", "got=tcp:1+4294967296", "got=tcp:10000000000000000+1", "args=cut", `x="a b" y`, "=",
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
