package transform

import (
	"fmt"

	"pianola/format"
)

// idBits is how many bits the ids of threads have at most; the kernel gives out
// none above.
const idBits = 22

// maxCopies bounds how often an application can be there.
const maxCopies = 256

// ids gives the threads of one copy of an application ids of their own.
type ids int32

// of returns the id of the copy's thread, and what is no id as it is.
func (k ids) of(id int64) int64 {
	if id <= 0 {
		return id
	}
	return id + int64(k)<<idBits
}

// check reports ids that leave no room for copies.
func (k ids) check(e *format.Event) error {
	if e.TID > 1<<idBits || e.Op.Info().Effect == format.EffectFork && e.Ret > 1<<idBits {
		return fmt.Errorf("thread %d makes thread %d: ids above %d can't be told from those of copies", e.TID, e.Ret, 1<<idBits)
	}
	return nil
}

// rename gives the ids of an event to those of the copy.
func (k ids) rename(e *format.Event) {
	if k == 0 || !e.Op.Valid() {
		return
	}
	e.TID = int32(k.of(int64(e.TID)))
	switch info := e.Op.Info(); info.Effect {
	case format.EffectFork:
		e.Ret = k.of(e.Ret)
	case format.EffectWait:
		child := &e.Ret
		if info.At.Child >= 0 {
			child = &e.Args[info.At.Child]
		}
		pid := &e.Args[info.At.PID]
		*pid, *child = k.of(*pid), k.of(*child)
	}
	if was := e.Renamed(); was > 0 {
		n := *e.Notes
		n.Was = int32(k.of(int64(was)))
		e.Notes = &n
	}
}

// apart makes the inodes that an event notes those of other files.
func (k ids) apart(e *format.Event) {
	if k > 0 && e.Notes.Known(format.NotedDev) {
		n := *e.Notes
		n.Dev.Copy = int32(k)
		e.Notes = &n
	}
}
