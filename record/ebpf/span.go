package ebpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"

	"pianola/format"
	"pianola/layer"
	"pianola/record"
)

var spanLimits = record.SpanLimits{
	Registers: map[format.Arch]int{format.AMD64: 6, format.ARM64: 8}[format.HostArch],
	Slots:     len(recorderSpan{}.Slots),
	Pieces:    len(recorderSpan{}.Len),
}

// probes attaches the program to functions of libraries. It belongs to one goroutine at
// a time. A probe is in a file, whoever maps it: all processes of the machine run into
// it, and those that are not followed leave the program at once.
type probes struct {
	program *program
	options *record.Options
	all     []*record.SpanProbe // by the cookie of the probe
	first   []int               // of each layer, in all
	seen    map[probedFile]bool
	files   []record.Probed // that are attached, or were refused
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
	p := &probes{options: o, seen: map[probedFile]bool{}}
	for _, l := range o.Layers {
		p.first = append(p.first, len(p.all))
		for _, f := range l.Functions {
			p.all = append(p.all, record.NewSpanProbe(l.Name, f, spanLimits, o.LayerText))
		}
	}
	return p
}

var pieceKinds = map[record.SpanPieceKind]recorderPieceKind{
	record.SpanPath:   recorderPieceKindPIECE_STRING,
	record.SpanText:   recorderPieceKindPIECE_STRING,
	record.SpanBefore: recorderPieceKindPIECE_BEFORE,
	record.SpanAfter:  recorderPieceKindPIECE_AFTER,
	record.SpanArray:  recorderPieceKindPIECE_ARRAY,
}

// configureSpans prepares the program for the probes, or without layers takes out what
// serves them. It reports whether one link serves many probes, since Linux 6.6.
func configureSpans(spec *ebpf.CollectionSpec, p []*record.SpanProbe) (multi bool) {
	if len(p) == 0 {
		for _, name := range []string{recorderProgSpanBegins, recorderProgSpanEnds} {
			delete(spec.Programs, name)
		}
		for _, name := range []string{recorderMapSpanPlans, recorderMapFrames, recorderMapSpanScratches} {
			delete(spec.Maps, name)
		}
		return false
	}
	if multi = features.HaveBPFLinkUprobeMulti() == nil; !multi {
		for _, name := range []string{recorderProgSpanBegins, recorderProgSpanEnds} {
			spec.Programs[name].AttachType = ebpf.AttachNone
		}
	}
	plans := spec.Maps[recorderMapSpanPlans]
	plans.MaxEntries = uint32(len(p))
	for i, probe := range p {
		plan := recorderSpanPlan{Pieces: uint8(len(probe.Pieces)), Stack: uint8(probe.Stack)}
		for j, piece := range probe.Pieces {
			to := &plan.Piece[j]
			to.Kind, to.Slot, to.Size = uint8(pieceKinds[piece.Kind]), uint8(piece.Slot), uint8(piece.Number.Size)
			switch {
			case piece.Count >= 0:
				to.Count = uint8(piece.Count)
			case piece.Fixed < 0:
				to.Count = uint8(recorderPieceCountCOUNT_RESULT)
			default:
				to.Count, to.Fixed = uint8(recorderPieceCountCOUNT_FIXED), uint32(piece.Fixed)
			}
		}
		plans.Contents = append(plans.Contents, ebpf.MapKV{Key: uint32(i), Value: plan})
	}
	return multi
}

// installed attaches to the libraries that a program started by the options finds, and
// to the program of the command.
func (p *probes) installed() error {
	program := ""
	if len(p.options.Command) > 0 {
		program, _ = p.options.Program() // that there is none, the start says
	}
	for i, l := range p.options.Layers {
		files := append(l.Linked(program, p.options.Env), l.Installed()...)
		if program != "" && l.Within(program) {
			files = append(files, program)
		}
		for _, file := range files {
			if err := p.attach(i, file, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// opened attaches to a file that a thread opened or executed at a time of the clock of
// events, if it is one of a layer.
func (p *probes) opened(c *record.Call) error {
	if p == nil || c.Ret < 0 || c.Details == nil {
		return nil
	}
	info := record.OpOf(format.HostArch, int(c.Nr)).Info()
	if info.Effect == format.EffectExec {
		return p.executed(c)
	}
	if info.Effect != format.EffectOpen || c.Details.State[0] != record.StringWhole {
		return nil
	}
	path := unsafe.String(unsafe.SliceData(c.Text), int(c.Details.Len[0]))
	for i, l := range p.options.Layers {
		if !l.Has(path) {
			continue
		}
		if err := p.attachLate(i, seenBy(c.TID, strings.Clone(path)), c.Start+c.Dur); err != nil {
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
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.TID))
	for i, l := range p.options.Layers {
		if l.Within(program) {
			if err := p.attachLate(i, program, c.Start+c.Dur); err != nil {
				return err
			}
		}
		for _, file := range l.Linked(real, strings.Split(string(env), "\x00")) {
			if err := p.attachLate(i, file, c.Start+c.Dur); err != nil {
				return err
			}
		}
	}
	return nil
}

// mapped attaches to what processes that run already have mapped.
func (p *probes) mapped(all []process) error {
	for _, process := range all {
		maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", process.pid))
		var last string
		for line := range strings.Lines(string(maps)) {
			fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
			if len(fields) < 6 || !strings.Contains(fields[1], "x") {
				continue
			}
			path := strings.TrimLeft(fields[5], " ")
			if path == last || !filepath.IsAbs(path) {
				continue
			}
			last = path
			for i, l := range p.options.Layers {
				if l.Has(path) {
					if err := p.attach(i, seenBy(process.pid, path), 0); err != nil {
						return err
					}
				}
			}
		}
		program := fmt.Sprintf("/proc/%d/exe", process.pid)
		for i, l := range p.options.Layers {
			if l.Within(program) {
				if err := p.attach(i, program, 0); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *probes) attachLate(i int, file string, since int64) error {
	now, err := monotonic()
	if err != nil {
		return err
	}
	return p.attach(i, file, time.Duration(max(now-since, 1)))
}

func inode(st os.FileInfo) probedFile {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return probedFile{dev: s.Dev, ino: s.Ino}
	}
	return probedFile{}
}

// attach attaches to the functions of layer i in a file, once. A file that has none of
// them, or that can't be read, is left out.
func (p *probes) attach(i int, file string, late time.Duration) error {
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
	name := file
	if real, err := os.Readlink(file); err == nil && strings.HasPrefix(file, "/proc/") {
		name = real
	}
	probed := record.Probed{Layer: l.Name, File: name, Late: late}
	began := time.Now()
	lib, err := l.Open(file)
	if err == nil {
		err = layer.CheckGo(file)
	}
	if err != nil {
		probed.Err = err
		p.files = append(p.files, probed)
		return nil
	}
	var cookies, offsets []uint64
	for _, place := range lib.Places {
		switch {
		case place.Entry == layer.Stepped && !p.options.LayerForce:
			probed.Stepped++
		case slices.Contains(offsets, place.Offset): // another name of the same function
		default:
			cookies = append(cookies, uint64(p.first[i]+slices.Index(l.Functions, place.Function)))
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
	p.files = append(p.files, probed)
	return nil
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
	x, err := link.OpenExecutable(file)
	if err != nil {
		return err
	}
	begins, ends := p.coll.Programs[recorderProgSpanBegins], p.coll.Programs[recorderProgSpanEnds]
	if p.multi {
		// A return without a beginning is left out, the other way round a frame stays.
		at := &link.UprobeMultiOptions{Addresses: offsets, Cookies: cookies}
		l, err := x.UretprobeMulti(nil, ends, at)
		if err != nil {
			return err
		}
		p.links = append(p.links, l)
		if l, err = x.UprobeMulti(nil, begins, at); err == nil {
			p.links = append(p.links, l)
		}
		return err
	}
	for i, offset := range offsets {
		at := &link.UprobeOptions{Address: offset, Cookie: cookies[i]}
		l, err := x.Uretprobe("f"+strconv.Itoa(i), ends, at)
		if err == nil {
			p.links = append(p.links, l)
			if l, err = x.Uprobe("f"+strconv.Itoa(i), begins, at); err == nil {
				p.links = append(p.links, l)
			}
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, ebpf.ErrNotSupported) {
			return fmt.Errorf("the kernel has no probes of functions (CONFIG_UPROBE_EVENTS): %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const spanSize = int(unsafe.Sizeof(recorderSpan{}))

// viewSpan is view for a record of a span.
func (p *probes) viewSpan(b []byte, s *record.Span) bool {
	if len(b) < spanSize || p == nil {
		return false
	}
	raw := (*recorderSpan)(unsafe.Pointer(unsafe.SliceData(b)))
	if uint64(raw.Function) >= uint64(len(p.all)) {
		return false
	}
	*s = record.Span{Start: int64(raw.Start), Dur: int64(raw.Took), Ret: raw.Ret, TID: int32(raw.Tid), Probe: p.all[raw.Function],
		Slots: raw.Slots[:], Len: raw.Len[:], State: unsafe.Slice((*record.StringState)(&raw.State[0]), len(raw.State)), Data: b[spanSize:]}
	return true
}
