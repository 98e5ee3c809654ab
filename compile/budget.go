package compile

import (
	"fmt"
	"unsafe"

	"pianola/format"
	"pianola/format/process"
)

// DefaultMemory is how many bytes of memory a compilation takes by default: 1 GiB.
const DefaultMemory = 1 << 30

// LimitError is returned for a recording that needs more memory than
// Options.Memory.
type LimitError struct {
	Line  int64  // in the recording, of the event that exceeded the limit; 0 if unknown
	What  string // what most of the memory is for
	Limit int64  // bytes
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the recording needs more than %s of memory, most of it for %s", size(e.Limit), e.What)
}

// size formats a number of bytes with the largest unit that divides it.
func size(bytes int64) string {
	for _, u := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if bytes > 0 && bytes&(1<<u.shift-1) == 0 {
			return fmt.Sprintf("%d %s", bytes>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// purpose is a use of memory.
type purpose uint8

const (
	forNames purpose = iota
	forFiles
	forThreads
	forDescriptors
	forOrder
	forBuffers
	numPurposes
)

var purposeNames = [numPurposes]string{"names", "files", "threads", "descriptors", "waits of threads", "buffers"}

// budget counts the memory that a model takes. It only adds. When the sum
// exceeds the limit, model.holds counts what the model still uses, so the model
// never has to report what it frees.
type budget struct {
	limit int64
	total int64 // of taken
	room  int64 // the total at which model.holds counts next
	taken [numPurposes]int64
}

func (b *budget) take(use purpose, bytes int) {
	b.taken[use] += int64(bytes)
	b.total += int64(bytes)
}

// grow appends to a list, whose memory it takes.
func grow[T any](b *budget, use purpose, list []T, more ...T) []T {
	room := cap(list)
	list = append(list, more...)
	b.take(use, int(unsafe.Sizeof(list[0]))*(cap(list)-room))
	return list
}

// afford ends the pass with a LimitError at event e if the model holds more than the limit.
func (m *model) afford(e *format.Event) {
	b := m.budget
	if b.total <= b.room {
		return
	}
	b.taken, b.total = m.holds(), 0
	most := purpose(0)
	for p, bytes := range b.taken {
		b.total += bytes
		if bytes > b.taken[most] {
			most = purpose(p)
		}
	}
	if b.total > b.limit {
		m.fails(&LimitError{Line: e.Line, What: purposeNames[most], Limit: b.limit})
	}
	b.room = max(b.limit, b.total+b.limit/8) // at least an eighth of the limit between counts, so that counting costs little
}

// The sizes of things in bytes, with their share of the maps and lists that
// hold them.
const (
	inMap  = 48  // a key and a value, at most 16 bytes each, in a map that is three fifths full
	newMap = 256 // a map with one group of slots

	nameBytes         = int(unsafe.Sizeof(entry{})+unsafe.Sizeof(node{})) + inMap + 56 // of an entry, in its directory and the plan
	fileBytes         = int(unsafe.Sizeof(format.File{})) * 2
	substitutionBytes = int(unsafe.Sizeof(Substitution{})) * 2
	textBytes         = 64                                             // of a string in the trace
	calledBytes       = inMap + 4*int(unsafe.Sizeof(format.AppName{})) // of a name, in a map and two lists
	threadBytes       = int(unsafe.Sizeof(process.Thread{})+unsafe.Sizeof(thread{})+unsafe.Sizeof(process.Dir{})+unsafe.Sizeof(workingDir{})) + inMap
	threadRowBytes    = int(unsafe.Sizeof(format.Thread{})) + 8
	processBytes      = int(unsafe.Sizeof(process.Process{})+unsafe.Sizeof(proc{})+unsafe.Sizeof(buffers{})) + inMap + 16
	numbersBytes      = int(unsafe.Sizeof(numbers{})) + 4*newMap
	spareBytes        = inMap + 4*maxSpare
	descriptorBytes   = process.DescriptionBytes + int(unsafe.Sizeof(openFile{})+unsafe.Sizeof(node{})+unsafe.Sizeof(entry{}))
	usesBytes         = int(unsafe.Sizeof(uses{}))
	pipeBytes         = int(unsafe.Sizeof(pipe{}))
	placeBytes        = int(unsafe.Sizeof(place{}))
	edgeBytes         = int(unsafe.Sizeof(format.Edge{}))
	attrBytes         = inMap + newMap/4 + int(unsafe.Sizeof(format.Attr{}))*2
	soughtBytes       = int(unsafe.Sizeof(sought{}))
	layoutBytes       = int(unsafe.Sizeof(buffers{})) + 8
	mappedBytes       = int(unsafe.Sizeof(mapped{}))
	regionBytes       = int(unsafe.Sizeof(region{})) * 2
)

// holds returns the bytes that the model uses now, by purpose.
func (m *model) holds() (held [numPurposes]int64) {
	add := func(p purpose, bytes int) { held[p] += int64(bytes) }
	for _, e := range m.names.entries {
		add(forNames, nameBytes+len(e.comp))
		if e.existed {
			add(forFiles, e.fileBytes())
		}
		if e.direct {
			add(forNames, textBytes+m.names.texts*int(e.far))
		}
		if e.made {
			add(forNames, substitutionBytes+2*int(e.far))
		}
		add(forOrder, placeBytes*cap(e.used))
		if nd := e.node; nd != nil && nd.at == e {
			nd.hold(add)
		}
		if nd := e.first; nd != nil && nd != e.node && nd.at != nil && nd.at.node != nd {
			nd.hold(add) // renamed over or removed
		}
	}
	add(forNames, m.learned.bytes)
	if m.overlaps != nil {
		add(forNames, int(m.overlaps.holds()))
	}
	add(forNames, m.appNames.size())
	add(forThreads, len(m.table)*threadRowBytes)
	if m.state != nil {
		m.holdThreads(add)
	}
	for _, holds := range m.holdings {
		holds(add)
	}
	return held
}

// fileBytes returns how many bytes the fileset takes for the file that was at
// an entry at the start.
func (e *entry) fileBytes() int {
	if e.far > maxPath+1 {
		return 0 // it is not in the trace
	}
	return fileBytes + int(e.far)
}

// hold adds the bytes that a node refers to.
func (nd *node) hold(add func(purpose, int)) {
	for name := range nd.attrs {
		add(forFiles, attrBytes+len(name))
	}
	add(forFiles, soughtBytes*cap(nd.sought))
	if nd.residence != nil {
		add(forFiles, residentBytes*len(nd.residence.chunks))
	}
	if nd.locks != nil {
		add(forOrder, nd.locks.bytes())
	}
	if nd.written != nil {
		add(forOrder, nd.written.bytes())
	}
	add(forOrder, int(unsafe.Sizeof(growth{}))*cap(nd.grown))
	add(forOrder, placeBytes*(cap(nd.reads)+cap(nd.ends)+cap(nd.changes)+cap(nd.kept)))
}

// holdThreads adds the bytes of threads and their descriptors. Shared tables count
// once.
func (m *model) holdThreads(add func(purpose, int)) {
	counted := map[any]bool{}
	first := func(what any) bool {
		before := counted[what]
		counted[what] = true
		return !before
	}
	descriptor := func(d *process.Descriptor) {
		f := fileOf(d)
		if first(f) {
			add(forDescriptors, descriptorBytes)
		}
		if of, ok := d.Data.(*uses); ok && first(of) {
			if of != &f.uses {
				add(forDescriptors, usesBytes)
			}
			add(forOrder, placeBytes*cap(of.newest))
		}
	}
	for at := range m.state.Threads {
		t := at.Data.(*thread)
		add(forThreads, threadBytes)
		add(forOrder, 8*cap(t.seen)+edgeBytes*cap(t.owed)+gapBytes*t.gaps)
		if sp := at.Process.Space; first(sp) {
			sp.Hold(first, func(bytes int) { add(forDescriptors, bytes) }, func(part *process.Mapping) {
				if f := part.Data.(*mapped); first(f) {
					add(forDescriptors, mappedBytes)
					add(forOrder, placeBytes*cap(f.uses))
				}
			})
		}
		t.Table.Hold(first, func(bytes int) { add(forDescriptors, bytes) }, descriptor)
		if n, ok := t.Table.Data.(*numbers); ok && first(n) {
			add(forDescriptors, numbersBytes+(len(n.freed)+len(n.closes)+len(n.taken))*inMap+len(n.spare)*spareBytes)
		}
	}
}
