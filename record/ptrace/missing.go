package ptrace

import (
	"bytes"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
)

// planCounts plans for the calls that are not recorded but counted.
func planCounts(plans *[format.MaxSys]plan) {
	for nr, kind := range record.Unrecorded {
		if kind != coverage.Mapped {
			plans[nr].atEntry = count(kind)
			continue
		}
		plans[nr].atEntry, plans[nr].atExit = readMapped, placeMapped
		plans[unix.SYS_MUNMAP].atEntry = readUnmapped
		plans[unix.SYS_MSYNC].atEntry = readSynced
	}
}

// planEnds plans for the calls that end recording in the process.
func planEnds(plans *[format.MaxSys]plan) {
	for nr, end := range endsInProcess {
		if nr < 0 {
			continue
		}
		plans[nr].atEntry = func(tr *tracer, t *thread) {
			t.foreign = true
			if uint32(t.Args[0]) == end.argument {
				tr.leaveProcess(t, errors.New(end.why))
			}
		}
	}
}

// count returns the reader that counts calls of a kind.
func count(kind coverage.Kind) reader {
	return func(tr *tracer, t *thread) {
		tr.missing.Add(coverage.Missing{Kind: kind, Calls: 1, Amount: coverage.Amount{Nanos: coverage.Unknown}})
		t.foreign = true
	}
}

// lose notes that it is unknown how much is missing of a kind.
func (tr *tracer) lose(kind coverage.Kind) {
	tr.missing.Add(coverage.Missing{Kind: kind, Amount: coverage.Amount{Bytes: coverage.Unknown, Nanos: coverage.Unknown}})
}

// countings returns how often the kernel counts the bytes of a call as moved by
// the thread: those that are copied from one descriptor to another as read and
// as written.
func countings(op format.Op) int64 {
	switch info := op.Info(); {
	case info.Class != format.ClassRead && info.Class != format.ClassWrite, info.Acts.Any(format.Messages):
		return 0
	case !info.Acts.All(format.ReadsBytes | format.WritesBytes):
		return 1
	case op == format.OpSplice:
		return 0
	}
	return 2
}

// readExec takes what must be known before execve, which reads programs and
// replaces what is in memory.
func readExec(tr *tracer, t *thread) {
	t.movedBefore, _ = tr.movedBytes(t.TID)
	t.uses = usesOf(t.TID, t.process.maps)
}

// holdExec adds what execve has read, whether it succeeded or not, to what the
// thread's calls have moved.
func (tr *tracer) holdExec(t *thread) {
	moved, _ := tr.movedBytes(t.TID)
	t.held += moved - t.movedBefore
}

const dumpedCore = 0x80 // in a wait status

// settle puts into the account what a thread, which ends with a wait status, has
// moved by other means than calls that are recorded, and takes it off its
// process.
func (tr *tracer) settle(t *thread, code uint64) {
	if t.settled {
		return
	}
	t.settled = true
	tr.retire(t)
	if code&dumpedCore == 0 { // which the thread itself has written
		tr.settleBytes(t)
	}
	p := t.process
	if p.threads--; p.threads > 0 {
		return
	}
	for _, r := range p.urings {
		tr.reapUring(t, r)
	}
	tr.keep(usesOf(t.TID, p.maps))
	p.clear()
	delete(tr.processes, p.id)
}

// settleBytes does so for the bytes. A thread that is killed while it exits has no other stop, so
// this is done when it calls exit, too.
func (tr *tracer) settleBytes(t *thread) {
	if t.counted {
		return
	}
	t.counted = true
	kind := coverage.Elsewhere
	if t.compat {
		kind = coverage.Compat
	}
	if !tr.running || t.inside && t.onNoFile() {
		return
	}
	moved, ok := tr.movedBytes(t.TID)
	switch rest := moved - t.held; {
	case !ok && !(t.inside && plans[t.Nr].counted > 0): // it was killed outside of a call that moves bytes, and all others are recorded
	case !ok:
		tr.lose(kind)
	case rest > 0:
		tr.missing.Add(coverage.Missing{Kind: kind, Amount: coverage.Amount{Bytes: rest, Nanos: coverage.Unknown}})
	}
}

// onNoFile reports whether the call of a thread reads or writes something other than a
// file. If the thread is killed within the call, the number of bytes is unknown.
func (t *thread) onNoFile() bool {
	switch t.Type {
	case 0, unix.S_IFREG >> 12, unix.S_IFBLK >> 12:
		return false
	}
	return plans[t.Nr].typed
}

// movedBytes returns how many bytes a thread has moved, as the kernel counts
// them, and whether the kernel tells.
func (tr *tracer) movedBytes(tid int32) (moved int64, ok bool) {
	tr.path = append(procPath(tr.path[:0], tid, "/task/", int64(tid)), "/io\x00"...)
	at := format.AtFDCWD
	fd, _, e := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&tr.path[0])), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		return 0, false
	}
	var text [512]byte
	n, err := unix.Read(int(fd), text[:])
	unix.Close(int(fd))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text[:n]) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		if s := string(name); s == "rchar" || s == "wchar" {
			moved += number(value)
		}
	}
	return moved, true
}

// number returns the decimal number that a text begins with.
func number(text []byte) (n int64) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
