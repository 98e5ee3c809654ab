package ebpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// Recorder is the program, loaded into the kernel. Its methods may be called
// concurrently, except Close.
type Recorder struct {
	coll     *ebpf.Collection
	mu       sync.Mutex // of links
	links    []link.Link
	followed atomic.Int64 // by Follow; the program itself counts births and deaths
}

// Config says what to record besides the calls and their results.
type Config struct {
	// RingBytes is the size of the ring; a power of two and a multiple of
	// the page size.
	RingBytes int

	Memory bool // operations on memory, too

	// What is noted. Each costs a little; see docs/recording.md.
	Type   bool // the type of the descriptor at reads and writes; Linux 6.2
	Faults bool // page faults taken in reads and writes
	Off    bool // time off the processor between events
}

// Load loads the program. Nothing is recorded before Attach. An error that is
// os.ErrPermission means that a capability is missing.
func Load(c Config) (*Recorder, error) {
	spec, err := loadRecorder()
	if err != nil {
		return nil, err
	}
	spec.Maps[recorderMapRing].MaxEntries = uint32(c.RingBytes)
	if err := configure(spec, &c); err != nil {
		return nil, err
	}
	if !c.Off {
		delete(spec.Programs, recorderProgSchedSwitch)
	}
	r := &Recorder{}
	if r.coll, err = ebpf.NewCollection(spec); err != nil {
		return nil, fmt.Errorf("load the eBPF program: %w", err)
	}
	return r, nil
}

// canCast reports whether the kernel has bpf_rdonly_cast. Without it the type of
// a descriptor is not noted, and a file is described by helpers that cost more.
func canCast() bool {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return false
	}
	var f *btf.Func
	return kernel.TypeByName("bpf_rdonly_cast", &f) == nil
}

// attached are the programs that Attach attaches. Threads are told of before
// their system calls are, and calls ended before calls begun: what is seen is
// then never half of something.
var attached = []string{recorderProgProcessFork, recorderProgProcessExec, recorderProgProcessExit, recorderProgSchedSwitch,
	recorderProgSysExit, recorderProgSysEnter}

// programs returns those of attached that are loaded.
func (r *Recorder) programs() (all []*ebpf.Program) {
	for _, name := range attached {
		if p := r.coll.Programs[name]; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// configure sets what the program must know before it is loaded.
func configure(spec *ebpf.CollectionSpec, c *Config) error {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return fmt.Errorf("find the PID namespace: %w", err)
	}
	cast := canCast()
	for name, value := range map[string]any{
		recorderVarPlans:      plans(format.HostArch, c.Memory),
		recorderVarIoctls:     requests(),
		recorderVarPidns:      uint32(ns.Ino),
		recorderVarCanCast:    cast,
		recorderVarWithType:   c.Type && cast,
		recorderVarWithFaults: c.Faults,
		recorderVarWithOff:    c.Off,
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set %s of the eBPF program: %w", name, err)
		}
	}
	return nil
}

// Attach lets the kernel run the program at every system call. From here on
// all processes pay a little for it, those that are followed more.
func (r *Recorder) Attach() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.programs() {
		l, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			return fmt.Errorf("attach the eBPF program %s: %w", p, err)
		}
		r.links = append(r.links, l)
	}
	return nil
}

// Detach stops recording. What is in the ring can still be read.
func (r *Recorder) Detach() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, l := range r.links {
		errs = append(errs, l.Close())
	}
	r.links = nil
	return errors.Join(errs...)
}

// Close detaches and frees everything.
func (r *Recorder) Close() error {
	err := r.Detach()
	r.coll.Close()
	return err
}

// Follow begins to record the first thread of the process of a pidfd. It must
// not end before Follow returns, unless FollowTree comes after.
func (r *Recorder) Follow(pidfd int) error {
	err := r.coll.Maps[recorderMapThreads].Put(int32(pidfd), &recorderThread{Counted: uint32(recorderCountedCOUNTED_LIVE)})
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		err = os.ErrProcessDone // it has been reaped as well
	}
	if err != nil {
		return fmt.Errorf("follow the process: %w", err)
	}
	r.followed.Add(1)
	return nil
}

// FollowTree begins to record all threads and descendants of the processes
// that Follow was called for, and returns all threads that it found, some of
// which may have ended since. None is missed, whatever they do meanwhile.
// Attach must come before.
func (r *Recorder) FollowTree() ([]Member, error) {
	it, err := link.AttachIter(link.IterOptions{Program: r.coll.Programs[recorderProgFollowTree]})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	defer it.Close()
	added := r.coll.Variables[recorderVarAdded]
	var all []Member
	seen := map[Member]bool{}
	for {
		var before, after uint64
		err := added.Get(&before)
		members, rerr := readMembers(it)
		if err := errors.Join(err, rerr, added.Get(&after)); err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		for _, m := range members {
			if !seen[m] {
				seen[m] = true
				all = append(all, m)
			}
		}
		if after == before {
			return all, nil
		}
	}
}

func readMembers(it *link.Iter) ([]Member, error) {
	f, err := it.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(raw)/int(unsafe.Sizeof(Member{})))
	if _, err := binary.Decode(raw, binary.NativeEndian, members); err != nil {
		return nil, err
	}
	return members, nil
}

// FollowSelf begins to record the calling thread, but not its children. The
// caller must have locked it (runtime.LockOSThread).
func (r *Recorder) FollowSelf() error { return run(r.coll.Programs[recorderProgFollowSelf]) }

// UnfollowSelf undoes FollowSelf.
func (r *Recorder) UnfollowSelf() error { return run(r.coll.Programs[recorderProgUnfollowSelf]) }

func run(p *ebpf.Program) error {
	status, err := p.Run(&ebpf.RunOptions{})
	if err == nil && status != 0 {
		err = errors.New("no storage for the thread")
	}
	if err != nil {
		return fmt.Errorf("follow the own thread: %w", err)
	}
	return nil
}

// Live returns how many threads followed by Follow, and descendants of theirs,
// have not ended. When it is 0, all their events are in the ring.
func (r *Recorder) Live() (int64, error) {
	var born int64
	if err := r.coll.Variables[recorderVarLive].Get(&born); err != nil {
		return 0, fmt.Errorf("read the count of threads: %w", err)
	}
	return r.followed.Load() + born, nil
}

// Ring returns the ring buffer. It belongs to the Recorder.
func (r *Recorder) Ring() *ebpf.Map { return r.coll.Maps[recorderMapRing] }

// Lost is what the program could not record.
type Lost struct {
	BySyscall  map[int]uint64 // events that found the ring full, by system call
	ByCPU      []uint64       // the same by processor
	Unfollowed uint64         // threads that could not be followed, for want of memory
	Compat     uint64         // system calls through the 32-bit table
	Recursed   uint64         // runs that the kernel left out, within another run on the same processor
}

// Lost returns what has been lost so far.
func (r *Recorder) Lost() (Lost, error) {
	lost := Lost{BySyscall: make(map[int]uint64)}
	var perCPU []uint64
	for nr := range uint32(format.MaxSys) {
		if err := r.coll.Maps[recorderMapLost].Lookup(nr, &perCPU); err != nil {
			return lost, fmt.Errorf("read the count of lost events: %w", err)
		}
		if lost.ByCPU == nil {
			lost.ByCPU = make([]uint64, len(perCPU))
		}
		for cpu, n := range perCPU {
			if n > 0 {
				lost.BySyscall[int(nr)] += n
				lost.ByCPU[cpu] += n
			}
		}
	}
	if err := errors.Join(r.coll.Variables[recorderVarUnfollowed].Get(&lost.Unfollowed), r.coll.Variables[recorderVarCompat].Get(&lost.Compat)); err != nil {
		return lost, fmt.Errorf("read the count of lost events: %w", err)
	}
	for _, p := range r.programs() {
		s, err := p.Stats()
		if err != nil {
			return lost, fmt.Errorf("read the count of lost events: %w", err)
		}
		lost.Recursed += s.RecursionMisses
	}
	return lost, nil
}

// Denied reports whether err says that a capability is missing.
func Denied(err error) bool { return errors.Is(err, os.ErrPermission) }
