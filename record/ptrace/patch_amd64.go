package ptrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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
// takes as long as some twenty stops.
const firstCalls = 16

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
	// Some sites that can't be changed now can be later.
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
	memory, err := s.open(t.TID)
	if err != nil {
		return err
	}
	stub, literal, err := tr.stubFor(t, s, found.from)
	if err != nil {
		return err
	}
	if _, err = memory.WriteAt(found.stub(stub, literal), int64(stub)); err != nil {
		return err
	}
	jump := jumpAt{[jumpBytes]byte(found.jump(stub)), found.before}
	tr.jumps[found.from] = jump
	if len(found.moved) == 0 {
		return overwrite(memory, found.from, jump.before, jump.code, func() error { return nil })
	}
	// A thread can stand behind the call, which the jump covers.
	var stopped []*thread
	defer func() { tr.release(stopped) }()
	return overwrite(memory, found.from, jump.before, jump.code, func() (err error) {
		behind, after := found.call+syscallBytes, found.after(stub)
		if stopped, err = tr.hold(t, behind); err != nil {
			return err
		}
		setIP(t.TID, after)
		for _, other := range stopped {
			if ip, ok := peekIP(other.TID); ok && ip == behind && !restarts(other.TID) {
				setIP(other.TID, after)
			}
		}
		return nil
	})
}

const breakpoint = 0xcc // int3

// overwrite replaces the code at an address of a process. A thread that comes by meanwhile meets
// the first byte as a breakpoint: see trapped. The kernel's text_poke_bp does the same. If ready
// returns an error while the breakpoint is there, the code stays as it was.
func overwrite(memory *os.File, at uint64, before, code [jumpBytes]byte, ready func() error) (err error) {
	write := func(code []byte, at uint64) {
		if err == nil {
			_, err = memory.WriteAt(code, int64(at))
		}
	}
	write([]byte{breakpoint}, at)
	if busy := ready(); busy != nil {
		write(before[:1], at)
		return errors.Join(err, busy)
	}
	write(code[1:], at+1)
	write(code[:1], at)
	return err
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
		switch {
		case err == errGone: // it never returns
			continue
		case err != nil:
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
	jump, written := tr.jumps[ip-1]
	if !ok || !written {
		return false
	}
	var now byte
	if readMemory(t.TID, ip-1, asMemory(&now)) == 1 && now == breakpoint { // the process was forked meanwhile
		if memory, err := s.open(t.TID); err == nil {
			_, _ = memory.WriteAt(jump.before[:], int64(ip-1))
		}
	}
	setIP(t.TID, ip-1)
	return true
}

// stubFor returns room for a stub near a site, and the address of the literal for it.
func (tr *tracer) stubFor(t *thread, s *space, from uint64) (stub, literal uint64, err error) {
	if stub, literal := s.stub(from); stub != 0 {
		return stub, literal, nil
	}
	err = tr.inject(t, func(call injector) error { return s.mapNear(t.TID, call, from) })
	if err != nil {
		return 0, 0, err
	}
	stub, literal = s.stub(from)
	return stub, literal, nil
}

// stub returns room for a stub near a site, 0 for none.
func (s *space) stub(from uint64) (stub, literal uint64) {
	for i := range s.near {
		n := &s.near[i]
		if distance := int64(n.addr - from); distance > -reach && distance < reach && n.used+stubBytes <= nearBytes {
			n.used += stubBytes
			return n.addr + n.used - stubBytes, n.addr
		}
	}
	return 0, 0
}

// mapNear maps memory for stubs near a site.
func (s *space) mapNear(tid int32, call injector, from uint64) error {
	memory, err := s.open(tid)
	if err != nil {
		return err
	}
	addr, err := gapNear(tid, from)
	if err != nil {
		return err
	}
	if _, err = call(unix.SYS_MMAP, addr, nearBytes, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0); err != nil {
		return err
	}
	if _, err = memory.WriteAt(binary.LittleEndian.AppendUint64(nil, blobAddr), int64(addr)); err != nil {
		return err
	}
	s.near = append(s.near, near{addr, stubBytes})
	return nil
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
		place, _, _ := strings.Cut(line, " ")
		first, behind, _ := strings.Cut(place, "-")
		start, err := strconv.ParseUint(first, 16, 64)
		if err != nil {
			break
		}
		end, _ := strconv.ParseUint(behind, 16, 64)
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
	memory, err := s.open(t.TID)
	if err != nil {
		return
	}
	for from, jump := range tr.jumps {
		var code [jumpBytes]byte
		if readMemory(t.TID, from, code[:]) == len(code) && code == jump.code {
			_ = overwrite(memory, from, jump.code, jump.before, func() error { return nil })
		}
	}
}
