package device

import (
	"container/list"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"pianola/format"
	"pianola/format/process"
)

// Start is what the page cache holds of the files when a trace begins.
type Start uint8

// The ways to begin.
const (
	StartRecorded Start = iota // as many pages of each file as it was recorded with; none if that is unknown
	StartWarm                  // all
	StartCold                  // none
)

// Cache says how a page cache is modelled. The zero Cache has room for everything,
// and writes back what is synced.
type Cache struct {
	Start     Start `json:"-"`
	Capacity  int64 `json:"capacity_bytes"`  // it holds no more; 0 for any number
	Dirty     int64 `json:"dirty_bytes"`     // if more are dirty, a write waits until its own are written; 0 for any number
	Readahead int64 `json:"readahead_bytes"` // that sequential reads read at a time
}

// Facts of Linux that the walk follows.
const (
	page       = 4096
	chunkPages = 64
	chunkBytes = chunkPages * page

	maxMove = 0x7ffff000 // bytes that a call moves at most (MAX_RW_COUNT)

	dirtyExpire    = 30_000_000_000 // nanoseconds after which dirty pages are written (vm.dirty_expire_centisecs)
	commitInterval = 5_000_000_000  // nanoseconds after which ext4 commits its journal by itself (ext4(5), commit=)
	tick           = 4_000_000      // nanoseconds, the resolution of the time of a change (CONFIG_HZ=250)
	inodesPerBlock = 16             // ext4 has inodes of 256 bytes in blocks of 4 KiB

	// linuxReadahead is the usual read_ahead_kb of a block device.
	linuxReadahead = 128 << 10
)

// unknownSize stands for the unknown size of a file that existed at the start: writes to
// the file are in place.
const unknownSize = 1 << 60

// maxChunks bounds the memory of a walk: 64 MiB for a quarter of a TiB that is touched.
const maxChunks = 1 << 20

// maxFiles is how many files a walk distinguishes. Calls on further files cost nothing.
const maxFiles = 1 << 18

// ErrMemory is the error of a trace that takes more memory to follow than there is.
var ErrMemory = errors.New("the trace asks more of a device than the memory limit allows to keep")

var errChunks = fmt.Errorf("%w: it touches more than %d GiB of its files", ErrMemory, maxChunks*chunkBytes>>30)

// chunk is the state of 64 pages of a file, a bit for each.
type chunk struct {
	cached  uint64 // in the page cache
	dirty   uint64 // and newer than on the device
	written uint64 // has blocks
}

// cachedFile is the state of a file in the walk.
type cachedFile struct {
	cold    bool  // pages that are not marked as cached are not in the page cache
	warm    int64 // of a cold file: the number of its first bytes that are warm
	size    int64 // bytes
	blocks  int64 // bytes from the beginning that had blocks at the start
	set     int64 // bytes from the beginning that fallocate has reserved since
	exists  bool
	chunks  map[int64]chunk
	dirty   []int64 // chunks with dirty pages
	dirtied int64   // when the first of these pages became dirty
	changed int64   // tick of the last write
	pages   int64   // that are marked as cached
	last    int64   // where the last request ended, in bytes
	inode   int64   // the transaction that has its inode
	layout  int64   // the transaction that has its size or blocks
	element *list.Element
}

// walk follows the page cache and the journal through the events of a trace.
type walk struct {
	Cache
	*process.Follower
	files  map[string]*cachedFile // by current name
	unsync map[*cachedFile]bool   // with dirty pages
	chunks int
	dirty  int64      // bytes
	held   int64      // pages of all files that are marked as cached
	listed bool       // the files of the start are known
	used   *list.List // of files, the last used first; nil with room for everything

	transaction, begun int64 // its number, from 1, and when it began
	inodes             int64 // that it holds
	dirs               int64 // blocks of directories
	bitmap, names      bool  // of blocks, and of inodes
}

// Walk reads all events of a trace and calls each with what the event asks of a device,
// and its position in its thread, from 0. It follows Linux with ext4: which pages are
// in the page cache, which are dirty, and what a sync then writes. It stops at
// the first error. The event is borrowed.
func Walk(r format.Reader, c Cache, each func(e *format.Event, position int64, d Demand) error) error {
	if c.Readahead <= 0 {
		c.Readahead = linuxReadahead
	}
	r = format.WithoutSpans(format.WithoutNames(r)) // the fileset has names below the root
	var w *walk
	positions := map[int32]int64{}
	return format.Each(r, func(e *format.Event) error {
		if w == nil {
			w = newWalk(r.Header(), c)
		}
		d, err := w.event(e)
		if err == nil {
			err = each(e, positions[e.TID], d)
		}
		positions[e.TID]++
		return err
	})
}

func newWalk(h *format.Header, c Cache) *walk {
	w := &walk{Cache: c, Follower: process.New(h, maxFiles), files: map[string]*cachedFile{}, unsync: map[*cachedFile]bool{}, transaction: 1, listed: h.Threads != nil || h.Files != nil}
	if c.Capacity > 0 {
		w.used = list.New()
	}
	for i := range h.Files {
		f := &h.Files[i]
		if len(w.files) >= maxFiles || f.Link != "" {
			continue
		}
		s := &cachedFile{exists: true}
		if f.Type == format.TypeReg {
			s.size, s.blocks = f.Size, blocksOf(f)
			switch {
			case f.Sparse || c.Start == StartWarm:
			case c.Start == StartCold || f.Cached < 0:
				s.cold = true
			default:
				s.warm = f.Cached * page
				s.cold = s.warm < f.Size
			}
		}
		w.files[f.Path] = s
	}
	return w
}

// blocksOf returns how many bytes from the beginning of a file have blocks.
func blocksOf(f *format.File) int64 {
	switch {
	case f.Sparse:
		return 0
	case len(f.Blocks) == 0:
		return f.Size
	case f.Blocks[0].Allocation == format.Data:
		return f.Blocks[0].Bytes
	}
	return 0
}

// of returns the state of a file, nil if there is none.
func (w *walk) of(f *process.File) *cachedFile {
	if f == nil || f.ID == process.Others || f.Kind > process.KindFile {
		return nil
	}
	s, ok := f.Data.(*cachedFile)
	if !ok || s == nil {
		s = w.named(f.Name)
		f.Data = s
	}
	if w.used != nil {
		if s.element == nil {
			s.element = w.used.PushFront(s)
		}
		w.used.MoveToFront(s.element)
	}
	return s
}

// named returns the state of the file with a name.
func (w *walk) named(name string) *cachedFile {
	s := w.files[name]
	if s == nil {
		s = &cachedFile{}
		w.files[name] = s
	}
	return s
}

// event returns the demand of an event, and applies its effect.
func (w *walk) event(e *format.Event) (d Demand, err error) {
	f := w.Fact(e)
	if !e.Failed() && e.Ret != format.NoResult && f.Kind() <= process.KindFile {
		if e.Start-w.begun > commitInterval {
			w.begin(e.Start)
		}
		d, err = w.apply(f, w.of(f.File))
	}
	w.Apply(f)
	return d, err
}

// apply applies the effect of an event to a file with state s, nil for none.
func (w *walk) apply(f *process.Fact, s *cachedFile) (d Demand, err error) {
	e, did := f.Event, f.Did
	switch m := f.Moves(); {
	case did.Any(format.SyncsAll):
		d = Demand{Work: SyncWork}
		for s := range w.unsync {
			w.clean(s, &d)
		}
		d.Sequential = false // files come in any order
		w.commit(&d, true, e.Start)
	case s == nil:
	case m != nil && !did.Any(format.Messages):
		return w.moved(e, s, m.Description, m.From, min(m.To, m.From+maxMove), m == &f.Written)
	case did.Any(format.Faults):
		if m := f.Touches(); m == &f.Written {
			_, err = w.write(s, e.Start, m.From, min(m.To, m.From+maxMove))
		} else if m != nil {
			return w.read(s, m.From, min(m.To, m.From+maxMove), 0)
		}
	case did.Any(format.Syncs):
		d = w.sync(s, e)
	case did.Any(format.Opens):
		flags := e.OpenFlags()
		if flags&format.CREAT != 0 && !s.exists {
			w.changeNames(s, f.File.Name, e.Start)
		}
		if flags&format.TRUNC != 0 {
			w.truncate(s, 0, e.Start)
		}
		if !w.listed && !s.exists && flags&(format.CREAT|format.TRUNC) == 0 {
			s.cold, s.size, s.blocks = true, unknownSize, unknownSize
		}
		s.exists = true
	case did.Any(format.Cuts):
		w.truncate(s, e.Size(), e.Start)
	case did.Any(format.Allocates):
		w.changeLayout(s, e.Start)
		w.bitmap = true
		if e.Offset() >= 0 && e.Size() > 0 && e.Size() <= math.MaxInt64-e.Offset() {
			s.set = max(s.set, e.Offset()+e.Size())
		}
		if e.Args[1]&format.FallocKeepSize == 0 {
			s.size = max(s.size, s.set)
		}
	case did.Any(format.Advises):
		if e.Word(format.FadviseAdvice) == 4 { // POSIX_FADV_DONTNEED
			w.evict(s)
		}
	case did.Any(format.Renames):
		w.rename(f, s)
	case did.Any(format.Removes):
		w.drop(s)
		w.changeNames(s, f.File.Name, e.Start)
		f.File.Data = nil
		delete(w.files, f.File.Name)
	case did.Any(format.ChangesNames):
		w.changeNames(s, f.File.Name, e.Start)
		s.exists = true
	case did.Any(format.Amends):
		w.changeInode(s, e.Start)
	}
	return d, err
}

// rename moves a name together with the state of its file.
func (w *walk) rename(f *process.Fact, s *cachedFile) {
	if f.Did.Any(format.Exchanges) {
		return
	}
	to, start := string(w.Path(f.Thread, f.Event, 1)), f.Event.Start
	if old := w.files[to]; old != nil && old != s {
		w.drop(old)
	}
	f.File.Data = nil
	delete(w.files, f.File.Name)
	w.files[to] = s
	w.changeNames(s, f.File.Name, start)
	w.changeNames(s, to, start)
}

// moved returns the demand of a read or a write of a range of a file.
func (w *walk) moved(e *format.Event, s *cachedFile, of *process.Description, from, to int64, writes bool) (d Demand, err error) {
	direct := of.Flags&format.DIRECT != 0
	synced := of.Flags&(format.SYNC|format.DSYNC) != 0 || (e.Op == format.OpPwritev2 && e.Args[5]&(format.RwfSync|format.RwfDsync) != 0)
	switch {
	case direct:
		d = Demand{Work: ReadWork, Sequential: from == s.last, Requests: 1, Bytes: to - from}
		if s.last = to; !writes {
			return d, nil
		}
		d.Work = WriteWork
		grown, err := w.allocate(s, e.Start, from, to)
		if synced {
			d.Work = SyncWork
			w.commit(&d, grown, e.Start)
		}
		return d, err
	case !writes:
		ahead := int64(0)
		if w.listed && (from == 0 || from == s.last) {
			ahead = w.Readahead
		}
		return w.read(s, from, to, ahead)
	}
	d, err = w.write(s, e.Start, from, to)
	if synced {
		d = Demand{Work: SyncWork}
		w.clean(s, &d)
		w.commit(&d, s.layout == w.transaction, e.Start)
	}
	return d, err
}

// read returns the demand of a buffered read. If it misses and ahead is above 0, it
// reads ahead bytes at once.
func (w *walk) read(s *cachedFile, from, to, ahead int64) (d Demand, err error) {
	if !s.cold {
		s.last = to
		return d, nil
	}
	d.Sequential = from == s.last
	gap := true
	first, end := from/page, pagesTo(to)
	most := pagesTo(max(s.blocks, to))
	for p := first; p < end; p++ {
		c := s.chunks[p/chunkPages]
		bit := uint64(1) << (p % chunkPages)
		if p*page < s.warm || c.cached&bit != 0 {
			gap = true
			continue
		}
		if gap {
			d.Requests++
			gap = false
		}
		until := p + 1
		if ahead > 0 && p+ahead/page > end {
			until = min(max(end, first+ahead/page), most)
		}
		if err := w.mark(s, p, until, false); err != nil {
			return d, err
		}
		d.Bytes += (until - p) * page
		p = until - 1
	}
	if d.Requests > 0 {
		d.Work = ReadWork
	}
	s.last = to
	return d, nil
}

// write marks pages as dirty. It has a demand if there are too many dirty pages.
func (w *walk) write(s *cachedFile, now, from, to int64) (d Demand, err error) {
	if len(s.dirty) > 0 && now-s.dirtied > dirtyExpire {
		w.clean(s, &Demand{}) // the kernel has written them back
	}
	if t := now/tick + 1; t != s.changed {
		s.changed = t
		w.changeInode(s, now)
	}
	if _, err := w.allocate(s, now, from, to); err != nil {
		return d, err
	}
	if w.Dirty > 0 && w.dirty+to-from > w.Dirty {
		return Demand{Work: WriteWork, Requests: 1, Bytes: to - from}, nil
	}
	if len(s.dirty) == 0 {
		s.dirtied = now
		w.unsync[s] = true
	}
	return d, w.mark(s, from/page, pagesTo(to), true)
}

// allocate gives the bytes of a range blocks, and reports whether some had none, or the
// file is larger now. Reserved blocks are in the bitmap already.
func (w *walk) allocate(s *cachedFile, now, from, to int64) (grown bool, err error) {
	grown = to > s.size
	s.size = max(s.size, to)
	for p, end := max(from, s.blocks)/page, pagesTo(to); p < end; {
		at, mask, next := span(p, end)
		if c := s.chunks[at]; mask&^c.written != 0 {
			grown = true
			w.bitmap = w.bitmap || next*page > s.set
			c.written |= mask
			if err := w.put(s, at, c); err != nil {
				return grown, err
			}
		}
		p = next
	}
	if grown {
		w.changeLayout(s, now)
	}
	return grown, nil
}

// pagesTo returns how many pages the bytes up to an offset are in.
func pagesTo(offset int64) int64 { return (offset + page - 1) / page }

// span returns the chunk of a page, the bits of the pages from there up to an end that are
// in the chunk, and the page behind them.
func span(p, end int64) (at int64, mask uint64, next int64) {
	at = p / chunkPages
	next = min(end, (at+1)*chunkPages)
	return at, ^uint64(0) >> (chunkPages - (next - p)) << (p % chunkPages), next
}

// mark puts pages into the cache.
func (w *walk) mark(s *cachedFile, from, to int64, dirty bool) error {
	for p := from; p < to; {
		at, mask, next := span(p, to)
		c := s.chunks[at]
		added := int64(bits.OnesCount64(mask &^ c.cached))
		c.cached |= mask
		s.pages += added
		w.held += added
		if dirty {
			if c.dirty == 0 {
				s.dirty = append(s.dirty, at)
			}
			w.dirty += page * int64(bits.OnesCount64(mask&^c.dirty))
			c.dirty |= mask
		}
		if err := w.put(s, at, c); err != nil {
			return err
		}
		p = next
	}
	for w.used != nil && w.held*page > w.Capacity {
		last := w.used.Back()
		if last == nil || last == s.element {
			break
		}
		w.evict(last.Value.(*cachedFile))
		w.used.Remove(last)
		last.Value.(*cachedFile).element = nil
	}
	return nil
}

func (w *walk) put(s *cachedFile, at int64, c chunk) error {
	if s.chunks == nil {
		s.chunks = map[int64]chunk{}
	}
	before := len(s.chunks)
	s.chunks[at] = c
	if w.chunks += len(s.chunks) - before; w.chunks > maxChunks {
		return errChunks
	}
	return nil
}

// evict drops the pages of a file that are not dirty.
func (w *walk) evict(s *cachedFile) {
	s.cold, s.warm = true, 0
	for at, c := range s.chunks {
		n := int64(bits.OnesCount64(c.cached &^ c.dirty))
		s.pages -= n
		w.held -= n
		c.cached &= c.dirty
		s.chunks[at] = c
	}
}

// clean adds the dirty pages of a file to a demand, and marks them as clean.
func (w *walk) clean(s *cachedFile, d *Demand) {
	for _, at := range s.dirty {
		dirty := s.chunks[at].dirty
		begins := dirty &^ (dirty << 1)
		if at > 0 && s.chunks[at-1].dirty>>(chunkPages-1) == 1 {
			begins &^= 1
		}
		d.Requests += int32(bits.OnesCount64(begins))
		d.Bytes += page * int64(bits.OnesCount64(dirty))
		if d.Requests == 1 {
			begin := (at*chunkPages + int64(bits.TrailingZeros64(dirty))) * page
			d.Sequential = begin >= s.last-page && begin <= s.last // a log writes its last page again
		}
	}
	for _, at := range s.dirty {
		c := s.chunks[at]
		s.last = (at*chunkPages + int64(bits.Len64(c.dirty))) * page
		w.dirty -= page * int64(bits.OnesCount64(c.dirty))
		c.dirty = 0
		s.chunks[at] = c
	}
	s.dirty = s.dirty[:0]
	delete(w.unsync, s)
}

// sync returns the demand of a sync of a file.
func (w *walk) sync(s *cachedFile, e *format.Event) (d Demand) {
	if len(s.dirty) > 0 && e.Start-s.dirtied > dirtyExpire {
		w.clean(s, &Demand{})
	}
	switch e.Op {
	case format.OpSyncFileRange:
		const waitAfter = 4
		if w.clean(s, &d); d.Requests == 0 {
			return d
		}
		d.Work = SubmitWork
		if e.Args[3]&waitAfter != 0 {
			d.Work = WriteWork
		}
		return d
	case format.OpMsync:
		const async = 1
		if e.Args[2]&async != 0 {
			return d
		}
	}
	d.Work = SyncWork
	w.clean(s, &d)
	changed := s.inode
	if e.Op == format.OpFdatasync {
		changed = s.layout
	}
	w.commit(&d, changed == w.transaction, e.Start)
	return d
}

// truncate sets the length of a file.
func (w *walk) truncate(s *cachedFile, length, now int64) {
	if length <= 0 {
		w.drop(s)
		s.cold, s.blocks = false, 0
	}
	s.size = max(length, 0)
	s.blocks, s.set = min(s.blocks, s.size), min(s.set, s.size)
	w.changeLayout(s, now)
	w.bitmap = true
}

// drop drops the pages of a file without writing them.
func (w *walk) drop(s *cachedFile) {
	for _, at := range s.dirty {
		w.dirty -= page * int64(bits.OnesCount64(s.chunks[at].dirty))
	}
	w.chunks -= len(s.chunks)
	w.held -= s.pages
	s.chunks, s.dirty, s.pages = nil, s.dirty[:0], 0
	delete(w.unsync, s)
}
