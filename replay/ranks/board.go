package ranks

import (
	"errors"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/internal/eventcount"
)

// Board is memory that the threads of a replay share with the process that carries
// messages to other players. A thread never waits for that process, and makes no system
// call unless the other side sleeps.
//
// A player posts the end of an event in a slot of Out, in the order of the thread. The
// carrier writes the end of another player's event into a slot of In, and then advances
// the Source of its thread.
type Board struct {
	Sleeper *Sleeper
	Sources []Source // threads of other players that this one waits for
	Out, In []Post

	memory []byte
}

// Sleeper is a futex on which the carrier sleeps while there is nothing to carry.
type Sleeper struct {
	_      [64]byte
	posts  eventcount.Count
	asleep atomic.Uint32
	_      [56]byte
}

// Post is the end of an event, in nanoseconds since the start of the replay.
type Post struct {
	Due  atomic.Int64 // when it would have ended if no event had been late
	when atomic.Int64 // one more than when it was posted; 0 before that
}

// Source is the progress of a thread that another player plays.
type Source struct {
	Done    atomic.Int64     // number of events that have ended, as far as threads here wait for them
	Awaited atomic.Int64     // the earliest event that a thread sleeps for, or Unawaited
	Ends    eventcount.Count // advances when Done has passed Awaited
	_       [64 - 20]byte
}

// Unawaited is Source.Awaited while no thread sleeps.
const Unawaited = math.MaxInt64

// Sizes are the sizes of a board.
type Sizes struct{ Sources, Out, In int }

// The bounds of a board from another process, and of the boards of a session.
const (
	maxPosts  = 1 << 32
	maxBoards = 1 << 50
)

func (s Sizes) bytes() int {
	return int(unsafe.Sizeof(Sleeper{})) + s.Sources*int(unsafe.Sizeof(Source{})) + (s.Out+s.In)*int(unsafe.Sizeof(Post{}))
}

// NewMemory makes the file of a board, which has no name.
func NewMemory() (int, error) { return unix.MemfdCreate("pianola-ranks", unix.MFD_CLOEXEC) }

// OpenBoard maps the board that begins at a page of a file, which grows by its size. Close
// unmaps it.
func OpenBoard(fd int, at int64, s Sizes) (*Board, error) {
	if s.Sources < 0 || s.Out < 0 || s.In < 0 || s.Sources > maxPosts || s.Out > maxPosts || s.In > maxPosts || at < 0 || at > maxBoards {
		return nil, errors.New("a board of such a size is not possible")
	}
	if err := unix.Ftruncate(fd, at+int64(s.bytes())); err != nil {
		return nil, err
	}
	m, err := unix.Mmap(fd, at, s.bytes(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	b := &Board{memory: m, Sleeper: (*Sleeper)(unsafe.Pointer(&m[0]))}
	rest := unsafe.Add(unsafe.Pointer(&m[0]), unsafe.Sizeof(Sleeper{}))
	b.Sources = unsafe.Slice((*Source)(rest), s.Sources)
	rest = unsafe.Add(rest, uintptr(s.Sources)*unsafe.Sizeof(Source{}))
	b.Out = unsafe.Slice((*Post)(rest), s.Out)
	b.In = unsafe.Slice((*Post)(unsafe.Add(rest, uintptr(s.Out)*unsafe.Sizeof(Post{}))), s.In)
	return b, nil
}

// after returns where the next board can begin, in bytes.
func (s Sizes) after(at int64) int64 {
	page := int64(os.Getpagesize())
	return (at + int64(s.bytes()) + page - 1) / page * page
}

// Close unmaps the board.
func (b *Board) Close() error {
	m := b.memory
	*b = Board{}
	return unix.Munmap(m)
}

// Post announces the end of an event in a slot of Out: when it was due and when it was,
// in nanoseconds since the start.
func (b *Board) Post(slot int32, due, at int64) {
	p := &b.Out[slot]
	p.Due.Store(due)
	p.when.Store(max(at, 0) + 1)
	b.Sleeper.posts.Add()
	if b.Sleeper.asleep.Load() != 0 {
		b.Sleeper.posts.Advance()
	}
}

// When returns when a slot was posted; ok is false before that.
func (p *Post) When() (at int64, ok bool) {
	n := p.when.Load()
	return n - 1, n > 0
}

// Value returns a number for Wait.
func (d *Sleeper) Value() uint32 { return d.posts.Value() }

// Wait sleeps until something is posted, unless that has happened since Value returned seq.
func (d *Sleeper) Wait(seq uint32) {
	d.asleep.Store(1)
	d.posts.Wait(seq, 0)
	d.asleep.Store(0)
}

// Wake ends a Wait.
func (d *Sleeper) Wake() { d.posts.Advance() }

// Arrive announces the end of an event of a source, whose slot has been filled.
func (s *Source) Arrive(event int64) {
	s.Done.Store(event + 1)
	if event >= s.Awaited.Load() {
		s.Awaited.Store(Unawaited)
		s.Ends.Advance()
	}
}

// Expect makes the source advance Ends once an event has ended.
func (s *Source) Expect(event int64) {
	for a := s.Awaited.Load(); a > event && !s.Awaited.CompareAndSwap(a, event); a = s.Awaited.Load() {
	}
}

// Fill fills a slot of In.
func (p *Post) Fill(due, at int64) {
	p.Due.Store(due)
	p.when.Store(at + 1)
}
