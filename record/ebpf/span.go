package ebpf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/layer"
	"pianola/record"
)

var spanLimits = record.SpanLimits{
	Registers: int(bpf.CParametersNUM_PARAMETERS),
	Slots:     len(bpf.CSpan{}.Slots),
	Pieces:    len(bpf.CSpan{}.Len),
}

// probes attaches the program to functions of libraries. It belongs to one goroutine at
// a time. A probe is in a file: all processes of the machine that map the file run into
// it, and those that are not followed leave the program at once.
type probes struct {
	program *program
	options *record.Options
	all     []*record.SpanProbe // by the cookie of the probe
	first   []int               // of each layer, in all
	entries []layer.Entry       // of each, in the file that was attached last
	seen    map[probedFile]bool
	files   []record.Probed       // that are attached, or were refused
	costs   map[layer.Entry]int64 // measured, nanoseconds a span
	calls   []int64               // of each, that were recorded
	globals []globals             // of each layer
}

// probedFile is a file, for a layer.
type probedFile struct {
	dev, ino uint64
	layer    int
}

// planSpans makes the probes of the layers. Where there are none it returns nil.
func planSpans(o *record.Options) *probes {
	if len(o.Layers) == 0 {
		return nil
	}
	p := &probes{options: o, seen: map[probedFile]bool{}, costs: map[layer.Entry]int64{}}
	for _, l := range o.Layers {
		p.first = append(p.first, len(p.all))
		for _, form := range l.Forms() {
			for _, f := range form {
				p.all = append(p.all, record.NewSpanProbe(l.Name, f, spanLimits, o.LayerText))
			}
		}
	}
	p.globals = newGlobals(o.Layers)
	p.entries, p.calls = make([]layer.Entry, len(p.all)), make([]int64, len(p.all))
	return p
}

var pieceKinds = map[record.SpanPieceKind]bpf.CPieceKind{
	record.SpanPath:        bpf.CPieceKindPIECE_STRING,
	record.SpanText:        bpf.CPieceKindPIECE_STRING,
	record.SpanBefore:      bpf.CPieceKindPIECE_BEFORE,
	record.SpanAfter:       bpf.CPieceKindPIECE_AFTER,
	record.SpanArray:       bpf.CPieceKindPIECE_ARRAY,
	record.SpanArrayBefore: bpf.CPieceKindPIECE_ARRAY_BEFORE,
}

// probing is how the kernel lets a program run at functions.
type probing int

const (
	probingBest    probing = iota // of a config: what the kernel has
	probingEach                   // with a link for each end of each function
	probingMulti                  // since Linux 6.6, with one for each end of many functions
	probingSession                // since Linux 6.13, with one for both: the return costs only those who are followed
)

// spanPrograms are the programs of each.
var spanPrograms = map[probing][]string{
	probingEach:    {bpf.CProgSpanBegins, bpf.CProgSpanEnds},
	probingMulti:   {bpf.CProgSpanBegins, bpf.CProgSpanEnds},
	probingSession: {bpf.CProgSpanBoth},
}

// configureSpans prepares the program for the probes, or without layers takes out what
// serves them. It returns how it is to be attached.
func configureSpans(spec *ebpf.CollectionSpec, c *config, kernel *btf.Spec) probing {
	how := c.Probing
	if how == probingBest {
		switch {
		case len(c.Spans) == 0:
		case hasSessions(kernel):
			how = probingSession
		case features.HaveBPFLinkUprobeMulti() == nil:
			how = probingMulti
		default:
			how = probingEach
		}
	}
	for _, name := range []string{bpf.CProgSpanBegins, bpf.CProgSpanEnds, bpf.CProgSpanBoth} {
		switch {
		case len(c.Spans) == 0 || !slices.Contains(spanPrograms[how], name):
			delete(spec.Programs, name)
		case how == probingEach:
			spec.Programs[name].AttachType = ebpf.AttachNone
		}
		if p := spec.Programs[name]; p != nil {
			// Linux since 5.0 takes any version. Without one, the library reads it in
			// /proc/self/mem, which a program with file capabilities can't open.
			p.KernelVersion = 1
		}
	}
	if len(c.Spans) == 0 {
		for _, name := range []string{bpf.CMapSpanPlans, bpf.CMapFrames, bpf.CMapSpanScratches, bpf.CMapSpanArrays} {
			delete(spec.Maps, name)
		}
		return how
	}
	plans := spec.Maps[bpf.CMapSpanPlans]
	plans.MaxEntries = uint32(len(c.Spans))
	for i, probe := range c.Spans {
		plan := bpf.CSpanPlan{Pieces: uint8(len(probe.Pieces)), Stack: uint8(probe.Stack)}
		for j, piece := range probe.Pieces {
			to := &plan.Piece[j]
			to.Kind, to.Slot, to.Size = pieceKinds[piece.Kind], uint8(piece.Slot), uint8(piece.Number.Size)
			to.Count, to.Times = bpf.CPieceCountCOUNT_ONE, piece.Count.Times
			switch piece.Count.Of {
			case layer.CountArg:
				to.Count = bpf.CPieceCount(piece.Count.Arg)
			case layer.CountPointed:
				to.Count = bpf.CPieceCountCOUNT_POINTED | bpf.CPieceCount(piece.Count.Arg)
			case layer.CountResult:
				to.Count = bpf.CPieceCountCOUNT_RESULT
			}
			if piece.Kind == record.SpanArrayBefore {
				plan.Array = uint8(j) + 1
			}
		}
		plans.Contents = append(plans.Contents, ebpf.MapKV{Key: uint32(i), Value: plan})
	}
	return how
}

// hasSessions reports whether one program can be at both ends of a function, as the
// program asks for that: later kernels can have another function for it.
func hasSessions(kernel *btf.Spec) bool {
	var f *btf.Func
	if kernel.TypeByName("bpf_session_is_return", &f) != nil {
		return false
	}
	proto, ok := f.Type.(*btf.FuncProto)
	return ok && len(proto.Params) == 0
}

// anyLayer stands in probedFile for a program that was looked at.
const anyLayer = -1

// maxSeen bounds the programs that are remembered.
const maxSeen = 10_000

// installed attaches to the libraries where the dynamic linker looks for them, and to
// those of the programs that the command line names: mpiexec and sh run others.
func (p *probes) installed() error {
	programs := p.named()
	for i, l := range p.options.Layers {
		files := l.Installed()
		for _, program := range programs {
			files = append(files, l.Linked(program, p.options.Env)...)
			if l.Within(program) {
				files = append(files, program)
			}
		}
		for _, file := range files {
			if err := p.attach(i, file, file, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxNamed bounds the programs that are looked for in a command line.
const maxNamed = 100

// named returns the programs that the command line names, as far as its words tell.
func (p *probes) named() (programs []string) {
	words := strings.Fields(strings.Join(p.options.Command, " "))
	for _, word := range words[:min(len(words), maxNamed)] {
		if !filepath.IsAbs(word) && strings.Contains(word, "/") {
			word = filepath.Join(p.options.Dir, word)
			if !strings.Contains(word, "/") {
				word = "./" + word
			}
		}
		if path, err := exec.LookPath(word); err == nil && !slices.Contains(programs, path) {
			programs = append(programs, path)
		}
	}
	return programs
}

// opened attaches to a file that a thread opened or executed at a time of the clock of
// events, if it is one of a layer.
func (p *probes) opened(c *record.Call) error {
	if p == nil || c.Ret < 0 || c.Details == nil {
		return nil
	}
	info := record.OpOf(format.HostArch, int(c.Nr)).Info()
	if info.Acts.Any(format.Execs) {
		return p.executed(c)
	}
	if !info.Acts.Any(format.Opens) || c.Details.State[0] != bpf.CStringStateSTRING_WHOLE {
		return nil
	}
	path := unsafe.String(unsafe.SliceData(c.Text), int(c.Details.Len[0]))
	for i, l := range p.options.Layers {
		if !l.Has(path) {
			continue
		}
		name := strings.Clone(path)
		if err := p.attachLate(i, seenBy(c.TID, name), name, c.Start+c.Dur); err != nil {
			return err
		}
	}
	return nil
}

// seenBy returns a path that leads to where it leads the thread.
func seenBy(tid int32, path string) string {
	from := "cwd"
	if filepath.IsAbs(path) {
		from = "root"
	}
	return fmt.Sprintf("/proc/%d/%s/%s", tid, from, path)
}

// executed attaches to a program that a thread executed: to what is linked into it, and
// to the libraries that it is linked with.
func (p *probes) executed(c *record.Call) error {
	program := fmt.Sprintf("/proc/%d/exe", c.TID)
	real, err := os.Readlink(program)
	if err != nil {
		return nil // it has ended
	}
	st, err := os.Stat(program)
	if err != nil {
		return nil
	}
	key := inode(st)
	if key.layer = anyLayer; p.seen[key] {
		return nil
	}
	if len(p.seen) < maxSeen {
		p.seen[key] = true
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.TID))
	for i, l := range p.options.Layers {
		if l.Within(program) {
			if err := p.attachLate(i, program, real, c.Start+c.Dur); err != nil {
				return err
			}
		}
		for _, file := range l.Linked(real, strings.Split(string(env), "\x00")) {
			if err := p.attachLate(i, seenBy(c.TID, file), file, c.Start+c.Dur); err != nil {
				return err
			}
		}
	}
	return nil
}

// mapped attaches to what processes that run already have mapped.
func (p *probes) mapped(all []process) error {
	for _, process := range all {
		files, _ := record.MappedFiles(process.pid) // none of one that has ended
		for _, m := range files {
			if !m.Executable || m.Deleted {
				continue
			}
			for i, l := range p.options.Layers {
				if l.Has(m.Path) {
					if err := p.attach(i, seenBy(process.pid, m.Path), m.Path, 0); err != nil {
						return err
					}
				}
			}
		}
		program := fmt.Sprintf("/proc/%d/exe", process.pid)
		real, _ := os.Readlink(program)
		for i, l := range p.options.Layers {
			if l.Within(program) {
				if err := p.attach(i, program, real, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *probes) attachLate(i int, file, name string, since int64) error {
	now, err := monotonic()
	if err != nil {
		return err
	}
	return p.attach(i, file, name, time.Duration(max(now-since, 1)))
}

func inode(st os.FileInfo) probedFile {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return probedFile{dev: s.Dev, ino: s.Ino}
	}
	return probedFile{}
}

// attach attaches to the functions of layer i in a file, once, which the application
// knows by name. One that can't be read is left out.
func (p *probes) attach(i int, file, name string, late time.Duration) error {
	st, err := os.Stat(file)
	if err != nil {
		return nil
	}
	key := inode(st)
	key.layer = i
	if p.seen[key] {
		return nil
	}
	p.seen[key] = true
	l := p.options.Layers[i]
	probed := record.Probed{Layer: l.Name, File: name, Late: late}
	began := time.Now()
	err = layer.CheckGo(file)
	var lib *layer.Library
	if err == nil {
		lib, err = l.Open(file)
	}
	if err != nil {
		probed.Err = err
		p.files = append(p.files, probed)
		return nil
	}
	var cookies, offsets []uint64
	for _, place := range lib.Places {
		switch {
		case place.Slow() && !p.options.LayerForce:
			probed.Stepped++
		case slices.Contains(offsets, place.Offset): // another name of the same function
		default:
			number := p.first[i] + lib.Form*len(l.Functions) + slices.Index(l.Functions, place.Function)
			p.entries[number] = place.Entry
			cookies = append(cookies, uint64(number))
			offsets = append(offsets, place.Offset)
		}
	}
	probed.Functions, probed.Missing = len(lib.Places)-probed.Stepped, len(lib.Missing)+len(lib.Late)
	if len(offsets) > 0 {
		if err := p.program.probe(file, offsets, cookies); err != nil {
			return fmt.Errorf("probe %s: %w", name, err)
		}
	}
	if late > 0 {
		probed.Late += time.Since(began)
	}
	if len(l.Globals) > 0 {
		_, _ = p.globals[i].variables(file) // before they are needed
	}
	p.files = append(p.files, probed)
	return nil
}

// calibrate measures what a span costs of the functions that are probed, by their first
// instruction.
func (p *probes) calibrate(ring *ring) error {
	for entry := range spanFunctions[format.HostArch] {
		if entry != usualEntry && !slices.Contains(p.entries, entry) {
			continue
		}
		var err error
		if p.costs[entry], err = calibrateSpan(p.program, ring, entry); err != nil {
			return err
		}
	}
	return nil
}

// usualEntry is how the functions of most libraries begin.
var usualEntry = map[format.Arch]layer.Entry{format.AMD64: layer.Push, format.ARM64: layer.Stepped}[format.HostArch]

// recorded returns how many spans of each layer were recorded.
func (p *probes) recorded() map[string]int64 {
	spans := make(map[string]int64)
	for i, n := range p.calls {
		spans[p.all[i].Layer] += n
	}
	return spans
}

// cost returns what the spans so far cost, nanoseconds each.
func (p *probes) cost() int64 {
	if p == nil {
		return 0
	}
	var calls, nanos int64
	for i, n := range p.calls {
		calls += n
		nanos += n * cmp.Or(p.costs[p.entries[i]], p.costs[usualEntry])
	}
	if calls == 0 {
		return p.costs[usualEntry]
	}
	return nanos / calls
}

// header returns what the header says of the files from the n-th on.
func (p *probes) header(n int) (all []format.Meta) {
	if p == nil {
		return nil
	}
	for i := range p.files[n:] {
		all = append(all, format.Meta{Key: format.MetaLayer, Value: p.files[n+i].String()})
	}
	return all
}

// probe lets the program run at functions of a file, at their entry and their return.
func (p *program) probe(file string, offsets, cookies []uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	keep := func(l link.Link, err error) error {
		if err == nil {
			p.links = append(p.links, l)
		}
		return err
	}
	if p.probing == probingSession {
		return keep(linkSession(p.coll.Programs[bpf.CProgSpanBoth], file, offsets, cookies))
	}
	x, err := link.OpenExecutable(file)
	if err != nil {
		return err
	}
	// The return first: one without a beginning is left out, the other way round a frame
	// stays.
	begins, ends := p.coll.Programs[bpf.CProgSpanBegins], p.coll.Programs[bpf.CProgSpanEnds]
	if p.probing == probingMulti {
		at := &link.UprobeMultiOptions{Addresses: offsets, Cookies: cookies}
		if err := keep(x.UretprobeMulti(nil, ends, at)); err != nil {
			return err
		}
		return keep(x.UprobeMulti(nil, begins, at))
	}
	for i, offset := range offsets {
		at := &link.UprobeOptions{Address: offset, Cookie: cookies[i]}
		name := "f" + strconv.Itoa(i)
		if err := keep(x.Uretprobe(name, ends, at)); err != nil {
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, ebpf.ErrNotSupported) {
				return fmt.Errorf("the kernel has no probes of functions (CONFIG_UPROBE_EVENTS): %w", err)
			}
			return err
		}
		if err := keep(x.Uprobe(name, begins, at)); err != nil {
			return err
		}
	}
	return nil
}

// linkSession attaches a program to both ends of functions. Package link can't.
func linkSession(prog *ebpf.Program, file string, offsets, cookies []uint64) (link.Link, error) {
	const linkCreate, uprobeSession = 28, 57 // BPF_LINK_CREATE, BPF_TRACE_UPROBE_SESSION
	path, err := unix.BytePtrFromString(file)
	if err != nil {
		return nil, err
	}
	// union bpf_attr, whose pointers have 64 bits on all architectures
	attr := struct {
		program, target, attachType, flags uint32
		path                               unsafe.Pointer
		offsets, counters, cookies         unsafe.Pointer
		count, probeFlags, pid             uint32
		_                                  uint32
	}{
		program: uint32(prog.FD()), attachType: uprobeSession, path: unsafe.Pointer(path),
		offsets: unsafe.Pointer(unsafe.SliceData(offsets)), cookies: unsafe.Pointer(unsafe.SliceData(cookies)), count: uint32(len(offsets)),
	}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, linkCreate, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if errno != 0 {
		return nil, os.NewSyscallError("bpf", errno)
	}
	return link.NewFromFD(int(fd))
}
