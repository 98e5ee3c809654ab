package transform

import (
	"fmt"
	"strings"

	"pianola/format"
)

// idBits is the largest number of bits of a thread id in the kernel.
const idBits = 22

// maxCopies bounds the number of copies of an application.
const maxCopies = 256

// ids gives the threads of a copy of an application ids of their own.
type ids int32

// of returns the id of the copy's thread. It returns a number that is not an id
// unchanged.
func (k ids) of(id int64) int64 {
	if id <= 0 {
		return id
	}
	return id + int64(k)<<idBits
}

// check returns an error for ids that leave no room for copies.
func (k ids) check(e *format.Event) error {
	if e.TID > 1<<idBits || e.Op.Valid() && e.Acts().Any(format.Starts) && e.Ret > 1<<idBits {
		return fmt.Errorf("thread %d creates thread %d: thread ids above %d collide with those of copies", e.TID, e.Ret, 1<<idBits)
	}
	return nil
}

// rename replaces the ids in an event, of threads and channels, by those of the
// copy.
func (k ids) rename(e *format.Event) {
	if k == 0 || !k.renameCall(e) || e.Notes == nil {
		return
	}
	n := *e.Notes
	if k.renameNotes(&n) {
		n.Channel += uint64(k) * channelStep
		e.Notes = &n
	}
}

// renameCall replaces the ids in the call of an event, and reports whether it has
// some.
func (k ids) renameCall(e *format.Event) bool {
	if !e.Valid() || e.Enters != nil {
		return false
	}
	e.TID = int32(k.of(int64(e.TID)))
	switch info := e.Op.Info(); {
	case info.Acts.Any(format.Starts):
		e.Ret = k.of(e.Ret)
	case info.Acts.Any(format.Awaits):
		child := &e.Ret
		if info.At.Child >= 0 {
			child = &e.Args[info.At.Child]
		}
		pid := &e.Args[info.At.PID]
		*pid, *child = k.of(*pid), k.of(*child)
	}
	return true
}

// renameNotes replaces the ids of threads in notes, and reports whether the notes have ids, of
// threads or channels.
func (k ids) renameNotes(n *format.Notes) bool {
	if n.Has&(format.NotedWas|format.NotedWaker|format.NotedMessage) == 0 {
		return false
	}
	n.Was, n.Waker = int32(k.of(int64(n.Was))), int32(k.of(int64(n.Waker)))
	return true
}

// pipe returns the name of a pipe of the copy. It returns other paths unchanged.
func (k ids) pipe(path string) string {
	if rest, ok := strings.CutPrefix(path, "pipe:["); ok && k > 0 {
		return fmt.Sprintf("pipe:[%d:%s", k+1, rest)
	}
	return path
}

// channelStep is between the channels of copies. Channels of the application are
// hashes, or count from 1.
const channelStep = 0x9e3779b97f4a7c15

// apart makes the inodes in an event's notes different from those of other
// copies.
func (k ids) apart(e *format.Event) {
	if k > 0 && e.Notes.Known(format.NotedDev) {
		n := *e.Notes
		n.Dev.Copy = int32(k)
		e.Notes = &n
	}
}
