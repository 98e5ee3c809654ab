package ebpf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
)

// program is the eBPF program, loaded into the kernel. Its methods may be called
// concurrently, except close.
type program struct {
	coll     *ebpf.Collection
	mu       sync.Mutex // of links
	links    []link.Link
	ended    bool         // nothing is linked any more; under mu
	huge     bool         // attachHuge has attached
	probing  probing      // of functions of libraries
	wakes    bool         // the recorder, when a library is mapped or a program executed
	moved    uint64       // of followMoved
	followed atomic.Int64 // by follow; the program itself counts the threads that start and end

	uncounted []coverage.Kind // I/O whose bytes this kernel does not let the program count
}

// config says what to record besides the calls and their results.
type config struct {
	// RingBytes is the size of the ring; a power of two and a multiple of
	// the page size.
	RingBytes int

	Memory bool // operations on memory, too
	Cgroup bool // what is in a cgroup, not processes and their descendants
	Maps   bool // faults on mapped files, and the operations that concern such mappings

	// The optional notes. Each costs a little; see docs/internals/record.md.
	Type   bool // the type of the descriptor at reads and writes; Linux 6.2
	Faults bool // page faults taken in reads and writes
	Off    bool // time off the processor between events

	Spans   []*record.SpanProbe // functions of libraries, by number
	Probing probing
	Globals bool // wake the recorder when a library has set its variables

	// Messages notes what calls on sockets moved, with Off; Linux 6.3.
	Messages bool
}

// wakes reports whether the program wakes the recorder when a library is mapped: it sees that
// only where it counts mapped files.
func (c *config) wakes() bool { return c.Maps && len(c.Spans) > 0 }

// load loads the program. Nothing is recorded before attach. An error that is
// os.ErrPermission means that a capability is missing.
func load(c config) (*program, error) {
	spec, err := bpf.LoadC()
	if err != nil {
		return nil, err
	}
	spec.Maps[bpf.CMapRing].MaxEntries = uint32(c.RingBytes)
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("read the types of the kernel: %w", err)
	}
	p := &program{}
	for name, kind := range unsupported(spec, kernel) {
		delete(spec.Programs, name)
		p.uncounted = append(p.uncounted, kind)
	}
	if !c.Messages {
		delete(spec.Programs, bpf.CProgSockSend)
		delete(spec.Programs, bpf.CProgSockReceive)
	}
	if !c.Cgroup {
		delete(spec.Programs, bpf.CProgCgroupAttach)
	}
	c.Maps = c.Maps && !slices.Contains(p.uncounted, coverage.Mapped)
	p.wakes = c.wakes()
	if err := configure(spec, &c, kernel, p.uncounted); err != nil {
		return nil, err
	}
	p.probing = configureSpans(spec, &c, kernel)
	if p.coll, err = newCollection(spec); err != nil {
		// Such a kernel refuses maps before that, as if a privilege were missing.
		if old := features.HaveMapType(ebpf.TaskStorage); errors.Is(old, ebpf.ErrNotSupported) {
			return nil, fmt.Errorf("the kernel is too old to record with eBPF, which takes Linux 5.17: %w", old)
		}
		return nil, fmt.Errorf("load the eBPF program: %w", err)
	}
	return p, nil
}

// newCollection loads maps and programs. The kernel takes nearly half of the time to verify the
// end of system calls, so it verifies that beside the other programs.
func newCollection(spec *ebpf.CollectionSpec) (*ebpf.Collection, error) {
	slow := map[string]*ebpf.ProgramSpec{bpf.CProgSysExit: spec.Programs[bpf.CProgSysExit]}
	others := maps.Clone(spec.Programs)
	delete(others, bpf.CProgSysExit)
	spec.Programs = nil
	all, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, err
	}
	var (
		loads [2]*ebpf.Collection
		errs  [2]error
		wg    sync.WaitGroup
	)
	load := func(i int, programs map[string]*ebpf.ProgramSpec) {
		part := spec.Copy()
		part.Programs = programs
		loads[i], errs[i] = ebpf.NewCollectionWithOptions(part, ebpf.CollectionOptions{MapReplacements: all.Maps})
	}
	wg.Go(func() { load(0, slow) })
	load(1, others) // on the thread of the caller, where tests make calls of the recorder fail
	wg.Wait()
	for _, part := range loads {
		if part != nil {
			maps.Copy(all.Programs, part.Programs)
			clear(part.Programs)
			part.Close() // its copies of the maps
		}
	}
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		all.Close()
		return nil, err
	}
	return all, nil
}

// canCast reports whether the kernel has bpf_rdonly_cast. Without it the type of
// a descriptor is not noted, and a file is described by helpers that cost more.
func canCast(kernel *btf.Spec) bool {
	var f *btf.Func
	return kernel.TypeByName("bpf_rdonly_cast", &f) == nil
}

// attached are the programs that attach attaches. Those of threads come before
// those of system calls, and the end of calls before their start: so nothing is
// seen by halves.
var attached = []string{bpf.CProgCgroupAttach, bpf.CProgProcessFork, bpf.CProgProcessExec, bpf.CProgProcessExit, bpf.CProgSchedSwitch, bpf.CProgSchedWaking,
	bpf.CProgSysExit, bpf.CProgSysEnter}

// programs returns those of some programs that are loaded.
func (p *program) programs(names []string) (all []*ebpf.Program) {
	for _, name := range names {
		if prog := p.coll.Programs[name]; prog != nil {
			all = append(all, prog)
		}
	}
	return all
}

// configure sets what the program must know before it is loaded.
func configure(spec *ebpf.CollectionSpec, c *config, kernel *btf.Spec, uncounted []coverage.Kind) error {
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return fmt.Errorf("find the PID namespace: %w", err)
	}
	cast := canCast(kernel)
	all := plans(format.HostArch, c.Memory, c.Maps)
	planCounts(&all, uncounted)
	for name, value := range map[string]any{
		bpf.CVarPlans:         all,
		bpf.CVarIoctls:        requests(),
		bpf.CVarPidns:         uint32(ns.Ino),
		bpf.CVarCanCast:       cast,
		bpf.CVarWithType:      c.Type && cast,
		bpf.CVarWithFaults:    c.Faults,
		bpf.CVarWithOff:       c.Off,
		bpf.CVarWaits:         record.Waits,
		bpf.CVarWithMemory:    c.Memory,
		bpf.CVarByCgroup:      c.Cgroup,
		bpf.CVarWithMaps:      c.Maps,
		bpf.CVarWithGlobals:   c.Globals,
		bpf.CVarWithLibraries: c.wakes(),
		bpf.CVarWithFlight:    spec.Programs[bpf.CProgUringSubmit] != nil,
		bpf.CVarWithRequests:  withRequests(spec),
		bpf.CVarRequests:      requestPlans(),
		bpf.CVarPageBytes:     uint32(os.Getpagesize()),
		bpf.CVarEvery:         uint32(measureEvery),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set %s of the eBPF program: %w", name, err)
		}
	}
	return nil
}

// withRequests reports whether the kernel shows requests of io_uring when they are
// submitted and when they complete.
func withRequests(spec *ebpf.CollectionSpec) bool {
	return spec.Programs[bpf.CProgUringSubmit] != nil && spec.Programs[bpf.CProgUringComplete] != nil
}

// attach lets the kernel run the program at every system call. From here on
// all processes pay a little for it, those that are followed more. Programs that
// only count come after: see attachAdditional.
func (p *program) attach() error { return p.link(attached) }

// link attaches some programs.
func (p *program) link(names []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	for _, prog := range p.programs(names) {
		l, err := link.AttachTracing(link.TracingOptions{Program: prog})
		if err != nil {
			return fmt.Errorf("attach the eBPF program %s: %w", prog, err)
		}
		p.links = append(p.links, l)
	}
	return nil
}

// detach stops recording. Events in the ring can still be read.
func (p *program) detach() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.Close())
	}
	p.links = nil
	return errors.Join(errs...)
}

// end detaches for good.
func (p *program) end() error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	return p.detach()
}

// close detaches and frees everything.
func (p *program) close() error {
	err := p.detach()
	p.coll.Close()
	return err
}

// follow begins to record the first thread of the process of a pidfd. It must
// not end before follow returns, unless followTree comes after.
func (p *program) follow(pidfd int) error {
	err := p.coll.Maps[bpf.CMapThreads].Put(int32(pidfd), &bpf.CThread{Counted: bpf.CCountedCOUNTED_LIVE})
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		err = os.ErrProcessDone // it has been reaped as well
	}
	if err != nil {
		return fmt.Errorf("follow the process: %w", err)
	}
	p.followed.Add(1)
	return nil
}

// followTree begins to record all threads and descendants of the processes
// that follow was called for, and returns all threads that it found, some of
// which may have ended since. None is missed, whatever they do meanwhile.
// attach must come before.
func (p *program) followTree() ([]member, error) {
	it, err := link.AttachIter(link.IterOptions{Program: p.coll.Programs[bpf.CProgFollowTree]})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	defer it.Close()
	added := p.coll.Variables[bpf.CVarAdded]
	var all []member
	seen := map[member]bool{}
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

// noteMapped notes the files that threads found by followTree have mapped before.
func (p *program) noteMapped() error { return p.visit(bpf.CProgMapExisting, "list mapped files") }

// visit runs an iterator that tells nothing.
func (p *program) visit(name, what string) error {
	it, err := link.AttachIter(link.IterOptions{Program: p.coll.Programs[name]})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer it.Close()
	if _, err := readMembers(it); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func readMembers(it *link.Iter) ([]member, error) {
	f, err := it.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	members := make([]member, len(raw)/int(unsafe.Sizeof(member{})))
	if _, err := binary.Decode(raw, binary.NativeEndian, members); err != nil {
		return nil, err
	}
	return members, nil
}

// followSelf begins to record the calling thread, but not its children. The
// caller must have locked it (runtime.LockOSThread).
func (p *program) followSelf() error { return run(p.coll.Programs[bpf.CProgFollowSelf]) }

// unfollowSelf undoes followSelf.
func (p *program) unfollowSelf() error { return run(p.coll.Programs[bpf.CProgUnfollowSelf]) }

func run(prog *ebpf.Program) error {
	status, err := prog.Run(&ebpf.RunOptions{})
	if err == nil && status != 0 {
		err = errors.New("no storage for the thread")
	}
	if err != nil {
		return fmt.Errorf("follow the own thread: %w", err)
	}
	return nil
}

// live returns how many threads followed by follow, and descendants of theirs,
// have not ended. When it is 0, all their events are in the ring.
func (p *program) live() (int64, error) {
	var started int64
	if err := p.coll.Variables[bpf.CVarLive].Get(&started); err != nil {
		return 0, fmt.Errorf("read the count of threads: %w", err)
	}
	return p.followed.Load() + started, nil
}

// ring returns the ring buffer. It belongs to the program.
func (p *program) ring() *ebpf.Map { return p.coll.Maps[bpf.CMapRing] }
