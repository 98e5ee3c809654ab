package script

import (
	"bytes"

	"pianola/format"
)

// maxUnfinished bounds the text of the calls that have begun and not ended,
// in bytes.
const maxUnfinished = 64 << 20

// maxThreads bounds the threads with an unfinished call; Linux has no higher
// process ids.
const maxThreads = 1 << 22

// unfinished holds, by thread, the calls of which strace has shown the
// beginning only, because another thread's line came in between:
//
//	4711 0.000010 read(3,  <unfinished ...>
//	4712 0.000020 close(4) = 0 <0.000010>
//	4711 0.000030 <... read resumed>"", 10) = 0 <0.000055>
type unfinished struct {
	calls map[int32]beginning
	size  int
}

type beginning struct {
	start int64
	text  []byte
}

var (
	unfinishedMark = []byte(" <unfinished ...>")
	detachedMark   = []byte(" <detached ...>") // strace -p has left the thread in the call
)

// suspend reports whether the rest of the line is only the beginning of a
// call, and keeps it.
func (r *Reader) suspend(e *format.Event) bool {
	c := &r.cursor
	rest := c.b[c.i:]
	if len(rest) == 0 || rest[len(rest)-1] != '>' && rest[len(rest)-1] != '?' {
		return false
	}
	if bytes.HasSuffix(rest, detachedMark) {
		name, _, _ := bytes.Cut(rest, []byte{'('})
		r.skip(name)
		return true
	}
	text, ok := bytes.CutSuffix(rest, unfinishedMark)
	if !ok {
		// A thread that is killed within a call never finishes it.
		if text, ok = bytes.CutSuffix(rest, []byte(" <unfinished ...>) = ?")); ok {
			name, _, _ := bytes.Cut(text, []byte{'('})
			r.skip(name)
		}
		return ok
	}
	u := &r.calls
	if u.calls == nil {
		u.calls = make(map[int32]beginning)
	}
	u.size += len(text) - len(u.calls[e.TID].text)
	if u.size > maxUnfinished || len(u.calls) >= maxThreads {
		c.fail("too many unfinished calls")
		return true
	}
	if before, ok := u.calls[e.TID]; ok {
		r.waits.abandon(e.TID, before.text)
	}
	r.waits.begins(e.TID, text)
	u.calls[e.TID] = beginning{start: e.Start, text: bytes.Clone(text)}
	return true
}

// resume sets the cursor to the whole call that "<... name resumed>" ends, and
// the event's start to that of its beginning. Without a beginning, which
// strace -p does not show, it skips the line.
func (r *Reader) resume(e *format.Event) bool {
	c := &r.cursor
	if !c.take("<... ") {
		c.fail("expected a call")
		return false
	}
	name := c.name()
	if !c.take(" resumed>") {
		c.fail("expected a resumed call")
		return false
	}
	call, ok := r.calls.calls[e.TID]
	if !ok || !bytes.HasPrefix(call.text, name) {
		r.skip(name)
		return false
	}
	delete(r.calls.calls, e.TID)
	r.calls.size -= len(call.text)
	e.Start = call.start
	start := len(r.arena)
	r.arena = append(r.arena, call.text...)
	r.arena = append(r.arena, bytes.TrimLeft(c.b[c.i:], " ")...)
	*c = cursor{b: r.arena[start:len(r.arena):len(r.arena)]}
	return true
}
