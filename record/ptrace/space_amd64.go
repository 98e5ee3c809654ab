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
	slotHead  = 4 << 10 // of struct slot; the ring follows
	slotBytes = slotHead + ringBytes
	areaSlots = 240
	areaBytes = atSlots + areaSlots*slotBytes // 62 MiB; only what is used takes memory
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
	return append(slices.Clone(code[:marks[markEnd]]), bytes.Repeat([]byte{breakpoint}, 64)...), marks
}()

//lint:ignore U1000 its address is taken in assembly
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
	shared []byte   // the area; nil before there is one
	file   *os.File // see open
	used   [areaSlots]bool
	near   []near
	sites  map[uint64]int // stops of call sites that could not become a jump yet; or refused
	calls  int            // that stopped before there was an area
	why    error          // there will be none
	copied bool           // the memory has the blob of the process that made this one
}

func (s *space) close() {
	if s.shared != nil {
		_ = unix.Munmap(s.shared)
		s.shared = nil
	}
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// open returns the process's memory as a file, which takes what the process itself can't write.
func (s *space) open(tid int32) (_ *os.File, err error) {
	if s.file == nil {
		s.file, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", tid), os.O_RDWR, 0)
	}
	return s.file, err
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
	if s.copied && tr.sharesMemory(t) {
		return errShares
	}
	if filtersOf(t.TID) > tr.filters {
		return errors.New(ownFilter)
	}
	var own *os.File
	err = tr.inject(t, func(call injector) error {
		if !s.copied {
			if _, err := call(unix.SYS_MMAP, blobAddr, blobMapped, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0); err != nil {
				return err
			}
			if err := tr.writeBlob(t); err != nil {
				return err
			}
		}
		fd, err := call(unix.SYS_MEMFD_CREATE, idlePlansAddr, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING) // the name is empty
		if err != nil {
			return err
		}
		if own, err = os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", t.TID, fd), os.O_RDWR, 0); err == nil {
			if err = fixSize(own); err == nil {
				how := uint64(unix.MAP_SHARED | unix.MAP_FIXED_NOREPLACE)
				if s.copied {
					how = unix.MAP_SHARED | unix.MAP_FIXED // over that of the other process
				}
				_, err = call(unix.SYS_MMAP, areaAddr, areaBytes, unix.PROT_READ|unix.PROT_WRITE, how, fd, 0)
			}
		}
		if err == nil {
			err = s.mapNear(t.TID, call, tr.info.ip)
		}
		_, closing := call(unix.SYS_CLOSE, fd)
		return errors.Join(err, closing)
	})
	if own != nil {
		defer own.Close()
	}
	if err != nil {
		return err
	}
	if s.shared, err = unix.Mmap(int(own.Fd()), 0, areaBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
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
	s.sites = make(map[uint64]int)
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

// fixSize gives the memory of an area its final size. If a thread of the program could make it
// smaller, the tracer would be killed when it reads there (SIGBUS).
func fixSize(area *os.File) error {
	if err := area.Truncate(areaBytes); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(area.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return err
	}
	if info, err := area.Stat(); err != nil || info.Size() != areaBytes {
		return errors.New("the program has changed the memory that it was to share")
	}
	return nil
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
	memory, err := t.process.memory.open(t.TID)
	if err != nil {
		return err
	}
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

// sharesMemory reports whether the memory of a stopped thread is that of another process, which has
// an area in it, as after vfork: then that process sees what is written here.
func (tr *tracer) sharesMemory(t *thread) bool {
	const place = idleAddr + uint64(unsafe.Offsetof(slot{}.tail)) // which nothing uses
	mark := uint64(t.process.id)
	if !poke(t.TID, place, mark) {
		return true
	}
	for _, other := range tr.processes {
		if other == t.process || other.memory == nil || other.memory.shared == nil {
			continue
		}
		var seen uint64
		if readMemory(other.id, place, asMemory(&seen)) == 8 && seen == mark {
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
		ring: addr + slotHead}
	if !setSlot(t.TID, addr) {
		return false
	}
	s.used[n] = true
	t.ring = newRing(t, s, n)
	tr.rings = append(tr.rings, t.ring)
	return true
}
