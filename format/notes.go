package format

import "math"

// Notes are what a recorder knew about an event besides the call itself. They
// are borrowed as an event's strings are.
type Notes struct {
	Has Noted // which of the fields below, in the order of the constants, are known

	// About the file that a call opened or queried, at the return of the call.
	// Type can also be that of a descriptor of something else than a file.
	Type   FileType
	Mode   uint32 // permissions
	Size   int64  // bytes
	Cached int64  // pages in the page cache
	Dirty  int64  // of these, pages that are not on storage yet
	Dev    Device
	Ino    uint64
	Links  int64  // names of the file
	Target []byte // what the symbolic link holds
	Blocks []byte // how the file was allocated Late after the call, as AppendBlocks appends it
	Late   int64  // nanoseconds

	Allocated int64 // bytes of a sparse file that have blocks, or had them soon

	Signal int32 // that ended the process
	Waker  int32 // id of the thread that ended the last wait within the call
	Woken  int64 // nanoseconds from that to the end of the call

	// The bytes that a call on a socket moved. Channel identifies one direction of
	// a connection, with the kind; Pos is where they end in all that passes
	// through it. Positions wrap: only differences of near ones mean something.
	// Event.Sends says whether the call sent or received.
	ChannelKind ChannelKind
	Pos         uint32
	Channel     uint64

	Request Request // of a request, or of a call that submits requests or awaits them

	Path []byte // of the file of a fault, if no recorded call mapped it

	Was int32 // id of the thread before its exec made it the only one of its process (execve(2))

	Recorded int64 // result in the recording, of an event of a replay whose result is not equivalent

	Strings [MaxStrings]StringState // of the event's

	Text []byte // unknown notes, as in the script
}

// Noted is a set of notes.
type Noted uint64

// The notes, in the order of NoteFields, which is that in which scripts have them.
const (
	NotedType Noted = 1 << iota
	NotedMode
	NotedSize
	NotedCached
	NotedDirty
	NotedDev
	NotedIno
	NotedLinks
	NotedSparse
	NotedAllocated
	NotedBlocks
	NotedLate
	NotedNew
	NotedTarget
	NotedUnreadable
	NotedSignal
	NotedKilled
	NotedWas
	NotedRecorded
	NotedWaker   // and Woken
	NotedMessage // Channel, ChannelKind and Pos
	NotedConnected
	NotedRing
	NotedBatch
	NotedReaped
	NotedSubmitted
	NotedFlags
	NotedBuf
	NotedSlot
	NotedRW
	NotedPath
	NotedFilled
	NotedCow
	NotedPlaced // Order and Chain: Submissions has put it where it belongs, which a script does not show
)

// NoteFields are the rows of the notes.
var NoteFields = [...]Field{
	{Key: "type", Noted: NotedType, At: "any", Doc: "type of the file; that of a regular file is left out at reads and writes",
		Parts: []Part{{Form: AsType, Unit: "`reg`, `dir`, `lnk`, `fifo`, `sock`, `chr`, `blk`, `pseudo`", Min: 1, Max: int64(TypePseudo), Of: func(e *Event) any { return &e.Notes.Type }}}},
	{Key: "mode", Noted: NotedMode, At: "open, stat", Doc: "permissions, at the return of the call",
		Parts: []Part{{Form: InOctal, Unit: "octal", Max: 0o7777, Of: func(e *Event) any { return &e.Notes.Mode }}}},
	{Key: "size", Noted: NotedSize, At: "open, stat", Doc: "size of the file, at the return of the call",
		Parts: number("bytes", func(e *Event) any { return &e.Notes.Size })},
	{Key: "cached", Noted: NotedCached, At: "open", Doc: "pages of the file in the page cache",
		Parts: number("pages", func(e *Event) any { return &e.Notes.Cached })},
	{Key: "dirty", Noted: NotedDirty, At: "open before the start", Doc: "of these, pages that are not on storage yet",
		Parts: number("pages", func(e *Event) any { return &e.Notes.Dirty })},
	{Key: "dev", Noted: NotedDev, At: "open", Doc: "device of the file, and the number of the copy of the application that a transform made", Parts: []Part{
		{Unit: "major", Max: math.MaxInt32, Of: func(e *Event) any { return &e.Notes.Dev.Major }},
		{Before: ':', Unit: "minor", Max: math.MaxInt32, Of: func(e *Event) any { return &e.Notes.Dev.Minor }},
		{Before: ':', Unit: "copy", Maybe: true, Min: 1, Max: math.MaxInt32, Of: func(e *Event) any { return &e.Notes.Dev.Copy }},
	}},
	{Key: "ino", Noted: NotedIno, At: "open", Doc: "inode of the file",
		Parts: []Part{{Form: InUnsigned, Unit: "number", Of: func(e *Event) any { return &e.Notes.Ino }}}},
	{Key: "nlink", Noted: NotedLinks, At: "open", Doc: "how many names the file has",
		Parts: number("count", func(e *Event) any { return &e.Notes.Links })},
	{Key: "sparse", Noted: NotedSparse, At: "open", Doc: "the file has fewer blocks than its size needs"},
	{Key: "allocated", Noted: NotedAllocated, At: "open", Doc: "bytes of a sparse file that have blocks or dirty pages",
		Parts: number("bytes", func(e *Event) any { return &e.Notes.Allocated })},
	{Key: "blocks", Noted: NotedBlocks, At: "open for writing", Doc: "[how an existing file is allocated](../internals/record.md#allocation)",
		Parts: []Part{{Form: InStretches, Unit: "`data:8192,hole:4096`", Of: func(e *Event) any { return &e.Notes.Blocks }}}},
	{Key: "late", Noted: NotedLate, At: "open for writing", Doc: "time from the call to the look at `blocks=`",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Notes.Late })},
	{Key: "new", Noted: NotedNew, At: "open", Doc: "the call created the file"},
	{Key: "target", Noted: NotedTarget, At: "readlink", Doc: "target of the link",
		Parts: []Part{{Form: InQuotes, Unit: "text in quotes", Of: func(e *Event) any { return &e.Notes.Target }}}},
	{Key: "args", Word: "unreadable", Noted: NotedUnreadable, At: "any", Doc: "the recorder could not read the memory that the arguments point to"},
	{Key: "signal", Noted: NotedSignal, At: "exit", Doc: "the signal that ended it",
		Parts: []Part{{Form: AsSignal, Unit: "name", Min: 1, Max: math.MaxInt32, Of: func(e *Event) any { return &e.Notes.Signal }}}},
	{Key: "killed", Noted: NotedKilled, At: "exit", Doc: "another thread ended it"},
	{Key: "was", Noted: NotedWas, At: "execve", Doc: "id of the thread before the `execve`, which made it the only one of its process",
		Parts: bounded("thread", 1, math.MaxInt32, func(e *Event) any { return &e.Notes.Was })},
	{Key: "recorded", Noted: NotedRecorded, Columns: []string{"recorded"}, At: "any, in logs", Doc: "the recorded result, if it differs",
		Parts: []Part{{Form: AsResult, Unit: "result", Min: -MaxNote, Of: func(e *Event) any { return &e.Notes.Recorded }}}},
	{Key: "by", Noted: NotedWaker, Columns: []string{"waker", "woken"}, At: "any", Doc: "the thread that ended the wait in the call; `by=7+2000`: 2000 ns before the call ended", Parts: []Part{
		{Unit: "thread", Min: 1, Max: math.MaxInt32, Of: func(e *Event) any { return &e.Notes.Waker }},
		{Before: '+', Unit: "nanoseconds", Maybe: true, Min: 1, Of: func(e *Event) any { return &e.Notes.Woken }},
	}},
	{Key: "got", Sender: "sent", Noted: NotedMessage, At: "sockets", Doc: "[the connection and the position](#messages) after the bytes of this call", Parts: []Part{
		{Form: AsChannel, Unit: "`tcp` or `unix`", Max: int64(numChannelKinds - 1), Of: func(e *Event) any { return &e.Notes.ChannelKind }},
		{Before: ':', Form: InHex, Unit: "hexadecimal", Of: func(e *Event) any { return &e.Notes.Channel }},
		{Before: '+', Unit: "position", Max: math.MaxUint32, Of: func(e *Event) any { return &e.Notes.Pos }},
	}},
	{Key: "connected", Noted: NotedConnected, At: "sockets", Doc: "this end did not come from `accept`: the other one is not a client of it"},
	{Key: "ring", Noted: NotedRing, Section: OfRequests, At: "requests, their calls", Doc: "number of the ring, which the line of `io_uring_setup` or `io_setup` has too",
		Parts: bounded("number", 1, math.MaxInt32, func(e *Event) any { return &e.Notes.Request.Ring })},
	{Key: "batch", Noted: NotedBatch, Columns: []string{"batch"}, Section: OfRequests, At: "requests, their calls", Doc: "the `io_uring_enter` or `io_submit` that submitted it",
		Parts: number("number", func(e *Event) any { return &e.Notes.Request.Batch })},
	{Key: "reaped", Noted: NotedReaped, Columns: []string{"reaped"}, Section: OfRequests, At: "requests", Doc: "completions that the application had taken by then",
		Parts: bounded("count", 0, math.MaxUint32, func(e *Event) any { return &e.Notes.Request.Reaped })},
	{Key: "submitted", Noted: NotedSubmitted, Section: OfRequests, At: "requests", Doc: "time from the start of the batch to the submission",
		Parts: []Part{{Form: InSeconds, Unit: "seconds", Of: func(e *Event) any { return &e.Notes.Request.Submitted }}}},
	{Key: "flags", Noted: NotedFlags, Section: OfRequests, At: "requests", Doc: "`fixed`: the descriptor is a registered file; `drain`, `link`, `hardlink`, `async`, `select`, `skip`",
		Parts: []Part{{Form: InFlags, Flags: RequestFlags, Unit: "words", Min: 1, Of: func(e *Event) any { return &e.Notes.Request.Flags }}}},
	{Key: "buf", Noted: NotedBuf, Section: OfRequests, At: "requests", Doc: "registered buffer; with `select`, the group of buffers",
		Parts: bounded("index", 0, math.MaxUint16, func(e *Event) any { return &e.Notes.Request.Buf })},
	{Key: "slot", Noted: NotedSlot, Section: OfRequests, At: "requests", Doc: "registered file that it opens or closes",
		Parts: bounded("index", 0, math.MaxUint32, func(e *Event) any { return &e.Notes.Request.Slot })},
	{Key: "rwf", Noted: NotedRW, Section: OfRequests, At: "requests", Doc: "flags of the read or write, as those of `preadv2`",
		Parts: []Part{{Form: InFlags, Flags: ReadWriteFlags, Unit: "words", Min: 1, Of: func(e *Event) any { return &e.Notes.Request.RW }}}},
	{Key: "path", Noted: NotedPath, Only: FaultKind, Section: OfFaults, At: "faults", Doc: "the file, where no recorded call mapped it; the address is NULL if the process ended before the recorder read its mappings",
		Parts: []Part{{Form: InQuotes, Unit: "text in quotes", Of: func(e *Event) any { return &e.Notes.Path }}}},
	{Key: "filled", Noted: NotedFilled, Only: FaultKind, Section: OfFaults, At: "faults", Doc: "the page was not in the page cache"},
	{Key: "cow", Noted: NotedCow, Only: FaultKind, Section: OfFaults, At: "faults", Doc: "a private mapping got a page of its own"},
	{Noted: NotedPlaced, Parts: []Part{
		{Of: func(e *Event) any { return &e.Notes.Request.Order }}, {Of: func(e *Event) any { return &e.Notes.Request.Chain }},
	}},
}

// Device is the device of a file.
type Device struct {
	Major, Minor uint32
	Copy         int32 // counts copies of the application that a transform made, each with files of its own
}

// Inode identifies a file whatever its name. The zero Inode is unknown.
type Inode struct {
	Dev Device
	Ino uint64
}

// Inode returns the noted inode.
func (n *Notes) Inode() Inode {
	if !n.Known(NotedDev | NotedIno) {
		return Inode{}
	}
	return Inode{n.Dev, n.Ino}
}

// StringState is how much of a string a recorder could read.
type StringState uint8

const (
	StringWhole StringState = iota
	StringCut               // its beginning only
	StringUnreadable
)

// ChannelKind is the kind of a connection between sockets.
type ChannelKind uint8

// The kinds. Only these have positions.
const (
	ChannelTCP  ChannelKind = iota
	ChannelUNIX             // positions of SOCK_SEQPACKET are in messages, not in bytes
	numChannelKinds
)

var channelKinds = [numChannelKinds]string{"tcp", "unix"}

func (k ChannelKind) String() string { return channelKinds[k] }

// ParseChannelKind returns the kind of that name.
func ParseChannelKind(name []byte) (k ChannelKind, ok bool) {
	for k := range numChannelKinds {
		if channelKinds[k] == string(name) {
			return k, true
		}
	}
	return 0, false
}

// MaxNote bounds the numbers of notes, so that a sum of two never overflows.
const MaxNote = 1 << 61

// Known reports whether all of the notes in a set are known. It returns false
// for nil Notes.
func (n *Notes) Known(which Noted) bool { return n != nil && n.Has&which == which }

// FileType returns the noted type of a file or descriptor, or the one that the
// operation implies: only sockets can send and receive. It is TypeUnknown if
// there is neither.
func (e *Event) FileType() FileType {
	if e.Notes != nil && e.Notes.Type != TypeUnknown {
		return e.Notes.Type
	}
	switch table[e.Op].Effect {
	case EffectSend, EffectReceive:
		if e.Ret != -ebadf && e.Ret != -enotsock {
			return TypeSock
		}
	}
	return TypeUnknown
}

// The errors of a call on a number that is not a descriptor, or not a descriptor of a
// socket.
const (
	ebadf    = 9
	enotsock = 88
)

// Sends reports whether bytes that the call moved through a channel went into
// it. Else they came from it.
func (e *Event) Sends() bool {
	info := &table[e.Op]
	return info.Class == ClassWrite || info.Effect == EffectCopy
}

// Message returns the descriptor through which a call moved a message, and when that was, in
// nanoseconds: a receiver that waited in the call got it at the end.
func (e *Event) Message() (fd, at int64) {
	switch fd = e.OutFD(); {
	case !e.Sends() && e.Dur >= Waited:
		return e.FD(), e.End()
	case !e.Sends() || fd < 0:
		fd = e.FD()
	}
	return fd, e.Start
}

// Channel is one direction of a connection between sockets.
type Channel struct {
	Kind ChannelKind
	ID   uint64
}

// Moved returns the channel of the message that a call with NotedMessage moved.
func (n *Notes) Moved() Channel { return Channel{n.ChannelKind, n.Channel} }

// Renamed returns the id that a thread had before an exec made it the only one
// of its process, with the process's id (execve(2)). It is 0 for any other
// event.
func (e *Event) Renamed() int32 {
	if e.Notes == nil || e.Op.Info().Effect != EffectExec {
		return 0
	}
	return e.Notes.Was
}

// Texts returns the fields that are borrowed.
func (n *Notes) Texts() [4]*[]byte { return [...]*[]byte{&n.Target, &n.Blocks, &n.Path, &n.Text} }
