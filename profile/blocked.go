package profile

import "pianola/format"

// Blocked is the time in which threads were blocked, outside of calls on files, by
// what ended it, in nanoseconds.
type Blocked struct {
	By      [numWays]int64 // another recorded thread, by where the thread was blocked
	Timer   int64          // a time that had come
	Storage int64
	Unknown int64 // the recording does not tell: what is not recorded, as far as the recorder misses nothing
}

// way is where a thread is blocked until another one wakes it.
type way uint8

const (
	wayFutex way = iota
	wayPoll
	waySocket
	wayPipe
	wayProcess // the end of a process, or the execve of a vfork
	waySignal
	wayLock // of a file
	wayRest
	numWays
)

var wayNames = [numWays]string{"futex", "poll", "socket", "pipe", "process", "signal", "lock", "rest"}

// waysOfWaits are the ways by the kinds of format.WaitKinds.
var waysOfWaits = [...]way{format.WaitOther: wayRest, format.WaitFutex: wayFutex, format.WaitPoll: wayPoll, format.WaitSocket: waySocket, format.WaitSignal: waySignal}

// shortestBlock is how long a call must last that counts as blocked where nothing
// says that it was.
const shortestBlock = 20_000

// Explained returns the time whose end the recording explains.
func (b *Blocked) Explained() int64 {
	sum := b.Timer + b.Storage
	for _, nanos := range b.By {
		sum += nanos
	}
	return sum
}

// count adds what a call, and the gap before it, tell.
func (b *Blocked) count(c *call, e *format.Event) {
	b.Timer += e.Off.Timer
	b.Storage += e.Off.Storage
	b.Unknown += e.Off.Wait + e.Off.Other
	where, waits := wayOf(c, e)
	switch {
	case e.TimedOut():
		b.Timer += c.total.Nanos
	case where == numWays:
	case e.Notes.Known(format.NotedWaker):
		b.By[where] += max(c.total.Nanos-e.Notes.Woken, 0)
	case waits && c.total.Nanos >= shortestBlock:
		b.Unknown += c.total.Nanos
	}
}

// wayOf returns where a thread is blocked in a call, numWays for one on a file or
// one that never blocks. It reports whether a call that lasts waits for another
// thread, also where nothing says so.
func wayOf(c *call, e *format.Event) (w way, waits bool) {
	switch acts := e.Acts(); {
	case acts.Any(format.Blocks) && e.Kind() == format.WaitKind:
		if k := e.Args[0]; k >= 0 && k < int64(len(waysOfWaits)) {
			return waysOfWaits[k], false
		}
		return wayRest, false
	case acts.Any(format.Awaits):
		return wayProcess, true
	case acts.Any(format.Starts):
		return wayProcess, false
	case e.Op == format.OpFlock, e.Op == format.OpFcntl && (e.Args[1] == format.FSetlkw || e.Args[1] == format.FOfdSetlkw):
		return wayLock, true
	case c.category != Communication:
		return numWays, false
	}
	switch e.FileType() {
	case format.TypeFifo:
		return wayPipe, true
	case format.TypeSock:
		return waySocket, true
	}
	return wayRest, true
}
