package format

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

	Strings [MaxStrings]StringState // of the event's

	Text []byte // unknown notes, as in the script
}

// Noted is a set of notes.
type Noted uint32

// The notes. NotedSparse to NotedKilled, NotedFilled and NotedCow are facts without a value.
const (
	NotedType Noted = 1 << iota
	NotedMode
	NotedSize
	NotedCached
	NotedDev
	NotedIno
	NotedLinks
	NotedTarget
	NotedSignal
	NotedWas
	NotedWaker      // and Woken
	NotedSparse     // the file has fewer blocks than its size needs
	NotedNew        // the call created the file
	NotedUnreadable // the recorder could not read what the arguments point to
	NotedKilled     // a signal ended the process, without an exit event
	NotedMessage    // Channel, ChannelKind and Pos
	NotedBlocks
	NotedLate
	NotedAllocated

	// Of Request.
	NotedRing
	NotedBatch
	NotedReaped
	NotedSubmitted
	NotedFlags
	NotedBuf
	NotedRW
	NotedSlot
	NotedPlaced // Order and Chain: Submissions has put it where it belongs, which a script does not show

	// Of faults.
	NotedPath
	NotedFilled // the page was not in the page cache
	NotedCow    // the process got a page of its own
)

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

// Renamed returns the id that a thread had before an exec made it the only one
// of its process, with the process's id (execve(2)). It is 0 for any other
// event.
func (e *Event) Renamed() int32 {
	if e.Notes == nil || e.Op.Info().Effect != EffectExec {
		return 0
	}
	return e.Notes.Was
}

// clone returns a copy that shares no memory with n.
func (n *Notes) clone() *Notes {
	if n == nil {
		return nil
	}
	c := *n
	for _, text := range c.Texts() {
		if *text != nil {
			*text = append([]byte{}, *text...)
		}
	}
	return &c
}

// Texts returns the fields that are borrowed.
func (n *Notes) Texts() [4]*[]byte { return [...]*[]byte{&n.Target, &n.Blocks, &n.Path, &n.Text} }
