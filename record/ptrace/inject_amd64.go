package ptrace

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	gsOffset   = unsafe.Offsetof(unix.PtraceRegs{}.Gs_base)
	ipOffset   = unsafe.Offsetof(unix.PtraceRegs{}.Rip)
	raxOffset  = unsafe.Offsetof(unix.PtraceRegs{}.Rax)
	origOffset = unsafe.Offsetof(unix.PtraceRegs{}.Orig_rax)
	spOffset   = unsafe.Offsetof(unix.PtraceRegs{}.Rsp)
)

func peekUser(tid int32, offset uintptr) (value uint64, ok bool) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKUSR, uintptr(tid), offset, uintptr(unsafe.Pointer(&value)), 0, 0)
	return value, e == 0
}

func peekIP(tid int32) (uint64, bool) { return peekUser(tid, ipOffset) }

// poke writes a word to a stopped thread's memory.
func poke(tid int32, addr, word uint64) bool {
	return requestAt(unix.PTRACE_POKEDATA, tid, uintptr(addr), uintptr(word)) == 0
}

// setSlot sets the slot of a stopped thread.
func setSlot(tid int32, addr uint64) bool {
	return requestAt(unix.PTRACE_POKEUSR, tid, gsOffset, uintptr(addr)) == 0
}

func setIP(tid int32, ip uint64) { requestAt(unix.PTRACE_POKEUSR, tid, ipOffset, uintptr(ip)) }

// restarts reports whether the kernel will make the call of a thread again that a stop has
// interrupted: it goes back to the call then, which is the jump.
func restarts(tid int32) bool {
	nr, _ := peekUser(tid, origOffset)
	result, _ := peekUser(tid, raxOffset)
	if int64(nr) < 0 {
		return false
	}
	const system, noIntr, noHand, block = -512, -513, -514, -516 // ERESTARTSYS and the like
	switch int64(result) {
	case system, noIntr, noHand, block:
		return true
	}
	return false
}

// injector makes a system call in a program.
type injector func(nr uint64, args ...uint64) (uint64, error)

// inject has a thread that has stopped at a call make other ones, and leaves it as it was. Signals
// wait.
func (tr *tracer) inject(t *thread, do func(injector) error) error {
	var before unix.PtraceRegs
	if err := unix.PtraceGetRegs(int(t.TID), &before); err != nil {
		return errGone
	}
	all := ^uint64(0)
	mask, err := swapMask(t.TID, all)
	if err != nil {
		return errGone
	}
	site := before.Rip - syscallBytes
	skipped := before
	skipped.Orig_rax = ^uint64(0)
	if unix.PtraceSetRegs(int(t.TID), &skipped) != nil || tr.toExit(t) != nil {
		return errGone
	}
	err = do(func(nr uint64, args ...uint64) (uint64, error) {
		regs := before
		regs.Rip, regs.Rax, regs.Orig_rax = site, nr, ^uint64(0)
		for i, to := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
			if *to = 0; i < len(args) {
				*to = args[i]
			}
		}
		if unix.PtraceSetRegs(int(t.TID), &regs) != nil {
			return 0, errGone
		}
		if err := tr.toExit(t); err != nil {
			return 0, err
		}
		if r := tr.info.result(); r < 0 {
			return 0, unix.Errno(-r)
		}
		return tr.info.nr, nil
	})
	// It makes its own call again.
	after := before
	after.Rip, after.Rax, after.Orig_rax = site, before.Orig_rax, ^uint64(0)
	if unix.PtraceSetRegs(int(t.TID), &after) != nil {
		return errors.Join(err, errGone)
	}
	if e := tr.toEntry(t); e != nil {
		return errors.Join(err, e)
	}
	_, maskErr := swapMask(t.TID, mask)
	if t.stopAgain {
		t.stopAgain = false
		_ = unix.Kill(int(t.process.id), unix.SIGSTOP)
	}
	return errors.Join(err, maskErr)
}

// toExit lets a thread run to the end of its call; toEntry to the stop of the filter at the next.
func (tr *tracer) toExit(t *thread) error  { return tr.runTo(t, infoExit) }
func (tr *tracer) toEntry(t *thread) error { return tr.runTo(t, infoSeccomp) }

// The kinds of stops in syscallInfo (PTRACE_SYSCALL_INFO_*).
const (
	infoExit    = 2
	infoSeccomp = 3
)

func (tr *tracer) runTo(t *thread, op uint8) error {
	for {
		if request(unix.PTRACE_SYSCALL, t.TID, 0) != 0 {
			return errGone
		}
		status, err := tr.await(t.TID)
		if err != nil {
			return err
		}
		if stopEvent(status) == 0 && status.StopSignal() == unix.SIGSTOP { // which can't be blocked
			t.stopAgain = true
		}
		if !getSyscall(t.TID, &tr.info) {
			return errGone
		}
		if tr.info.op == op {
			return nil
		}
	}
}

func swapMask(tid int32, mask uint64) (before uint64, err error) {
	const getMask, setMask = 0x420a, 0x420b
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getMask, uintptr(tid), 8, uintptr(unsafe.Pointer(&before)), 0, 0); e != 0 {
		return 0, e
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, setMask, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0); e != 0 {
		return 0, e
	}
	return before, nil
}

// delayed takes a signal for a thread in the blob, before it is delivered. It reports whether the
// thread runs on already.
func (tr *tracer) delayed(t *thread, s unix.Signal) bool {
	if t.ring == nil {
		return false
	}
	ip, ok := peekIP(t.TID)
	if !ok || ip < blobAddr || ip >= blobAddr+uint64(len(blobCode)) {
		return false
	}
	place := ip - blobAddr
	if place < blobMarks[markCalled] || place >= blobMarks[markDone] || restarts(t.TID) {
		return false
	}
	var info [128]byte
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(t.TID), 0, uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
		return false
	}
	code := int32(binary.LittleEndian.Uint32(info[8:]))
	if (s == unix.SIGSEGV || s == unix.SIGBUS) && code > 0 { // a piece that can't be read
		setIP(t.TID, blobAddr+blobMarks[markFault])
		tr.resume(t, 0)
		return true
	}
	mask, err := swapMask(t.TID, ^uint64(0))
	if err != nil {
		return false
	}
	// The blob returns to a breakpoint.
	trap := blobMarks[markCall] + markBytes + syscallBytes
	sp, _ := peekUser(t.TID, spOffset)
	var own uint64
	frame := sp + frameBytes
	if readMemory(t.TID, frame, asMemory(&own)) != 8 || !poke(t.TID, frame, blobAddr+trap) {
		_, _ = swapMask(t.TID, mask)
		return false
	}
	for trapped := false; !trapped; {
		if request(unix.PTRACE_CONT, t.TID, 0) != 0 {
			return true
		}
		status, err := tr.await(t.TID)
		if err != nil {
			return true
		}
		if ip, ok = peekIP(t.TID); !ok {
			return true
		}
		fault := status.StopSignal()
		switch place = ip - blobAddr; {
		case stopEvent(status) != 0: // of a thread that was asked to stop
		case place >= trap:
			trapped = true
		case fault == unix.SIGSEGV || fault == unix.SIGBUS:
			setIP(t.TID, blobAddr+blobMarks[markFault])
		}
	}
	setIP(t.TID, own)
	_, _ = swapMask(t.TID, mask)
	_, _, _ = unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGINFO, uintptr(t.TID), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	tr.resume(t, s)
	return true
}
