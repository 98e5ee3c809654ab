package ebpf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"pianola/format"
	"pianola/layer"
	"pianola/record"
)

// globals are the values of the variables of a layer in which the library has handles, such
// as that of the type of int. They are the same in all processes that run the same file, so
// they are read once, in a process in which all are set: in one that is initialising the
// library, or is about to end, some are not.
type globals struct {
	values []format.Meta
	tried  int64 // when it was tried last, of the recorder's clock; 0 before the first
	left   int   // how often it is tried

	expected time.Time // until then a process is about to initialise the library
}

const (
	globalTries = 100
	globalPause = 1e6 // nanoseconds between two of them

	// A program can end within milliseconds of its first call. So the ring is looked at more
	// often for a while after a process has opened the library.
	globalPoll = 500 * time.Microsecond
	globalWait = 50 * time.Millisecond
)

func newGlobals(layers int) []globals {
	all := make([]globals, layers)
	for i := range all {
		all[i].left = globalTries
	}
	return all
}

// expectGlobals notes that a process has opened the library of a layer.
func (p *probes) expectGlobals(number int) {
	g := &p.globals[number]
	if len(p.options.Layers[number].Globals) > 0 && len(g.values) == 0 && g.left > 0 {
		g.expected = time.Now().Add(globalWait)
	}
}

// pause returns how long the ring may be left alone for their sake.
func (p *probes) pause(now time.Time) time.Duration {
	for i := range p.globals {
		if g := &p.globals[i]; len(g.values) == 0 && now.Before(g.expected) {
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

// readGlobals reads the variables of the layer of a span, if that was not done before.
func (p *probes) readGlobals(s *record.Span) {
	number := slices.IndexFunc(p.options.Layers, func(l *layer.Layer) bool { return l.Name == s.Probe.Layer })
	l, g := p.options.Layers[number], &p.globals[number]
	end := s.Start + s.Dur
	if len(l.Globals) == 0 || len(g.values) > 0 || g.left == 0 || g.tried > 0 && end < g.tried+globalPause {
		return
	}
	g.tried = end
	g.left--
	// A process that can't be read, because it has ended, may be followed by another one.
	g.values, _ = globalsOf(l, s.TID)
}

// globalsOf returns the values of the variables of a layer in a process. There are none while
// the library is not initialised as a whole.
func globalsOf(l *layer.Layer, tid int32) (values []format.Meta, err error) {
	base, list, err := findVariables(l, tid)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	for _, v := range list {
		at := base + v.Address
		if v.Indirect {
			if at, err = readWord(memory, at, 8); err != nil {
				return nil, err
			}
		}
		n, err := readWord(memory, at, v.Size)
		if err != nil {
			return nil, err
		}
		value := int64(n)
		if v.Size == 4 {
			value = int64(int32(n))
		}
		if value <= 0 { // a variable that has no handle is 0 or -1
			return nil, nil
		}
		values = append(values, format.Meta{Key: format.MetaGlobal, Value: fmt.Sprintf("%s %s %d", l.Name, v.Name, value)})
	}
	return values, nil
}

func readWord(memory io.ReaderAt, at uint64, size int) (uint64, error) {
	var b [8]byte
	if _, err := memory.ReadAt(b[:size], int64(at)); err != nil {
		return 0, err
	}
	if size == 4 {
		return uint64(binary.NativeEndian.Uint32(b[:])), nil
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

// findVariables returns the variables of a layer in the library that a process has mapped, or
// in its program, and where address 0 of that file is.
func findVariables(l *layer.Layer, tid int32) (base uint64, list []layer.Variable, err error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", tid))
	if err != nil {
		return 0, nil, err
	}
	defer maps.Close()
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", tid))
	looked := map[string]bool{}
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		start, offset, path, ok := record.MappedFile(lines.Text())
		if !ok || looked[path] || path != program && !l.Has(path) {
			continue
		}
		looked[path] = true // its first part comes first
		file := seenBy(tid, path)
		if path == program && !l.Within(file) {
			continue // it has at most copies of the variables
		}
		list, from, address, err := l.Variables(file)
		if err == nil && len(list) > 0 && from == offset {
			return start - address, list, nil
		}
	}
	return 0, nil, lines.Err()
}
