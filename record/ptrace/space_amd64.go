package ptrace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
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

// idle gives a stopped thread the slot that takes nothing. Its first call in a process with an
// area gives it another one. The address need not be mapped yet: only stubs use it.
func (tr *tracer) idle(t *thread) {
	if tr.inline != nil {
		setSlot(t.TID, idleAddr)
	}
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
