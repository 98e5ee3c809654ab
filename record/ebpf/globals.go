package ebpf

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/layer"
	"pianola/record"
)

// globals are the values of the variables of a layer in which the library has handles, such
// as that of the type of int. They are the same in all processes that run the same file, so
// they are read once, in a process in which all are set: in one that is initialising the
// library, or is about to end, some are not.
type globals struct {
	layer  *layer.Layer
	known  map[probedFile]variables // of files, which take longer to read than some programs run
	values []format.Meta
	thread int32 // that has called the library since it was tried last, 0 for none
	left   int   // how often it is tried

	expected time.Time // until then a process initialises the library
}

const (
	globalTries = 100

	// A program can end within milliseconds of its first call, after which the program wakes the
	// recorder. If the library is not initialised then, the ring is looked at more often for a while.
	globalPoll = 500 * time.Microsecond
	globalWait = 50 * time.Millisecond
)

// variables are those of a library, or of a program that it is linked into.
type variables struct {
	list            []layer.Variable
	offset, address uint64 // of the part of the file that is mapped first: in the file, and in memory
}

func newGlobals(layers []*layer.Layer) []globals {
	all := make([]globals, len(layers))
	for i, l := range layers {
		all[i] = globals{layer: l, left: globalTries, known: map[probedFile]variables{}}
	}
	return all
}

// variables returns those of a file.
func (g *globals) variables(file string) (v variables, err error) {
	st, err := os.Stat(file)
	if err != nil {
		return v, err
	}
	key := inode(st)
	v, known := g.known[key]
	if known {
		return v, nil
	}
	if v.list, v.offset, v.address, err = g.layer.Variables(file); err == nil && len(g.known) < maxSeen {
		g.known[key] = v
	}
	return v, err
}

// hasGlobals reports whether any layer has variables to read.
func (p *probes) hasGlobals() bool {
	return slices.ContainsFunc(p.options.Layers, func(l *layer.Layer) bool { return len(l.Globals) > 0 })
}

// pause returns how long the ring may be left alone for their sake.
func (p *probes) pause(now time.Time) time.Duration {
	for i := range p.globals {
		if g := &p.globals[i]; len(g.values) == 0 && g.left > 0 && now.Before(g.expected) {
			return globalPoll
		}
	}
	if !p.program.wakes {
		return probePause
	}
	return maxPause
}

// values returns the lines of the header for all layers.
func (p *probes) values() (all []format.Meta) {
	for i := range p.globals {
		all = append(all, p.globals[i].values...)
	}
	return all
}

// called notes a thread that has called a library.
func (p *probes) called(s *record.Span) {
	for i := range p.globals {
		if g := &p.globals[i]; g.layer.Name == s.Probe.Layer && len(g.layer.Globals) > 0 && len(g.values) == 0 {
			if g.left == globalTries {
				g.expected = time.Now().Add(globalWait)
			}
			g.thread = int32(s.Tid)
		}
	}
}

// readGlobals reads the variables of libraries that were called, if that was not done before.
func (p *probes) readGlobals() {
	for i := range p.globals {
		g := &p.globals[i]
		if g.thread == 0 || g.left == 0 {
			continue
		}
		g.left--
		// A process that can't be read, because it has ended, may be followed by another one.
		g.values, _ = g.of(g.thread)
		g.thread = 0
	}
}

// of returns the values of the variables in a process. There are none while the library is not
// initialised as a whole.
func (g *globals) of(tid int32) (values []format.Meta, err error) {
	base, list, err := g.find(tid)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	words := make([]*word, len(list))
	for i, v := range list {
		words[i] = &word{at: base + v.Address, size: v.Size}
		if v.Indirect {
			words[i].size = 8
		}
	}
	if err := readWords(tid, words); err != nil {
		return nil, err
	}
	var direct []*word
	for i, v := range list {
		if v.Indirect {
			words[i] = &word{at: words[i].value, size: v.Size}
			direct = append(direct, words[i])
		}
	}
	if err := readWords(tid, direct); err != nil {
		return nil, err
	}
	for i, v := range list {
		value := int64(words[i].value)
		if v.Size == 4 {
			value = int64(int32(value))
		}
		if value <= 0 { // a variable that has no handle is 0 or -1
			return nil, nil
		}
		values = append(values, format.Meta{Key: format.MetaGlobal, Value: fmt.Sprintf("%s %s %d", g.layer.Name, v.Name, value)})
	}
	return values, nil
}

// word is a word of 4 or 8 bytes in the memory of a process.
type word struct {
	at, value uint64
	size      int
}

// readWords reads the values of words in the memory of a process, many with one system call.
func readWords(tid int32, words []*word) error {
	const most = 1024 // IOV_MAX
	for len(words) > 0 {
		part := words[:min(len(words), most)]
		words = words[len(part):]
		remote, bytes := make([]unix.RemoteIovec, len(part)), 0
		for i, w := range part {
			remote[i] = unix.RemoteIovec{Base: uintptr(w.at), Len: w.size}
			bytes += w.size
		}
		memory := make([]byte, bytes)
		local := []unix.Iovec{{Base: &memory[0]}}
		local[0].SetLen(bytes)
		n, err := unix.ProcessVMReadv(int(tid), local, remote, 0)
		switch {
		case err != nil:
			return os.NewSyscallError("process_vm_readv", err)
		case n < bytes:
			return os.NewSyscallError("process_vm_readv", unix.EFAULT)
		}
		for _, w := range part {
			if w.size == 4 {
				w.value = uint64(binary.NativeEndian.Uint32(memory))
			} else {
				w.value = binary.NativeEndian.Uint64(memory)
			}
			memory = memory[w.size:]
		}
	}
	return nil
}

// find returns the variables in the library that a process has mapped, or in its program, and
// where address 0 of that file is.
func (g *globals) find(tid int32) (base uint64, list []layer.Variable, err error) {
	files, err := record.MappedFiles(tid)
	if err != nil {
		return 0, nil, err
	}
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", tid))
	looked := map[string]bool{}
	for _, m := range files {
		path := m.Path
		if m.Deleted || looked[path] || path != program && !g.layer.Has(path) {
			continue
		}
		looked[path] = true // its first part comes first
		file := seenBy(tid, path)
		if path == program && !g.layer.Within(file) {
			continue // it has at most copies of the variables
		}
		if v, err := g.variables(file); err == nil && len(v.list) > 0 && v.offset == m.Offset {
			return m.Start - v.address, v.list, nil
		}
	}
	return 0, nil, nil
}
