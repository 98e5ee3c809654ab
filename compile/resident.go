package compile

import (
	"maps"
	"math/bits"
	"slices"
	"unsafe"

	"pianola/format"
	"pianola/format/coverage"
)

// residence is what the reads of a file tell about the page cache at the start, where the
// recorder did not look: the file was open when it attached, or the recording is an
// import. The first read of a page that waited for storage found it missing.
type residence struct {
	chunks        map[int64]*residents // by number
	warm, missing int64                // pages that the first read found in the page cache, and others
	unknown       int64                // pages of whose first read this is unknown
	fault         int64                // the page of the last fault that read ahead
}

// residents are pages of a file, a bit for each.
type residents struct {
	seen  [residentPages / 64]uint64 // read or written
	known [residentPages / 64]uint64 // the first read tells whether they were in the page cache
}

const (
	residentPages = 4096
	residentBytes = int(unsafe.Sizeof(residents{})) + inMap

	// maxResidents bounds the memory of a model, 64 MiB. Further pages are unknown.
	maxResidents = 1 << 16

	// surelyStorage is added to the minimum duration of a read from storage where the
	// recording does not state what recording costs: strace makes calls up to 66 µs longer.
	surelyStorage = 180_000

	// aroundFault is how many pages a fault reads ahead, on both sides at most.
	aroundFault = 64
)

// found says what a read tells about the pages that no event has used before.
type found uint8

const (
	foundUnknown found = iota
	foundMissing
	foundWarm
	foundWritten // nothing, and later reads tell nothing either
)

// follows reports whether the residence of a file is followed: it existed at the start,
// and the recorder did not look. The last pass only needs the result.
func (cs *contents) follows(nd *node) bool {
	return cs.out == nil && nd != nil && !nd.created && !nd.pseudo && nd.cached < 0
}

// reached learns from a read of size bytes through a description. One without a duration
// leaves its pages unknown.
func (cs *contents) reached(s *simEvent, f *openFile, off, size int64) {
	if size <= 0 || !cs.follows(f.node) || f.Flags&format.DIRECT != 0 {
		return
	}
	what := foundWarm
	// The recorder's own time varies by as much as it is.
	if s.e.Dur < 0 {
		what = foundUnknown
	} else if nanos := s.e.Dur - 2*max(s.t.rate.Inside, 0); format.FromStorage(nanos, size) {
		what = foundMissing
		if *s.t.rate == (format.Cost{}) && !format.FromStorage(nanos-surelyStorage, size) {
			what = foundUnknown
		}
	} else if f.missed && f.reached == off {
		what = foundMissing // read ahead
	}
	f.missed, f.reached = what == foundMissing, end(off, size)
	cs.use(f.node, off, f.reached, what)
}

// faulted learns from a fault on so many bytes of a mapped file.
func (cs *contents) faulted(s *simEvent) {
	if s.e.Ret < 0 {
		return
	}
	nd, off := s.mapped.node, s.out.Args[2]
	to := max(min(end(off, max(s.e.Size(), 0)), nd.now), off)
	if !cs.follows(nd) || to <= off {
		return
	}
	r, here := nd.residence, off/pageSize
	what := foundWarm
	switch {
	case s.e.Notes.Known(format.NotedFilled),
		r != nil && r.fault > 0 && here > r.fault-aroundFault && here < r.fault+aroundFault:
		what = foundMissing
	}
	cs.use(nd, off, to, what)
	if what == foundMissing {
		nd.residence.fault = here
	}
}

// use records that an event uses the bytes of a file from off to to.
func (cs *contents) use(nd *node, off, to int64, what found) {
	if off < 0 || to <= off {
		return
	}
	if nd.residence == nil {
		nd.residence = &residence{chunks: map[int64]*residents{}}
	}
	r := nd.residence
	last := (min(to, end(off, mostMoved)) - 1) / pageSize
	for page := off / pageSize; page <= last; page = (page/64 + 1) * 64 {
		c := r.chunks[page/residentPages]
		if c == nil && cs.residents < maxResidents {
			c = &residents{}
			r.chunks[page/residentPages] = c
			cs.residents++
			cs.budget.take(forFiles, residentBytes)
		}
		if c == nil {
			if what != foundWritten {
				r.unknown += last - page + 1
			}
			return
		}
		word := page % residentPages / 64
		used := ^uint64(0) << (page % 64) // in this word
		if rest := last - page/64*64; rest < 63 {
			used &= 1<<(rest+1) - 1
		}
		used &^= c.seen[word]
		c.seen[word] |= used
		switch n := int64(bits.OnesCount64(used)); what {
		case foundUnknown:
			r.unknown += n
		case foundMissing:
			c.known[word] |= used
			r.missing += n
		case foundWarm:
			c.known[word] |= used
			r.warm += n
		}
	}
}

// pages returns how many pages of the file, from its beginning, a replay has in the page
// cache so that as many first reads find their page missing as in the recording. It is
// -1 if no read tells.
func (r *residence) pages() int64 {
	if r == nil || r.warm+r.missing == 0 {
		return -1
	}
	warm, above := r.warm, int64(0)
	for _, number := range slices.Sorted(maps.Keys(r.chunks)) {
		c := r.chunks[number]
		for word, known := range c.known {
			for ; known != 0; known &= known - 1 {
				if warm == 0 {
					return above
				}
				warm, above = warm-1, number*residentPages+int64(word)*64+int64(bits.TrailingZeros64(known))+1
			}
		}
	}
	return above
}

// cachedPages returns how many pages of a file were in the page cache at the start, -1 if
// that is unknown, and adds reads that leave it unknown to a sum.
func (nd *node) cachedPages(sum *coverage.Uncached) int64 {
	if nd.cached >= 0 || nd.residence == nil {
		return nd.cached
	}
	if unknown := nd.residence.unknown; unknown > 0 {
		sum.Files++
		sum.Bytes += unknown * pageSize
	}
	return nd.residence.pages()
}
