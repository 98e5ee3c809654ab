package compile

import (
	"cmp"
	"slices"

	"pianola/format"
)

// blocks is the allocation of a file as the recorder found it, some time after the
// open. Parts that were written in between are in doubt.
type blocks struct {
	all    []format.Stretch
	until  int64   // when the recorder looked, nanoseconds since the start of the recording
	doubts []doubt // parts written before that, in the order of the writes
}

// doubt is a part of a file, in bytes.
type doubt struct{ from, to int64 }

// maxDoubts bounds the parts in doubt of a file. Later ones count as found.
const maxDoubts = 1 << 16

// allocated sets the allocation of a file from the notes of the event that opened it.
func (nd *node) allocated(n *format.Notes, ended int64) {
	if nd.created || nd.blocks != nil || nd.changed || nd.typ != format.TypeReg || !n.Known(format.NotedBlocks) {
		return
	}
	if all, ok := format.ParseBlocks(n.Blocks); ok {
		nd.blocks = &blocks{all: all, until: ended + n.Late}
	}
}

// doubt records a write that began at a given time.
func (b *blocks) doubt(at, from, to int64) {
	if b != nil && at < b.until && len(b.doubts) < maxDoubts {
		b.doubts = append(b.doubts, doubt{from, to})
	}
}

// start returns the allocation at the start, nil if it is unknown. A part that was
// written before the recorder looked gets the allocation of its neighbours: the first
// half that of the part before, the second half that of the part after.
func (b *blocks) start() []format.Stretch {
	if b == nil {
		return nil
	}
	slices.SortFunc(b.doubts, func(x, y doubt) int { return cmp.Compare(x.from, y.from) })
	var s stretches
	at, next := int64(0), 0
	for _, stretch := range b.all {
		end := at + stretch.Bytes
		for at < end && stretch.Allocation == format.Data && next < len(b.doubts) {
			d := b.doubts[next]
			if d.from >= end {
				break
			}
			s.add(stretch.Allocation, max(d.from-at, 0))
			at = max(at, d.from)
			s.doubt(max(min(d.to, end)-at, 0))
			if at = max(at, min(d.to, end)); d.to <= end {
				next++
			}
		}
		s.add(stretch.Allocation, end-at)
		at = end
	}
	if len(s.known) == 0 {
		return b.all
	}
	s.settle(s.known[len(s.known)-1].Allocation)
	return s.known
}

// stretches builds an allocation from the start of a file on.
type stretches struct {
	known  []format.Stretch
	unsure int64 // bytes after those
}

// add adds a part with a known allocation.
func (s *stretches) add(a format.Allocation, bytes int64) {
	if bytes == 0 {
		return
	}
	s.settle(a)
	s.known = format.AddStretch(s.known, a, bytes)
}

// doubt adds a part with an unknown allocation.
func (s *stretches) doubt(bytes int64) { s.unsure += bytes }

// settle decides on the unknown part before a part with an allocation.
func (s *stretches) settle(next format.Allocation) {
	half := s.unsure / 2 / blockBytes * blockBytes
	if n := len(s.known); n > 0 {
		s.known = format.AddStretch(s.known, s.known[n-1].Allocation, s.unsure-half)
	} else {
		half = s.unsure
	}
	s.known = format.AddStretch(s.known, next, half)
	s.unsure = 0
}

// sought is a part of a file whose allocation a seek has shown.
type sought struct {
	from, to int64
	as       format.Allocation
}

// maxSought bounds the parts of a file whose allocation seeks show.
const maxSought = format.MaxStretches / 4

// seek evaluates a seek for data or for a hole, in a file that the trace has not
// changed.
func (cs *contents) seek(nd *node, s *simEvent) {
	if nd.created || nd.changed || nd.dirty || nd.blocks != nil || nd.size == 0 || len(nd.sought) >= maxSought {
		return
	}
	from, found := s.out.Offset(), s.e.Ret
	passed, here := format.Hole, format.Data
	if s.out.Word(format.Whence) == format.SeekHole {
		passed, here = here, passed
	}
	switch {
	case found == enxio && passed == format.Hole:
		found = nd.size // no data follow
	case found < from || from < 0:
		return
	}
	nd.sought = grow(cs.budget, forFiles, nd.sought, sought{from, found, passed}, sought{found, end(found, blockBytes), here})
}

// layout returns the allocation of a file at the start. It returns nil if all or none
// of the blocks were allocated, or if that is unknown. If only the number of blocks is
// known, the first bytes count as allocated, unless seeks show something else.
func (nd *node) layout() []format.Stretch {
	switch {
	case nd.blocks != nil:
		return nd.blocks.start()
	case nd.share == 0 && len(nd.sought) == 0:
		return nil
	}
	slices.SortStableFunc(nd.sought, func(x, y sought) int { return cmp.Compare(x.from, y.from) })
	left := nd.size
	if nd.sparse {
		left = min(nd.share, nd.size)
	}
	at := int64(0)
	for _, s := range nd.sought {
		if from, to := max(s.from, at), min(s.to, nd.size); from < to {
			at = to
			if s.as == format.Data {
				left -= to - from
			}
		}
	}
	if left = max(left, 0); nd.sparse {
		left = left / blockBytes * blockBytes
	}
	var all []format.Stretch
	at = 0
	fill := func(to int64) {
		data := min(left, to-at)
		left -= data
		all = format.AddStretch(all, format.Data, data)
		all = format.AddStretch(all, format.Hole, to-at-data)
		at = to
	}
	for _, s := range nd.sought {
		from, to := max(s.from, at), min(s.to, nd.size)
		if from < to {
			fill(from)
			all = format.AddStretch(all, s.as, to-from)
			at = to
		}
	}
	fill(nd.size)
	if len(all) == 1 && all[0].Allocation == format.Data {
		return nil
	}
	return all
}

// blockBytes is the size of a block of most file systems.
const blockBytes = 4096
