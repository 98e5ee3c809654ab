package script

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"pianola/format"
)

// Notes are between braces after a call: "key=value" or a bare word. Only this
// file reads and writes their text; everywhere else they are fields of an
// event. A note stays text if it is not in the table, has an invalid value, or
// repeats.

// note is a row of the table of notes: how the value is read into an event, and
// printed. The key is the word before "=", or the whole word where there is no
// value.
type note struct {
	key    string
	noted  format.Noted                       // says in Event.Notes that it is known
	of     func(*format.Event) bool           // nil, or the events that can have it
	field  func(*format.Event) *int64         // or else the field of the event, 0 where it is not known
	parse  func(*format.Event, []byte) bool   // nil for a bare word; changes nothing where it returns false
	append func([]byte, *format.Event) []byte // the value
}

// notes holds all notes in the order in which they are printed.
var notes = []note{
	{key: "type", noted: format.NotedType, parse: parseType, append: func(dst []byte, e *format.Event) []byte { return append(dst, e.Notes.Type.String()...) }},
	{key: "mode", noted: format.NotedMode, parse: parseMode, append: func(dst []byte, e *format.Event) []byte {
		return strconv.AppendUint(append(dst, '0'), uint64(e.Notes.Mode), 8)
	}},
	numeric("size", format.NotedSize, func(e *format.Event) *int64 { return &e.Notes.Size }),
	numeric("cached", format.NotedCached, func(e *format.Event) *int64 { return &e.Notes.Cached }),
	{key: "dev", noted: format.NotedDev, parse: parseDevice, append: appendDevice},
	{key: "ino", noted: format.NotedIno, parse: parseInode, append: func(dst []byte, e *format.Event) []byte { return strconv.AppendUint(dst, e.Notes.Ino, 10) }},
	numeric("nlink", format.NotedLinks, func(e *format.Event) *int64 { return &e.Notes.Links }),
	{key: "sparse", noted: format.NotedSparse},
	numeric("allocated", format.NotedAllocated, func(e *format.Event) *int64 { return &e.Notes.Allocated }),
	{key: "blocks", noted: format.NotedBlocks, parse: parseBlocks, append: func(dst []byte, e *format.Event) []byte { return append(dst, e.Notes.Blocks...) }},
	numeric("late", format.NotedLate, func(e *format.Event) *int64 { return &e.Notes.Late }),
	{key: "new", noted: format.NotedNew},
	{key: "target", noted: format.NotedTarget, parse: parseTarget, append: func(dst []byte, e *format.Event) []byte { return format.AppendQuoted(dst, e.Notes.Target) }},
	{key: "args", noted: format.NotedUnreadable, parse: func(_ *format.Event, value []byte) bool { return string(value) == unreadable },
		append: func(dst []byte, _ *format.Event) []byte { return append(dst, unreadable...) }},
	{key: "signal", noted: format.NotedSignal, parse: parseSignal, append: func(dst []byte, e *format.Event) []byte { return append(dst, format.SignalName(e.Notes.Signal)...) }},
	{key: "killed", noted: format.NotedKilled},
	{key: "was", noted: format.NotedWas, parse: parseWas, append: func(dst []byte, e *format.Event) []byte { return format.AppendInt(dst, int64(e.Notes.Was)) }},
	{key: "by", noted: format.NotedWaker, parse: parseWaker, append: func(dst []byte, e *format.Event) []byte {
		dst = format.AppendInt(dst, int64(e.Notes.Waker))
		if e.Notes.Woken == 0 {
			return dst
		}
		return format.AppendInt(append(dst, '+'), e.Notes.Woken)
	}},
	{key: "sent", noted: format.NotedMessage, of: (*format.Event).Sends, parse: parseMessage, append: appendMessage},
	{key: "got", noted: format.NotedMessage, of: func(e *format.Event) bool { return !e.Sends() }, parse: parseMessage, append: appendMessage},
	{key: "ring", noted: format.NotedRing, parse: parseRing, append: func(dst []byte, e *format.Event) []byte { return format.AppendInt(dst, int64(e.Notes.Request.Ring)) }},
	numeric("batch", format.NotedBatch, func(e *format.Event) *int64 { return &e.Notes.Request.Batch }),
	{key: "reaped", noted: format.NotedReaped, parse: parseReaped, append: func(dst []byte, e *format.Event) []byte {
		return format.AppendInt(dst, int64(e.Notes.Request.Reaped))
	}},
	{key: "submitted", noted: format.NotedSubmitted, parse: parseSubmitted, append: func(dst []byte, e *format.Event) []byte {
		return format.AppendSeconds(dst, e.Notes.Request.Submitted)
	}},
	word("flags", format.NotedFlags, format.RequestFlags, func(e *format.Event) *int64 { return &e.Notes.Request.Flags }),
	{key: "buf", noted: format.NotedBuf, parse: parseBuf, append: func(dst []byte, e *format.Event) []byte { return format.AppendInt(dst, int64(e.Notes.Request.Buf)) }},
	{key: "slot", noted: format.NotedSlot, parse: parseSlot, append: func(dst []byte, e *format.Event) []byte { return format.AppendInt(dst, int64(e.Notes.Request.Slot)) }},
	word("rwf", format.NotedRW, format.ReadWriteFlags, func(e *format.Event) *int64 { return &e.Notes.Request.RW }),
	{key: "path", noted: format.NotedPath, of: isFault, parse: parsePath, append: func(dst []byte, e *format.Event) []byte { return format.AppendQuoted(dst, e.Notes.Path) }},
	{key: "filled", noted: format.NotedFilled, of: isFault},
	{key: "cow", noted: format.NotedCow, of: isFault},
	numeric("faults", 0, func(e *format.Event) *int64 { return &e.Faults }),
	numeric("behind", 0, func(e *format.Event) *int64 { return &e.Behind }),
	numeric("ready", 0, func(e *format.Event) *int64 { return &e.Off.Ready }),
	numeric("own", 0, func(e *format.Event) *int64 { return &e.Off.Own }),
	numeric("wait", 0, func(e *format.Event) *int64 { return &e.Off.Wait }),
	numeric("timer", 0, func(e *format.Event) *int64 { return &e.Off.Timer }),
	numeric("storage", 0, func(e *format.Event) *int64 { return &e.Off.Storage }),
	numeric("off", 0, func(e *format.Event) *int64 { return &e.Off.Other }),
	numeric("calls", 0, func(e *format.Event) *int64 { return &e.Calls }),
	{key: "cut", field: func(e *format.Event) *int64 { return &e.Cut }, parse: parseCut, append: func(dst []byte, e *format.Event) []byte { return format.AppendInt(dst, e.Cut) }},
}

// firstField is the row from which on all notes are fields of the event, and none
// before.
var firstField = slices.IndexFunc(notes, func(n note) bool { return n.field != nil })

// The values of a note whose key is the name of a string argument: how much of
// it could be read.
const (
	cut        = "cut"
	unreadable = "unreadable"
)

// numeric is the row of a number from 0 to format.MaxNote.
func numeric(key string, noted format.Noted, field func(*format.Event) *int64) note {
	n := note{key: key, noted: noted,
		parse: func(e *format.Event, value []byte) bool {
			n, ok := decimal(value)
			if ok {
				*field(e) = n
			}
			return ok
		},
		append: func(dst []byte, e *format.Event) []byte { return format.AppendInt(dst, *field(e)) },
	}
	if noted == 0 {
		n.field = field
	}
	return n
}

// word is the row of a word of flags, which is never 0.
func word(key string, noted format.Noted, set *format.FlagSet, field func(*format.Event) *int64) note {
	return note{key: key, noted: noted,
		parse: func(e *format.Event, value []byte) bool {
			v, err := set.Parse(value)
			if err != nil || v == 0 {
				return false
			}
			*field(e) = v
			return true
		},
		append: func(dst []byte, e *format.Event) []byte { return set.Append(dst, *field(e)) },
	}
}

// known reports whether an event has the note. has says which notes it has that are not
// fields of its own.
func (n *note) known(e *format.Event, has format.Noted) bool {
	if n.field != nil {
		return *n.field(e) != 0
	}
	return has&n.noted != 0 && (n.of == nil || n.of(e))
}

// has returns what is known of the notes.
func has(n *format.Notes) format.Noted {
	if n == nil {
		return 0
	}
	return n.Has
}

// parseNotes gives an event the notes of a text, from which it borrows.
func (r *Reader) parseNotes(e *format.Event, text []byte) {
	first := len(r.arena)
	for {
		key, value, rest := format.CutNote(text)
		if key == nil {
			break
		}
		if !r.parseNote(e, key, value) {
			r.keepNote(text[:len(text)-len(rest)], first)
		}
		text = rest
	}
	r.textNotes(e, first)
}

// keepNote adds a note to the text that begins at a place of the arena.
func (r *Reader) keepNote(word []byte, first int) {
	if len(r.arena) > first {
		r.arena = append(r.arena, ' ')
	}
	r.arena = append(r.arena, bytes.TrimLeft(word, " ")...)
}

// textNotes gives an event what was added to the arena since a place as text.
func (r *Reader) textNotes(e *format.Event, first int) {
	if n := len(r.arena); n > first {
		r.noted(e).Text = r.arena[first:n:n]
	}
}

// noted returns the notes of an event, which it makes if there are none.
func (r *Reader) noted(e *format.Event) *format.Notes {
	if e.Notes == nil {
		r.notes = append(r.notes, format.Notes{})
		e.Notes = &r.notes[len(r.notes)-1]
	}
	return e.Notes
}

// parseNote reads one note, and reports whether an event has a field for it. Of
// rename(2) an argument has the name of a note.
func (r *Reader) parseNote(e *format.Event, key, value []byte) bool {
	for i := range notes {
		if notes[i].key == string(key) {
			return r.parseRow(e, &notes[i], value) || r.parseState(e, key, value)
		}
	}
	return r.parseState(e, key, value)
}

func (r *Reader) parseRow(e *format.Event, n *note, value []byte) bool {
	if n.known(e, has(e.Notes)) || n.parse == nil && value != nil || n.of != nil && !n.of(e) {
		return false
	}
	first := n.noted != 0 && e.Notes == nil
	if first {
		r.noted(e)
	}
	if n.parse != nil && !n.parse(e, value) {
		if first {
			e.Notes = nil
		}
		return false
	}
	if n.noted != 0 {
		e.Notes.Has |= n.noted
	}
	return true
}

// parseState reads how much of a string could be read.
func (r *Reader) parseState(e *format.Event, key, value []byte) bool {
	state := format.StringWhole
	switch string(value) {
	case cut:
		state = format.StringCut
	case unreadable:
		state = format.StringUnreadable
	default:
		return false
	}
	info := e.Op.Info()
	k := info.ArgIndex(string(key))
	if k < 0 || !info.Args[k].Kind.HasState() {
		return false
	}
	of := &r.noted(e).Strings[info.StringIndex(k)]
	if *of != format.StringWhole {
		return false
	}
	*of = state
	return true
}

// appendNotes appends the notes of an event, each after a space.
func appendNotes(dst []byte, e *format.Event) []byte {
	fields := e.Faults|e.Behind|e.Cut|e.Calls != 0 || e.Off != (format.Off{})
	if e.Notes == nil && !fields {
		return dst
	}
	if e.Notes != nil && e.Notes.Strings != [format.MaxStrings]format.StringState{} {
		dst = appendStates(dst, e)
	}
	noted := has(e.Notes)
	rows := notes
	switch { // most events have notes of one sort only
	case !fields:
		rows = notes[:firstField]
	case noted == 0:
		rows = notes[firstField:]
	}
	for i := range rows {
		n := &rows[i]
		if !n.known(e, noted) {
			continue
		}
		dst = append(append(dst, ' '), n.key...)
		if n.append != nil {
			dst = n.append(append(dst, '='), e)
		}
	}
	if e.Notes != nil && len(e.Notes.Text) > 0 {
		dst = append(append(dst, ' '), e.Notes.Text...)
	}
	return dst
}

func appendStates(dst []byte, e *format.Event) []byte {
	str := 0
	for _, a := range e.Op.Info().Args {
		if !a.Kind.HasState() {
			continue
		}
		switch e.Notes.Strings[str] {
		case format.StringCut:
			dst = append(append(append(dst, ' '), a.Name...), "="+cut...)
		case format.StringUnreadable:
			dst = append(append(append(dst, ' '), a.Name...), "="+unreadable...)
		}
		str++
	}
	return dst
}

// inBraces puts the notes that follow the space at a place, each after another
// space, between braces. Without notes it takes the space back.
func inBraces(dst []byte, space int) []byte {
	if len(dst) == space+1 {
		return dst[:space]
	}
	dst[space+1] = '{'
	return append(dst, '}')
}

// decimal returns the value of decimal digits, and false where it is none of the
// numbers from 0 to format.MaxNote.
func decimal(digits []byte) (n int64, ok bool) {
	for _, d := range digits {
		if n = 10*n + int64(d-'0'); d < '0' || d > '9' || n > format.MaxNote {
			return 0, false
		}
	}
	return n, len(digits) > 0
}

func parseType(e *format.Event, value []byte) bool {
	e.Notes.Type = format.ParseFileType(value)
	return e.Notes.Type != format.TypeUnknown
}

func parseMode(e *format.Event, value []byte) bool {
	n, err := strconv.ParseUint(string(value), 8, 12)
	if err != nil {
		return false
	}
	e.Notes.Mode = uint32(n)
	return true
}

// parseDevice reads MAJOR:MINOR, and after another colon the copy of the
// application that the file belongs to.
func parseDevice(e *format.Event, value []byte) bool {
	var n [3]int64
	c := cursor{b: value}
	for i := range n {
		if i == 2 && c.i == len(c.b) {
			break
		}
		if i > 0 && !c.take(":") {
			return false
		}
		start := c.i
		for c.i < len(c.b) && c.b[c.i] != ':' {
			c.i++
		}
		v, ok := decimal(c.b[start:c.i])
		if !ok || v > 1<<31-1 || i == 2 && v == 0 {
			return false
		}
		n[i] = v
	}
	if c.i < len(c.b) {
		return false
	}
	e.Notes.Dev = format.Device{Major: uint32(n[0]), Minor: uint32(n[1]), Copy: int32(n[2])}
	return true
}

func appendDevice(dst []byte, e *format.Event) []byte {
	d := &e.Notes.Dev
	dst = strconv.AppendUint(dst, uint64(d.Major), 10)
	dst = strconv.AppendUint(append(dst, ':'), uint64(d.Minor), 10)
	if d.Copy != 0 {
		dst = format.AppendInt(append(dst, ':'), int64(d.Copy))
	}
	return dst
}

func parseInode(e *format.Event, value []byte) bool {
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return false
	}
	e.Notes.Ino = n
	return true
}

// parseTarget reads a quoted text, which is borrowed where it has no escapes.
func parseTarget(e *format.Event, value []byte) (ok bool) {
	e.Notes.Target, ok = unquoted(value)
	return ok
}

// isFault reports whether the event can have the notes of faults.
func isFault(e *format.Event) bool { return e.Op.Info().Effect == format.EffectFault }

func parsePath(e *format.Event, value []byte) (ok bool) {
	e.Notes.Path, ok = unquoted(value)
	return ok
}

// unquoted returns what a quoted value says, borrowed from it where nothing in it
// is escaped.
func unquoted(value []byte) (text []byte, ok bool) {
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 && bytes.IndexByte(value[1:], '"') == n-2 {
		return value[1 : n-1 : n-1], true
	}
	text, rest, err := format.Unquote([]byte{}, value)
	if err != nil || len(rest) > 0 {
		return nil, false
	}
	return text, true
}

// parseBlocks keeps the text, which is borrowed.
func parseBlocks(e *format.Event, value []byte) bool {
	_, ok := format.ParseBlocks(value)
	if ok {
		e.Notes.Blocks = value
	}
	return ok
}

func parseSignal(e *format.Event, value []byte) bool {
	n, ok := format.ParseSignal(string(value))
	if ok {
		e.Notes.Signal = n
	}
	return ok
}

// parseWaker reads TID, or TID+NANOS where the call went on after the waking.
func parseWaker(e *format.Event, value []byte) bool {
	tid, woken, later := bytes.Cut(value, []byte("+"))
	n, ok := decimal(tid)
	var nanos int64
	if ok && later {
		nanos, ok = decimal(woken)
		ok = ok && nanos > 0
	}
	if !ok || n == 0 || n > math.MaxInt32 {
		return false
	}
	e.Notes.Waker, e.Notes.Woken = int32(n), nanos
	return true
}

// parseMessage reads KIND:CHANNEL+POSITION, of which the channel is hexadecimal.
func parseMessage(e *format.Event, value []byte) bool {
	name, value, _ := bytes.Cut(value, []byte(":"))
	channel, pos, _ := bytes.Cut(value, []byte("+"))
	kind, ok := format.ParseChannelKind(name)
	c, err := strconv.ParseUint(string(channel), 16, 64)
	p, perr := strconv.ParseUint(string(pos), 10, 32)
	if !ok || err != nil || perr != nil {
		return false
	}
	e.Notes.ChannelKind, e.Notes.Channel, e.Notes.Pos = kind, c, uint32(p)
	return true
}

func appendMessage(dst []byte, e *format.Event) []byte {
	n := e.Notes
	dst = append(append(dst, n.ChannelKind.String()...), ':')
	return strconv.AppendUint(append(format.AppendHex(dst, n.Channel), '+'), uint64(n.Pos), 10)
}

// within returns the number of a note that is at most so large.
func within(value []byte, most int64) (int64, bool) {
	n, ok := decimal(value)
	return n, ok && n <= most
}

func parseRing(e *format.Event, value []byte) bool {
	n, ok := within(value, math.MaxInt32)
	if ok && n > 0 {
		e.Notes.Request.Ring = int32(n)
	}
	return ok && n > 0
}

func parseReaped(e *format.Event, value []byte) bool {
	n, ok := within(value, math.MaxUint32)
	if ok {
		e.Notes.Request.Reaped = uint32(n)
	}
	return ok
}

func parseSlot(e *format.Event, value []byte) bool {
	n, ok := within(value, math.MaxUint32)
	if ok {
		e.Notes.Request.Slot = uint32(n)
	}
	return ok
}

func parseBuf(e *format.Event, value []byte) bool {
	n, ok := within(value, math.MaxUint16)
	if ok {
		e.Notes.Request.Buf = uint16(n)
	}
	return ok
}

func parseSubmitted(e *format.Event, value []byte) bool {
	n, err := format.ParseSeconds(value)
	if err != nil || n < 0 || n > format.MaxNote {
		return false
	}
	e.Notes.Request.Submitted = n
	return true
}

func parseWas(e *format.Event, value []byte) bool {
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n <= 0 {
		return false
	}
	e.Notes.Was = int32(n)
	return true
}

func parseCut(e *format.Event, value []byte) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n > format.MaxNote || n < -format.MaxNote {
		return false
	}
	e.Cut = n
	return true
}
