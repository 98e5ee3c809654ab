package ebpf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"pianola/bpf"
	"pianola/format/coverage"
)

// missingKinds are the kinds of I/O that the program in the kernel counts.
var missingKinds = [bpf.CMissingKindNUM_MISSING]coverage.Kind{
	bpf.CMissingKindMISSING_URING:     coverage.Uring,
	bpf.CMissingKindMISSING_AIO:       coverage.AIO,
	bpf.CMissingKindMISSING_MAPPED:    coverage.Mapped,
	bpf.CMissingKindMISSING_COMPAT:    coverage.Compat,
	bpf.CMissingKindMISSING_LOST:      coverage.Lost,
	bpf.CMissingKindMISSING_ELSEWHERE: coverage.Elsewhere,
	bpf.CMissingKindMISSING_MOUNT:     coverage.Mount,
	bpf.CMissingKindMISSING_MEMORY:    coverage.Memory,
}

// additional are the programs that count what is not recorded, and those that
// note messages and faults. The tracepoint of each has so many arguments since the first version of
// the kernel that has it as the program takes it. What can't be counted without it is NumKinds where
// all is counted, if less exactly. Those of huge pages run at faults on anonymous memory, too, and
// are attached when a file is mapped that can have some.
var additional = []struct {
	program   string
	arguments int
	counts    coverage.Kind
	huge      bool
}{
	{bpf.CProgUringCreate, 5, coverage.Uring, false},
	{bpf.CProgUringComplete, 3, coverage.Uring, false},
	{bpf.CProgUringSubmit, 1, coverage.NumKinds, false},
	{bpf.CProgMapFault, 2, coverage.Mapped, false},
	{bpf.CProgMapAround, 3, coverage.Mapped, false},
	{bpf.CProgMapDirty, 2, coverage.Mapped, false},
	{bpf.CProgFaultFails, 5, coverage.NumKinds, false},
	{bpf.CProgFaultUser, 3, coverage.NumKinds, true},
	{bpf.CProgFaultKernel, 3, coverage.NumKinds, true},
	{bpf.CProgMapHuge, 2, coverage.NumKinds, true},
	{bpf.CProgSockSend, 3, coverage.NumKinds, false},
	{bpf.CProgSockReceive, 3, coverage.NumKinds, false},
}

// unsupported returns the additional programs that the kernel has no tracepoint
// for, with what they count.
func unsupported(spec *ebpf.CollectionSpec, kernel *btf.Spec) map[string]coverage.Kind {
	lacking := map[string]coverage.Kind{}
	for _, c := range additional {
		if !hasTracepoint(kernel, spec.Programs[c.program].AttachTo, c.arguments) {
			lacking[c.program] = c.counts
		}
	}
	return lacking
}

// hasTracepoint reports whether a kernel has a tracepoint with as many arguments
// at least.
func hasTracepoint(kernel *btf.Spec, name string, arguments int) bool {
	var t *btf.Typedef
	if kernel.TypeByName("btf_trace_"+name, &t) != nil {
		return false
	}
	pointer, ok := t.Type.(*btf.Pointer)
	if !ok {
		return false
	}
	f, ok := pointer.Target.(*btf.FuncProto)
	return ok && len(f.Params) > arguments // the first belongs to the tracepoint itself
}

// attachAdditional makes the kernel run the additional programs. They do not affect the
// cost of calls on files, so they need not be attached while that is measured.
func (p *program) attachAdditional() error { return p.linkAdditional(false) }

// attachHuge lets the kernel run those of huge pages from when a file is mapped that can
// have some. It belongs to one goroutine at a time.
func (p *program) attachHuge() error {
	var huge uint64
	if p.huge {
		return nil
	}
	if err := p.coll.Variables[bpf.CVarHuge].Get(&huge); err != nil {
		return fmt.Errorf("read whether huge pages can be mapped: %w", err)
	}
	if huge == 0 {
		return nil
	}
	p.huge = true
	if err := p.linkAdditional(true); err != nil {
		return err
	}
	// While only some of them run, what one sees is no whole fault.
	if err := p.coll.Variables[bpf.CVarWatching].Set(uint64(1)); err != nil {
		return fmt.Errorf("begin to watch for huge pages: %w", err)
	}
	return nil
}

// look does the periodic work.
func (p *program) look() error { return errors.Join(p.attachHuge(), p.followMoved()) }

func (p *program) linkAdditional(huge bool) error {
	var names []string
	for _, c := range additional {
		if c.huge == huge {
			names = append(names, c.program)
		}
	}
	return p.link(names)
}

// settle puts the bytes into the account that threads have moved so far and that have not
// ended. It must come before detach.
func (p *program) settle() error { return p.visit(bpf.CProgSettleLiving, "count bytes of threads") }

// missing adds to an account what the program has counted.
func (p *program) missing(a *coverage.Account) error {
	var tallies [len(missingKinds)]bpf.CTally
	var unmapped uint64
	for name, v := range map[string]any{bpf.CVarMissing: &tallies, bpf.CVarUnmapped: &unmapped} {
		if err := p.coll.Variables[name].Get(v); err != nil {
			return fmt.Errorf("read the counters of missing I/O: %w", err)
		}
	}
	sized := func(kind coverage.Kind, bytes uint64) int64 {
		if slices.Contains(p.uncounted, kind) {
			return coverage.Unknown
		}
		return int64(bytes)
	}
	for i := range tallies {
		t := &tallies[i]
		kind := missingKinds[i]
		if slices.ContainsFunc(a.Requests, func(m coverage.Missing) bool { return m.Kind == kind }) {
			// The time that threads spent with requests is in no event.
			a.Recorded.Nanos += int64(t.Nanos)
			a.AddRequests(coverage.Missing{Kind: kind, Amount: coverage.Amount{Nanos: int64(t.Nanos)}})
			t.Nanos = 0
		}
		m := coverage.Missing{Kind: kind, Calls: int64(t.Calls), Reads: int64(t.Reads), Writes: int64(t.Writes),
			Amount: coverage.Amount{Bytes: int64(t.Bytes), Nanos: int64(t.Nanos)}}
		if t.Unsized > 0 {
			m.Bytes = coverage.Unknown
		} else if t.Calls > 0 {
			m.Bytes = sized(m.Kind, t.Bytes)
		}
		a.Add(m)
	}
	var id bpf.CFileId
	var file bpf.CMapped
	for files := p.coll.Maps[bpf.CMapFiles].Iterate(); files.Next(&id, &file); {
		bytes := sized(coverage.Mapped, min(file.In, file.Size)+file.Dirty)
		if file.Exec == 0 && bytes != 0 {
			a.Add(coverage.Missing{Kind: coverage.Mapped, Files: 1, Calls: int64(file.Faults), Amount: coverage.Amount{Bytes: bytes}})
		}
	}
	if unmapped > 0 {
		a.Add(coverage.Missing{Kind: coverage.Mapped, Files: int64(unmapped), Amount: coverage.Amount{Bytes: coverage.Unknown}})
	}
	return nil
}
