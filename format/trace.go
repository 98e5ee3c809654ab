package format

// Record is an event of a compiled trace: of fixed size, without pointers,
// ready to be replayed. Its operation is canonical. A string argument is the
// number of the string in the trace's table, from 0, or -1 for a NULL pointer. A
// ListReader has the list of an argument of the kind Items.
// Addresses are offsets in the replay's own memory.
type Record struct {
	Op      Op
	Compute int64 // nanoseconds from the end of the thread's previous event
	Off     int64 // nanoseconds of Compute that the thread was off the processor
	Ret     int64 // as Event.Ret; of a clone the number of the new thread
	Args    [MaxArgs]int64
}

// Trace is a compiled trace, opened and verified. Its methods may be called
// concurrently; each reader belongs to one goroutine.
type Trace interface {
	// Header returns the metadata, the thread table, the descriptors that
	// are open at the start and the fileset. It must not be changed.
	Header() *Header

	// Strings returns the table of strings. It must not be changed.
	Strings() []string

	// Len returns how many events a thread has. Threads count from 1.
	Len(thread int32) int64

	// Records returns a reader of a thread's records.
	Records(thread int32) RecordReader

	// Durations returns a reader of the recorded durations of a thread's
	// events, in nanoseconds or Unknown.
	Durations(thread int32) DurationReader

	// Ways returns a reader of how requests of a ring are made, where that is not
	// the zero How.
	Ways(thread int32) WayReader

	// Lists returns a reader of the lists of a thread's events.
	Lists(thread int32) ListReader

	// Waits returns what a thread's events wait for, in the order of events.
	Waits(thread int32) ([]Wait, error)
}

// FreshBuffer marks the buf argument of a read or write whose buffer was memory
// that the application had not touched before, so that the call also took page
// faults. The lower bits are the offset of the buffer in the replay's memory.
const FreshBuffer = 1 << 62

// The buf argument of a getdents64 is 0, or says how a replay compares the listing
// of a directory whose names the trace has made or removed: temporary names have
// other lengths and another order, so single calls return other numbers of bytes.
const (
	Listing      = 1 << 62   // only the listing as a whole is compared
	ListingStart = 1 << 61   // this call is its first
	ListingLeast = 1<<32 - 1 // of the call that ends it: how many names it has at least, besides "." and ".."
)

// Same reports whether a replay's result of the event means the same as the
// recorded one, as SameResult does, except within a listing: any call may already
// have reached its end.
func (r *Record) Same(got int64) bool {
	if r.Op == OpGetdents64 && r.Args[1]&Listing != 0 && r.Ret > 0 && got == 0 {
		return true
	}
	return SameResult(r.Op, r.Ret, got)
}

// FillStrings gives an event, whose arguments are those of the record, the strings of a table, in
// the memory that the event has. The arguments for them become 0.
func (r *Record) FillStrings(e *Event, table []string) {
	k := 0
	for i, a := range r.Op.Info().Args {
		if !a.Kind.IsString() {
			continue
		}
		e.Args[i] = 0
		e.Str[k] = e.Str[k][:0]
		if n := r.Args[i]; n >= 0 && n < int64(len(table)) {
			e.Str[k] = append(append(e.Str[k], table[n]...), 0)
			e.Str[k] = e.Str[k][:len(e.Str[k])-1] // never nil: that is a NULL pointer
		} else {
			e.Str[k] = nil
		}
		k++
	}
	for ; k < MaxStrings; k++ {
		e.Str[k] = nil
	}
}

// RecordReader reads records in batches. At the end it returns 0 and io.EOF.
type RecordReader interface {
	Read(records []Record) (int, error)
}

// DurationReader reads durations in batches. At the end it returns 0 and
// io.EOF.
type DurationReader interface {
	Read(nanos []int64) (int, error)
}

// WayReader reads in batches, in the order of events. At the end it returns 0 and
// io.EOF.
type WayReader interface {
	Read(ways []Way) (int, error)
}

// ListReader reads the lists of a thread's events in their order. Some can be left out.
type ListReader interface {
	// Read returns the list of an event, counted from 0, whose record is r, nil if it has
	// none. It is valid until the next call.
	Read(event int64, r *Record) (*List, error)
}

// Way is how the request is made that is an event of a ring, counted from 0.
type Way struct {
	Event int64
	How
}

// Wait is what a thread's event, counted from 0, comes after. The event's first
// one has its Event.Held and Event.Expired. Where an event has these and no edge, the
// edge is one to the start of the recording without a delay.
type Wait struct {
	Event   int64
	For     Edge
	Held    int64
	Expired int64
}

// Timer reports whether Expired is a timer.
func (w *Wait) Timer() bool {
	return w.Expired > 0 && w.For.Kind == EdgeTimer && w.For.Thread == 0
}

// In a compiled trace, addresses in the arguments and results of memory calls
// are offsets in the replay's memory, like those of buffers, and 0 if compile
// did not lay them out. The argument of brk is the break before the call; the
// requested break is the result, unless the call failed.

// MappedFile marks an address of a compiled trace that is a place among the
// mapped files of its process, whose layout is separate. In such a place the
// address of an mmap's mapping is its result, and that of a fault its page.
// Processes that a process forks keep its layout until they exec.
const MappedFile = 1 << 60

// MapsFile reports whether the call maps a file, if it succeeds.
func (e *Event) MapsFile() bool {
	return e.Acts().Any(MapsFiles)
}

// OwnPages reports whether a mapping can hold pages that only its process has,
// by the prot and flags arguments of mmap: it is writable, with reserved
// memory, and no shared mapping of a file. Pages that are only read belong to
// the page cache, and a mapping without reserve is mostly unused address space.
func OwnPages(prot, flags int64) bool {
	return prot&ProtWrite != 0 && flags&MapNoreserve == 0 && (flags&MapShared == 0 || flags&MapAnonymous != 0)
}
