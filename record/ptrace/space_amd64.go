package ptrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/internal/ticks"
	"pianola/record"
)

// The mapping of the blob: its code, a slot for threads that have no ring, and the plans of that,
// which take nothing. It is private memory, which a fork copies.
const (
	idleAddr      = blobAddr + blobBytes
	idlePlansAddr = idleAddr + 4<<10 // zeroes
	blobMapped    = blobBytes + 4<<10 + maxNr<<planShift
)

// The area that a process shares with the tracer. A process that is forked gets one of its own.
const (
	areaAddr  = blobAddr + 1<<20
	atPlans   = 0
	atMinors  = maxNr << planShift
	atTypes   = 64 << 10
	atSlots   = 128 << 10
	slotBytes = 4<<10 + ringBytes
	maxSlots  = 240
	areaBytes = atSlots + maxSlots*slotBytes // 62 MiB; only what is used takes memory
)

// blobCode is the code of the blob, and the places of its marks.
var blobCode, blobMarks = func() (code []byte, marks [markEnd + 1]uint64) {
	code = unsafe.Slice((*byte)(blobAddress()), blobBytes)
	for mark := markCalled; mark <= markEnd; mark++ {
		at := bytes.Index(code, []byte{0x0f, 0x1f, 0x84, 0x00, byte(mark), 0x4f, 0x4e, 0x50})
		if at < 0 {
			panic("ptrace: the blob has lost a mark")
		}
		marks[mark] = uint64(at)
	}
	return slices.Clone(code[:marks[markEnd]]), marks
}()

func blob()
func blobAddress() unsafe.Pointer

// seek seeks times times at a call site of its own, with mark in an argument that the kernel
// ignores.
func seek(fd, times, mark int)

// inProcess reports why calls can't be recorded in the process on this machine, nil where they can.
func inProcess() error {
	if !ticks.Counts() {
		return errors.New("the kernel does not keep time by the processor's counter")
	}
	return nil
}

// space is a process's memory as far as calls in it are recorded there.
type space struct {
	shared []byte // the area; nil before there is one
	used   [maxSlots]bool
	near   []near
	traps  map[uint64]bool // the first bytes of jumps, which were breakpoints while they were written
	sites  map[uint64]int  // stops of call sites that could not become a jump yet; refused for ever
	calls  int             // that stopped before there was an area
	why    error           // there will be none
	copied bool            // the memory has the blob of the process that made this one
}

const refused = -1

// near is memory for stubs, near call sites.
type near struct {
	addr uint64
	used uint64 // bytes
}

const (
	nearBytes = 16 << 10
	reach     = 1<<31 - 1<<20 // of a jump, with room for the library around the site
)

// firstCalls is how many calls of a process stop before its sites become jumps, because that
// takes as long as some ten stops.
const firstCalls = 8

func (s *space) close() {
	if s.shared != nil {
		_ = unix.Munmap(s.shared)
		s.shared = nil
	}
}

func (s *space) types() []uint8 { return s.shared[atTypes : atTypes+maxTypes] }

func (s *space) slot(n int) *slot { return (*slot)(unsafe.Pointer(&s.shared[slotPlace(n)])) }

func slotPlace(n int) int { return atSlots + n*slotBytes }

// arch_prctl(2).
const (
	archPrctl = unix.SYS_ARCH_PRCTL
	archSetGS = 0x1001
)

const gsBase = unsafe.Offsetof(unix.PtraceRegs{}.Gs_base)

// setSlot sets the slot of a stopped thread.
func setSlot(tid int32, addr uint64) bool {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, uintptr(tid), gsBase, uintptr(addr), 0, 0)
	return e == 0
}

// idle gives a stopped thread the slot that takes nothing. Its first call in a process with an
// area gives it another one. The address need not be mapped yet: only stubs use it.
func (tr *tracer) idle(t *thread) {
	if tr.inline != nil {
		setSlot(t.TID, idleAddr)
	}
}

// patch makes the call site at which a thread has stopped a jump, so that later calls don't stop.
// The call itself goes on as it is.
func (tr *tracer) patch(t *thread) {
	if tr.inline == nil || tr.inline[t.Nr].bits == 0 || !tr.running && t.Args[5] != measureMark {
		return
	}
	s := t.process.space()
	switch {
	case s.why != nil:
		return
	case s.shared == nil:
		if s.calls++; s.calls < firstCalls && tr.running {
			return
		}
		if s.why = tr.share(t, s); s.why != nil {
			tr.stopped(s.why)
			return
		}
	}
	if t.ring == nil && !tr.attach(t, s) {
		return
	}
	call := tr.info.ip - syscallBytes
	if s.sites[call] == refused {
		return
	}
	// Of sites that can't be changed now, some can later.
	stops := s.sites[call] + 1
	s.sites[call] = stops
	if stops&(stops-1) != 0 {
		return
	}
	if err := tr.patchSite(t, s, call); err != nil && !errors.Is(err, errLater) {
		s.sites[call] = refused
	}
}

var (
	errLater   = errors.New("another thread is in the call")
	errPattern = errors.New("the call site fits no pattern")
)

// isStub reports whether the call at the end of the code is that of a stub.
func isStub(code []byte) bool {
	return bytes.HasSuffix(code, []byte{0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0, 0x73, syscallBytes})
}

func (tr *tracer) patchSite(t *thread, s *space, call uint64) error {
	var code [2*sightBytes + syscallBytes]byte
	at := call - sightBytes
	n := readMemory(t.TID, at, code[:])
	if n < len(code) { // the next page may not be there
		at = call &^ (pageBytes - 1)
		n = readMemory(t.TID, at, code[:min(uint64(len(code)), call+64-at)])
	}
	i := int(call - at)
	if n < i+syscallBytes || isStub(code[:i]) {
		return errPattern
	}
	found, ok := siteOf(code[:n], at, call, uint64(t.Nr))
	if !ok {
		return errPattern
	}
	return tr.jump(t, s, &found)
}

// jump writes the stub and the jump.
func (tr *tracer) jump(t *thread, s *space, found *site) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", t.TID), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	stub, literal, err := tr.stubFor(t, s, memory, found.from)
	if err != nil {
		return err
	}
	if _, err = memory.WriteAt(found.stub(stub, literal), int64(stub)); err != nil {
		return err
	}
	// A thread that comes by meanwhile meets the first byte as a breakpoint: see trapped. The
	// kernel's text_poke_bp does the same.
	s.traps[found.from] = true
	write := func(code []byte, at uint64) {
		if err == nil {
			_, err = memory.WriteAt(code, int64(at))
		}
	}
	jump := found.jump(stub)
	write([]byte{breakpoint}, found.from)
	if len(found.moved) > 0 { // a thread can stand behind the call, which the jump covers
		behind, after := found.call+syscallBytes, found.after(stub)
		stopped, busy := tr.hold(t, behind)
		defer tr.release(stopped)
		if busy != nil {
			write(found.before[:1], found.from)
			return errors.Join(err, busy)
		}
		setIP(t.TID, after)
		for _, other := range stopped {
			if ip, ok := peekIP(other.TID); ok && ip == behind && !restarts(other.TID) {
				setIP(other.TID, after)
			}
		}
	}
	write(jump[1:], found.from+1)
	write(jump[:1], found.from)
	tr.jumps[found.from] = jumpAt{[jumpBytes]byte(jump), found.before}
	return err
}

const breakpoint = 0xcc // int3

const (
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
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEDATA, uintptr(tid), uintptr(addr), uintptr(word), 0, 0)
	return e == 0
}

func setIP(tid int32, ip uint64) {
	_, _, _ = unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, uintptr(tid), ipOffset, uintptr(ip), 0, 0)
}

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

// hold stops the other threads of a process that run, so that none of them stands behind a
// call while that becomes a jump. One that waits in that call returns there: the site can't be
// changed then, unless the tracer sees the call's end.
func (tr *tracer) hold(t *thread, behind uint64) (stopped []*thread, err error) {
	for _, other := range tr.threads {
		if other == t || other.process != t.process || other.inside {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", other.TID))
		if err != nil {
			return stopped, errLater
		}
		if at := strings.LastIndexByte(string(text), ' '); !bytes.HasPrefix(text, []byte("running")) {
			if strings.TrimSpace(string(text[at+1:])) == fmt.Sprintf("%#x", behind) {
				return stopped, errLater
			}
			continue
		}
		if request(unix.PTRACE_INTERRUPT, other.TID, 0) != 0 {
			return stopped, errLater
		}
		status, err := tr.await(other.TID)
		if err != nil {
			return stopped, errLater
		}
		if stopEvent(status) == unix.PTRACE_EVENT_STOP && status.StopSignal() == unix.SIGTRAP {
			stopped = append(stopped, other)
			continue
		}
		tr.stops = append(tr.stops, stopOf{other.TID, status}) // its own; the one that was asked for comes after it
		if ip, ok := peekIP(other.TID); ok && ip == behind {
			return stopped, errLater
		}
	}
	return stopped, nil
}

func (tr *tracer) release(stopped []*thread) {
	for _, t := range stopped {
		tr.resume(t, 0)
	}
}

// landed moves a stopped thread that has returned into a jump to the place in the stub after the
// call.
func (tr *tracer) landed(t *thread) {
	if s := t.process.memory; s == nil || s.shared == nil && !s.copied {
		return
	}
	ip := tr.info.ip
	var code [jumpBytes]byte
	if readMemory(t.TID, ip-syscallBytes, code[:]) != len(code) || code[0] != 0xe9 || restarts(t.TID) {
		return
	}
	stub := ip - syscallBytes + jumpBytes + uint64(int64(int32(binary.LittleEndian.Uint32(code[1:]))))
	var text [stubAfter]byte
	if readMemory(t.TID, stub, text[:]) == len(text) && isStub(text[:]) {
		setIP(t.TID, stub+stubAfter+syscallBytes)
	}
}

// trapped takes a breakpoint that a thread met while its site became a jump. It reports whether
// it was one.
func (tr *tracer) trapped(t *thread) bool {
	s := t.process.memory
	if s == nil {
		return false
	}
	ip, ok := peekIP(t.TID)
	if !ok || !s.traps[ip-1] {
		return false
	}
	setIP(t.TID, ip-1)
	return true
}

// stubFor returns room for a stub near a site, and the address of the literal for it.
func (tr *tracer) stubFor(t *thread, s *space, memory *os.File, from uint64) (stub, literal uint64, err error) {
	for i := range s.near {
		n := &s.near[i]
		if distance := int64(n.addr - from); distance > -reach && distance < reach && n.used+stubBytes <= nearBytes {
			n.used += stubBytes
			return n.addr + n.used - stubBytes, n.addr, nil
		}
	}
	addr, err := gapNear(t.TID, from)
	if err != nil {
		return 0, 0, err
	}
	err = tr.inject(t, func(call injector) error {
		_, err := call(unix.SYS_MMAP, addr, nearBytes, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if _, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, blobAddr), int64(addr)); err != nil {
		return 0, 0, err
	}
	s.near = append(s.near, near{addr, 2 * stubBytes})
	return addr + stubBytes, addr, nil
}

// gapNear returns an address near another one at which nothing is mapped.
func gapNear(tid int32, from uint64) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", tid))
	if err != nil {
		return 0, err
	}
	const margin = 1 << 20 // for what may grow, as a stack
	best := uint64(0)
	last := uint64(1 << 16)
	closer := func(addr uint64) {
		if d := int64(addr - from); d > -reach && d < reach && (best == 0 || max(d, -d) < max(int64(best-from), -int64(best-from))) {
			best = addr
		}
	}
	for line := range strings.Lines(string(text)) {
		var start, end uint64
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err != nil {
			break
		}
		if start > last && start-last >= 2*margin+nearBytes {
			closer(last + margin)
			closer((start - margin - nearBytes) &^ (pageBytes - 1))
		}
		last = end
	}
	if best == 0 {
		return 0, errors.New("no memory near the call site")
	}
	return best, nil
}

// share maps the blob and the area into a process, of which a thread has stopped at a call.
func (tr *tracer) share(t *thread, s *space) (err error) {
	if s.copied && tr.sharesMemory(t.process) {
		return errShares
	}
	if filtersOf(t.TID) > tr.filters {
		return errors.New(ownFilter)
	}
	var own int
	err = tr.inject(t, func(call injector) error {
		if !s.copied {
			if _, err := call(unix.SYS_MMAP, blobAddr, blobMapped, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0); err != nil {
				return err
			}
			if err := tr.writeBlob(t); err != nil {
				return err
			}
		}
		fd, err := call(unix.SYS_MEMFD_CREATE, idlePlansAddr, unix.MFD_CLOEXEC) // the name is empty
		if err != nil {
			return err
		}
		var ok bool
		if own, ok = record.Borrow(t.TID, int64(fd)); ok {
			if err = unix.Ftruncate(own, areaBytes); err == nil {
				how := uint64(unix.MAP_SHARED | unix.MAP_FIXED_NOREPLACE)
				if s.copied {
					how = unix.MAP_SHARED | unix.MAP_FIXED // over that of the other process
				}
				_, err = call(unix.SYS_MMAP, areaAddr, areaBytes, unix.PROT_READ|unix.PROT_WRITE, how, fd, 0)
			}
		} else {
			err = errors.New("the kernel does not lend a descriptor")
		}
		_, closing := call(unix.SYS_CLOSE, fd)
		return errors.Join(err, closing)
	})
	if own > 0 {
		defer unix.Close(own)
	}
	if err != nil {
		return err
	}
	if s.shared, err = unix.Mmap(own, 0, areaBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	for nr := range tr.inline {
		if tr.inline[nr].bits != 0 {
			copy(s.shared[atPlans+nr<<planShift:], asMemory(&tr.inline[nr]))
		}
	}
	for minor, kind := range tr.storages {
		tr.noteMinor(s, minor, kind)
	}
	copy(s.types(), t.process.types)
	t.process.types = nil
	s.sites, s.traps = make(map[uint64]int), make(map[uint64]bool)
	return nil
}

var errShares = errors.New("it shares its memory with the process that made it") // until execve, after vfork

// stopped counts a process that can't be recorded in the process.
func (tr *tracer) stopped(why error) {
	if why == errShares || !tr.running {
		return
	}
	if tr.refusals == nil {
		tr.refusals = make(map[string]int)
	}
	tr.refusals[why.Error()]++
}

// leaveProcess gives up recording in the process of a stopped thread: its stubs make all calls
// themselves, and its jumps are call sites again.
func (tr *tracer) leaveProcess(t *thread, why error) {
	s := t.process.space()
	if s.why != nil {
		return
	}
	s.why = why
	if tr.inline != nil {
		tr.stopped(why)
	}
	if s.shared == nil && !s.copied {
		return
	}
	if s.shared != nil {
		clear(s.shared[atPlans : atPlans+maxNr<<planShift])
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", t.TID), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer memory.Close()
	for from, jump := range tr.jumps {
		var code [jumpBytes]byte
		if readMemory(t.TID, from, code[:]) == len(code) && code == jump.code {
			for _, part := range [][2]int{{0, 1}, {1, jumpBytes}, {0, 1}} { // the first byte is a breakpoint meanwhile
				text := jump.before[part[0]:part[1]]
				if part[1] == 1 && code[0] == 0xe9 {
					text, code[0] = []byte{breakpoint}, breakpoint
				}
				_, _ = memory.WriteAt(text, int64(from)+int64(part[0]))
			}
		}
	}
}

// noteMinor tells the blob of a process what files without a device are.
func (tr *tracer) noteMinor(s *space, minor uint32, kind storage) {
	if minor >= maxMinors || s.shared == nil {
		return
	}
	known := byte(minorOther)
	if kind == nowhere {
		known = minorPseudo
	}
	s.shared[atMinors+int(minor)] = known
}

func (tr *tracer) writeBlob(t *thread) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", t.TID), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	if _, err = memory.WriteAt(blobCode, blobAddr); err != nil {
		return err
	}
	none := slot{self: idleAddr, plans: idlePlansAddr}
	_, err = memory.WriteAt(asMemory(&none), idleAddr)
	return err
}

// copyOf returns the memory of a new process, by its first thread, if the blob is there.
func (tr *tracer) copyOf(tid int32) *space {
	var code [16]byte
	if tr.inline == nil || readMemory(tid, blobAddr, code[:]) != len(code) || !bytes.HasPrefix(blobCode, code[:]) {
		return nil
	}
	return &space{copied: true}
}

// sharesMemory reports whether the memory of a process is that of another one, which has an area
// in it, as after vfork.
func (tr *tracer) sharesMemory(p *process) bool {
	const kcmpVM = 1
	for _, other := range tr.processes {
		if other == p || other.memory == nil || other.memory.shared == nil {
			continue
		}
		order, _, e := unix.Syscall6(unix.SYS_KCMP, uintptr(p.id), uintptr(other.id), kcmpVM, 0, 0, 0)
		if e != 0 || order == 0 {
			return true
		}
	}
	return false
}

// attach gives a stopped thread a ring.
func (tr *tracer) attach(t *thread, s *space) bool {
	n := slices.Index(s.used[:], false)
	if n < 0 {
		return false
	}
	addr := uint64(areaAddr + slotPlace(n))
	hdr := s.slot(n)
	*hdr = slot{self: addr, plans: areaAddr + atPlans, types: areaAddr + atTypes, minors: areaAddr + atMinors, zeroes: idlePlansAddr,
		ring: addr + 4<<10}
	if !setSlot(t.TID, addr) {
		return false
	}
	s.used[n] = true
	t.ring = newRing(t, s, n)
	tr.rings = append(tr.rings, t.ring)
	return true
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
		if event := stopEvent(status); event == unix.PTRACE_EVENT_EXIT {
			tr.stops = append(tr.stops, stopOf{t.TID, status})
			return errGone
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
	sp, _ := peekUser(t.TID, spOffset)
	var own uint64
	place = sp + frameBytes
	if readMemory(t.TID, place, asMemory(&own)) != 8 || !poke(t.TID, place, blobAddr+blobMarks[markCall]+markBytes+syscallBytes) {
		return false
	}
	for ip != own {
		if request(unix.PTRACE_CONT, t.TID, 0) != 0 {
			return true
		}
		status, err := tr.await(t.TID)
		if err != nil {
			return true
		}
		switch fault := status.StopSignal(); {
		case stopEvent(status) == unix.PTRACE_EVENT_EXIT:
			tr.stops = append(tr.stops, stopOf{t.TID, status})
			return true
		case fault == unix.SIGSEGV || fault == unix.SIGBUS:
			setIP(t.TID, blobAddr+blobMarks[markFault])
		case fault == unix.SIGTRAP && stopEvent(status) == 0:
			ip = own
			setIP(t.TID, own)
		}
	}
	_, _ = swapMask(t.TID, mask)
	_, _, _ = unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGINFO, uintptr(t.TID), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	tr.resume(t, s)
	return true
}
