package bpf

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// Recorder is the program, loaded into the kernel. Its methods may be called
// concurrently, except Close.
type Recorder struct {
	objs     recorderObjects
	mu       sync.Mutex // of links
	links    []link.Link
	followed atomic.Int64 // by Follow; the program itself counts births and deaths
}

// Load loads the program with a ring of ringBytes, which must be a power of
// two and a multiple of the page size. Nothing is recorded before Attach. An
// error that is os.ErrPermission means that a capability is missing.
func Load(ringBytes int) (*Recorder, error) {
	spec, err := loadRecorder()
	if err != nil {
		return nil, err
	}
	spec.Maps[recorderMapRing].MaxEntries = uint32(ringBytes)
	if err := configure(spec); err != nil {
		return nil, err
	}
	r := &Recorder{}
	if err := spec.LoadAndAssign(&r.objs, nil); err != nil {
		return nil, fmt.Errorf("load the eBPF program: %w", err)
	}
	return r, nil
}

// configure sets what the program must know before it is loaded.
func configure(spec *ebpf.CollectionSpec) error {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return fmt.Errorf("find the PID namespace: %w", err)
	}
	for name, value := range map[string]any{
		recorderVarPlans: plans(format.HostArch),
		// The kernel packs device numbers in another way than stat does.
		recorderVarPidnsDev: uint64(unix.Major(ns.Dev))<<20 | uint64(unix.Minor(ns.Dev)),
		recorderVarPidnsIno: ns.Ino,
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
	// Threads are told of before their system calls are, and calls ended
	// before calls begun: what is seen is then never half of something.
	for _, p := range []*ebpf.Program{r.objs.ProcessFork, r.objs.ProcessExec, r.objs.ProcessExit, r.objs.SysExit, r.objs.SysEnter} {
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
	return errors.Join(r.Detach(), r.objs.Close())
}

// Follow begins to record the process of a pidfd, which must have one thread
// and not end before Follow returns.
func (r *Recorder) Follow(pidfd int) error {
	if err := r.objs.Threads.Put(int32(pidfd), &recorderThread{}); err != nil {
		return fmt.Errorf("follow the process: %w", err)
	}
	r.followed.Add(1)
	return nil
}

// FollowSelf begins to record the calling thread, but not its children. The
// caller must have locked it (runtime.LockOSThread).
func (r *Recorder) FollowSelf() error { return run(r.objs.FollowSelf) }

// UnfollowSelf undoes FollowSelf.
func (r *Recorder) UnfollowSelf() error { return run(r.objs.UnfollowSelf) }

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
	if err := r.objs.Live.Get(&born); err != nil {
		return 0, fmt.Errorf("read the count of threads: %w", err)
	}
	return r.followed.Load() + born, nil
}

// Ring returns the ring buffer. It belongs to the Recorder.
func (r *Recorder) Ring() *ebpf.Map { return r.objs.Ring }

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
		if err := r.objs.Lost.Lookup(nr, &perCPU); err != nil {
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
	if err := errors.Join(r.objs.Unfollowed.Get(&lost.Unfollowed), r.objs.Compat.Get(&lost.Compat)); err != nil {
		return lost, fmt.Errorf("read the count of lost events: %w", err)
	}
	for _, p := range []*ebpf.Program{r.objs.SysEnter, r.objs.SysExit, r.objs.ProcessExec, r.objs.ProcessFork, r.objs.ProcessExit} {
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
