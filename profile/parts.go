package profile

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"pianola/format"
)

// Parts cut all calls by thread, file, operation and time at once, so that any
// selection of these can be added up.
type Parts struct {
	Nanos int64  // length of a piece of time; the first starts with the recording
	List  []Part // by file, thread, operation and piece
}

// Part is the calls of one operation that one thread made on one file, and that
// began in one piece of time.
type Part struct {
	File      int   // place in Profile.Files, OtherFiles or NoFile
	Thread    int32 // its TID, -1 for those that are not told apart
	Op        format.Op
	Category  Category // NumCategories for none
	Piece     int
	Calls     int64
	Errors    int64
	Bytes     int64
	Nanos     int64   // in the calls, also where they go on in later pieces
	Durations []int64 // calls by class of their durations, from class First on
	First     int
}

// The values that replace a file in a Part.
const (
	PartOthers = -1 // files that are not told apart
	PartNone   = -2 // no file
)

// NumDurations is the number of classes of durations in a Part.
const NumDurations = 27

// durationShift makes the first class end below 256 ns.
const durationShift = 8

// DurationFrom returns the shortest duration of a class, in nanoseconds. A class
// ends where the next one begins, and the last one does not end.
func DurationFrom(class int) int64 {
	if class == 0 {
		return 0
	}
	return 1 << (durationShift + class - 1)
}

func durationClass(nanos int64) int {
	return min(max(bits.Len64(uint64(nanos))-durationShift, 0), NumDurations-1)
}

const (
	// maxParts bounds the parts that are told apart, 5 MiB of them.
	maxParts = 1 << 14

	// maxPieces is how many pieces the run time is cut into at most, and
	// fewPieces how many are left where other parts would be given up for them.
	maxPieces = 1 << 7
	fewPieces = 1 << 5
)

// partition gathers Parts in bounded memory. Where there are too many, neighbours in
// time are added together if that helps, and else the files, or the threads, that
// had the least weight: these have no parts of their own until they are above a
// threshold.
type partition struct {
	shift  uint // a piece is 1<<shift nanoseconds
	list   []partCount
	places map[partKey]int32 // in list
	recent [1 << 8]int32     // places in list, by a hash of the key
	least  struct{ file, thread int64 }
}

// partKey tells parts apart. The file is nil for none, and the thread for those that
// are not told apart.
type partKey struct {
	file     *file
	thread   *thread
	op       format.Op
	category Category
	piece    uint8
}

type partCount struct {
	partKey
	calls, errors, bytes, nanos int64
	durations                   [NumDurations]int64
}

// count adds a call that took so many nanoseconds, less than 0 if that is not
// known. others stands for the files that are not told apart.
func (ps *partition) count(c *call, op format.Op, nanos int64, t *thread, f, others *file) {
	for c.start>>ps.shift >= maxPieces {
		ps.widen()
	}
	key := partKey{file: f, op: op, category: c.category, piece: uint8(c.start >> ps.shift)}
	weight := c.total.Nanos + 1
	if t.weight = min(t.weight+weight, maxTime); t.weight > ps.least.thread && t.row.TID != othersTID {
		key.thread = t
	}
	if f != nil {
		if f.all = min(f.all+weight, maxTime); f.all <= ps.least.file {
			key.file = others
		}
	}
	p := ps.of(key)
	p.calls++
	p.errors += c.total.Errors
	p.bytes += c.total.Bytes
	p.nanos += c.total.Nanos
	if nanos >= 0 {
		p.durations[durationClass(nanos)]++
	}
	if len(ps.list) > maxParts {
		ps.shrink(others)
	}
}

// of returns the part of a key.
func (ps *partition) of(key partKey) *partCount {
	// Most calls are like one that was just now.
	recent := &ps.recent[key.hash()]
	if at := int(*recent); at < len(ps.list) && ps.list[at].partKey == key {
		return &ps.list[at]
	}
	at, ok := ps.places[key]
	if !ok {
		if ps.places == nil {
			ps.places = make(map[partKey]int32)
		}
		at = int32(len(ps.list))
		ps.list = append(ps.list, partCount{partKey: key})
		ps.places[key] = at
	}
	*recent = at
	return &ps.list[at]
}

func (k *partKey) hash() uint8 {
	h := int32(k.op)
	if k.file != nil {
		h += k.file.id * 31
	}
	if k.thread != nil {
		h += k.thread.row.TID * 7
	}
	return uint8(h)
}

// widen adds each piece to its neighbour.
func (ps *partition) widen() {
	ps.shift++
	ps.regroup(wider)
}

func wider(k partKey) partKey {
	k.piece /= 2
	return k
}

// regroup gives all parts other keys, and adds together those that have the same
// then.
func (ps *partition) regroup(to func(partKey) partKey) {
	old := ps.list
	ps.list = ps.list[:0]
	clear(ps.places)
	for i := range old {
		from := old[i]
		into := ps.of(to(from.partKey))
		into.calls += from.calls
		into.errors += from.errors
		into.bytes += from.bytes
		into.nanos += from.nanos
		for k, n := range from.durations {
			into.durations[k] += n
		}
	}
}

// shrink leaves at most three quarters of the parts that there may be, and about half
// where files or threads lose theirs, so that it is seldom called.
func (ps *partition) shrink(others *file) {
	for len(ps.list) > maxParts/4*3 {
		files, threads, last := make(map[*file]int), make(map[*thread]int), uint8(0)
		for i := range ps.list {
			k := &ps.list[i].partKey
			files[k.file]++
			threads[k.thread]++
			last = max(last, k.piece)
		}
		switch {
		case last >= fewPieces && ps.halves() < len(ps.list)/4*3:
			ps.widen()
		case len(files) > 2 && len(files) >= len(threads):
			delete(files, nil)
			delete(files, others)
			ps.least.file = least(files, len(ps.list)-maxParts/2, func(f *file) int64 { return f.all })
			ps.regroup(func(k partKey) partKey {
				if k.file != nil && k.file.all <= ps.least.file {
					k.file = others
				}
				return k
			})
		case len(threads) > 1:
			delete(threads, nil)
			ps.least.thread = least(threads, len(ps.list)-maxParts/2, func(t *thread) int64 { return t.weight })
			ps.regroup(func(k partKey) partKey {
				if k.thread != nil && k.thread.weight <= ps.least.thread {
					k.thread = nil
				}
				return k
			})
		default:
			ps.widen()
		}
	}
}

// halves returns how many parts widen would leave.
func (ps *partition) halves() int {
	all := make(map[partKey]struct{}, len(ps.list))
	for i := range ps.list {
		all[wider(ps.list[i].partKey)] = struct{}{}
	}
	return len(all)
}

// least returns the least weight such that what has no more than it has so many
// parts together.
func least[T comparable](parts map[T]int, want int, weight func(T) int64) (w int64) {
	all := slices.SortedFunc(maps.Keys(parts), func(a, b T) int { return cmp.Compare(weight(a), weight(b)) })
	for _, one := range all {
		w = weight(one)
		if want -= parts[one]; want <= 0 {
			break
		}
	}
	return w
}

// snapshot returns the parts. place holds the places of files by their ids.
func (ps *partition) snapshot(place []int) Parts {
	out := Parts{Nanos: 1 << ps.shift, List: make([]Part, len(ps.list))}
	for i := range ps.list {
		from := &ps.list[i]
		p := &out.List[i]
		*p = Part{File: PartNone, Thread: othersTID, Op: from.op, Category: from.category, Piece: int(from.piece),
			Calls: from.calls, Errors: from.errors, Bytes: from.bytes, Nanos: from.nanos}
		if from.file != nil {
			p.File = place[from.file.id]
		}
		if from.thread != nil {
			p.Thread = from.thread.row.TID
		}
		p.First, p.Durations = trimmed(from.durations[:])
	}
	slices.SortFunc(out.List, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Piece, b.Piece))
	})
	return out
}

// trimmed returns a copy of counts without zeros at both ends, and where it begins.
func trimmed(counts []int64) (first int, list []int64) {
	last := len(counts)
	for last > 0 && counts[last-1] == 0 {
		last--
	}
	for first < last && counts[first] == 0 {
		first++
	}
	return first, slices.Clone(counts[first:last])
}
