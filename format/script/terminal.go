package script

import (
	"bytes"

	"pianola/format"
)

// terminal finds the thread of a line that strace wrote to a terminal. There
// strace shows ids only while it follows more than one thread.
//
//	clone(…) = 4712
//	strace: Process 4712 attached
//	[pid  4711] close(3) = 0
//	[pid  4712] exit(0) = ?
//	[pid  4712] +++ exited with 0 +++
//	close(4) = 0
//
// The first thread, whose id is not known from the beginning, is thread 1.
type terminal struct {
	begun bool           // a line without an id has been read
	main  int32          // the id of thread 1 when it is shown
	alive map[int32]bool // threads that strace has attached to
	gone  bool           // thread 1 has ended
	torn  []byte         // the beginning of a call in which a remark came in between
}

// parseThread reads the thread of a line.
func (r *Reader) parseThread() int32 {
	c, t := &r.cursor, &r.terminal
	brackets := c.take("[pid")
	if !r.layout.bare || brackets {
		c.spaces()
		tid := c.thread()
		if !brackets {
			return tid
		}
		c.expect(']')
		if t.begun && t.main == 0 && !t.alive[tid] {
			t.main = tid
		}
		if t.main == tid && tid != 0 {
			tid = 1
		}
		return tid
	}
	t.begun = true
	if t.gone && len(t.alive) == 1 {
		for tid := range t.alive {
			return tid
		}
	}
	return 1
}

// started notes a thread that a call or a remark of strace shows.
func (t *terminal) started(tid int32) {
	if t.alive == nil {
		t.alive = make(map[int32]bool)
	}
	if len(t.alive) < maxEnded {
		t.alive[tid] = true
	}
}

func (t *terminal) died(tid int32) {
	t.gone = t.gone || tid == 1
	delete(t.alive, tid)
}

// parentage follows the threads that an event starts.
func (r *Reader) parentage(e *format.Event) {
	if r.layout.bare && e.Ret > 0 && e.Op.Info().Effect == format.EffectFork {
		r.terminal.started(int32(e.Ret))
	}
}

var (
	straceRemark  = []byte("strace: ")
	processRemark = []byte("[ Process PID=")
)

// isRemark reports whether a line is strace's own, which it writes among the
// calls where it has no file of its own for them.
func isRemark(line []byte) bool {
	return bytes.HasPrefix(line, straceRemark) || bytes.HasPrefix(line, processRemark)
}

var attachedMark = []byte(" attached")

// mend joins a line that strace's own remark tore, and returns nil for its
// first half:
//
//	vfork(strace: Process 4712 attached
//	 <unfinished ...>
func (r *Reader) mend(line []byte) []byte {
	t := &r.terminal
	if len(t.torn) > 0 {
		start := len(r.arena)
		r.arena = append(append(r.arena, t.torn...), line...)
		t.torn = t.torn[:0]
		return r.arena[start:len(r.arena):len(r.arena)]
	}
	if !r.layout.bare || !bytes.HasSuffix(line, attachedMark) {
		return line
	}
	n := bytes.LastIndex(line, straceRemark)
	if n <= 0 {
		return line
	}
	t.torn = append(t.torn, line[:n]...)
	r.remark(line[n:])
	return nil
}

// remark takes up such a line.
func (r *Reader) remark(line []byte) {
	r.skip([]byte("remark"))
	c := cursor{b: line}
	if c.take("strace: Process ") && isDigit(c.peek()) {
		if tid := c.thread(); c.take(" attached") && c.msg == "" && tid != r.terminal.main {
			r.terminal.started(tid)
		}
	}
}
