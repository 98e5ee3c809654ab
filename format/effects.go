package format

import "slices"

// Errors that tables of effects name.
const (
	eperm      = 1
	eagain     = 11
	ebusy      = 16
	einval     = 22
	enfile     = 23
	emfile     = 24
	efbig      = 27
	eopnotsupp = 95
)

// Effect is what a successful call does to the tables of a process, to names or
// to files, or what it returns about them.
type Effect uint8

// The effects. A failed call changes no names or files.
const (
	EffectNone       Effect = iota
	EffectOpen              // the result is a new descriptor of the path
	EffectClose             // closes the descriptor, even if it fails
	EffectCloseRange        // closes the descriptors from the first argument to the second
	EffectDup               // the result is a copy of the descriptor
	EffectFcntl             // as EffectDup for F_DUPFD, and sets the flags of a descriptor
	EffectPipe              // makes two descriptors, in the first argument
	EffectEventfd           // the result is a new descriptor of an eventfd or a ring
	EffectFork              // the result is a new thread or process, by the flags if it has any
	EffectExec              // closes descriptors that are close-on-exec
	EffectExit              // ends the thread
	EffectExitGroup         // ends the process
	EffectChdir             // sets the working directory
	EffectWait              // a process has ended (Event.Child)
	EffectChroot            // sets the root directory
	EffectUmask             // sets the permissions that new files do not get
	EffectUnshare           // copies what the thread shares, by the flags
	EffectBlock             // the thread was blocked
	EffectPipeline          // made by compile: the thread waits for another or for a client at a pipe or a socket, or these wait for it

	EffectRead     // moves bytes from a file to memory, and the offset unless it is an argument
	EffectWrite    // moves bytes from memory to a file, the same
	EffectCopy     // moves bytes between two descriptors, the same
	EffectSend     // moves bytes from memory to a socket
	EffectReceive  // moves bytes from a socket to memory
	EffectRange    // lets two files share bytes, or gets or sets flags, by the request (ioctl)
	EffectSeek     // the result is the new offset
	EffectTruncate // sets the length to the size
	EffectAllocate // allocates blocks, by the flags beyond the length
	EffectAdvise   // changes what is cached
	EffectLock     // takes or releases a lock of a file
	EffectSync     // makes a file durable
	EffectSyncAll  // makes a file system durable

	EffectStat     // returns the attributes of a file
	EffectList     // returns the entries of a directory
	EffectReadlink // returns the target of a link
	EffectChmod    // sets the mode or the owner
	EffectGetAttr  // returns an extended attribute
	EffectSetAttr  // sets or removes an extended attribute

	EffectMkdir   // makes the path a directory
	EffectMknod   // makes the path a file of the type in the mode
	EffectBind    // makes the path a socket; EADDRINUSE if it exists
	EffectSymlink // makes the path a symbolic link
	EffectLink    // makes the second path a name of the file of the first
	EffectRename  // moves a name from the first path to the second; the flags can ask for an exchange
	EffectUnlink  // removes the name
	EffectRmdir   // removes the name of a directory

	EffectMap        // the result is the address of a mapping, of a file or anonymous
	EffectRemap      // moves a mapping
	EffectUnmap      // gives memory back
	EffectProtect    // sets the protection of memory
	EffectFault      // touches a page of a mapping of a file
	EffectBrk        // moves the end of the heap
	EffectSyncMapped // makes a mapping durable

	EffectSubmit // submits requests, waits for them, or prepares that
	EffectQueue  // made by compile: the same for a ring of the thread table

	EffectAdviseMap // advises about mapped memory

	NumEffects
)

// Acts is a set of what calls do. An effect is such a set, so that code that asks for one
// of them meets a new effect, too. Columns of an operation's row add to it: what its paths
// are for (Role), its class, and what is registered.
type Acts uint64

// The acts. A call that fails does none, except for those that happen anyway.
const (
	Opens      Acts = 1 << iota // the result is a new descriptor of a file
	Channels                    // makes descriptors of a pipe, an eventfd or a ring
	Duplicates                  // the result is a copy of a descriptor
	Closes                      // closes descriptors
	Marks                       // sets flags of descriptors, or of what they lead to
	Starts                      // makes a thread or a process
	Execs                       // runs another program
	Ends                        // ends the thread
	EndsAll                     // and all others of its process
	Enters                      // sets the working directory
	Roots                       // sets the root directory
	Masks                       // sets the permissions that new files do not get
	Unshares                    // copies what the thread shares
	Awaits                      // waits for the end of a process
	Blocks                      // the thread was blocked

	ReadsBytes  // moves bytes out of a file, a channel or a mapping
	WritesBytes // moves bytes into one
	Buffers     // they go to memory or come from it
	Messages    // they go through a socket
	Shares      // lets two files share bytes
	Seeks       // the result is the new offset
	Cuts        // sets the length
	Allocates   // allocates blocks
	Advises     // changes what is cached
	Locks       // takes or releases a lock
	Syncs       // makes durable
	SyncsAll    // all files of a file system

	Stats      // returns the attributes of a file
	Lists      // returns the entries of a directory
	Follows    // returns the target of a link
	Permits    // sets the mode or the owner
	Attributes // sets, removes or returns an extended attribute
	Amends     // changes what the inode says, as the mode

	Creates     // makes a name of a new file
	Symlinks    // that is a symbolic link
	Links       // makes a second name of a file
	Renames     // moves a name
	Exchanges   // swaps two names
	Removes     // removes a name
	Directories // the file is a directory

	Maps      // the result is the address of a mapping
	MapsFiles // of a file
	Remaps    // moves a mapping
	Unmaps    // removes what is mapped
	Protects  // sets the protection of memory
	InMemory  // is about the memory at its first argument
	Faults    // touches pages of a mapping
	Breaks    // moves the end of the heap

	Submits   // submits requests, waits for them, or prepares that
	Registers // registers files or buffers of a ring

	anyway  // also if the call fails
	options // the arguments choose among the acts
)

// Sets of acts.
const (
	// ChangesTables are acts on threads, processes, descriptors and working directories.
	ChangesTables = Opens | Channels | Duplicates | Closes | Marks | Starts | Execs | Ends | EndsAll | Enters | Roots | Masks | Unshares | Awaits | Blocks

	// ChangesNames are those that create, remove or move names. An open can create one as well,
	// by its flags.
	ChangesNames = Creates | Links | Renames | Removes

	// Tangles are those after which a name can be that of a file that had another one.
	Tangles = Symlinks | Links | Renames
)

// effects are the acts of each effect.
var effects = [NumEffects]Acts{
	EffectOpen:       Opens,
	EffectClose:      Closes | anyway,
	EffectCloseRange: Closes | Marks | options,
	EffectDup:        Duplicates,
	EffectFcntl:      Duplicates | Marks | Locks | options,
	EffectPipe:       Channels,
	EffectEventfd:    Channels,
	EffectFork:       Starts,
	EffectExec:       Execs,
	EffectExit:       Ends | anyway,
	EffectExitGroup:  Ends | EndsAll | anyway,
	EffectChdir:      Enters,
	EffectWait:       Awaits,
	EffectChroot:     Roots,
	EffectUmask:      Masks,
	EffectUnshare:    Unshares,
	EffectBlock:      Blocks,
	EffectPipeline:   Blocks,

	EffectRead:     ReadsBytes | Buffers,
	EffectWrite:    WritesBytes | Buffers,
	EffectCopy:     ReadsBytes | WritesBytes,
	EffectSend:     WritesBytes | Messages,
	EffectReceive:  ReadsBytes | Messages,
	EffectRange:    Shares,
	EffectSeek:     Seeks,
	EffectTruncate: Cuts,
	EffectAllocate: Allocates,
	EffectAdvise:   Advises,
	EffectLock:     Locks,
	EffectSync:     Syncs,
	EffectSyncAll:  Syncs | SyncsAll,

	EffectStat:     Stats,
	EffectList:     Lists,
	EffectReadlink: Follows,
	EffectChmod:    Amends | Permits,
	EffectGetAttr:  Attributes,
	EffectSetAttr:  Amends | Attributes,

	EffectMkdir:   Creates | Directories,
	EffectMknod:   Creates,
	EffectBind:    Creates,
	EffectSymlink: Creates | Symlinks,
	EffectLink:    Links,
	EffectRename:  Renames | Exchanges | options,
	EffectUnlink:  Removes,
	EffectRmdir:   Removes | Directories,

	EffectMap:        Maps | MapsFiles | options,
	EffectRemap:      Remaps | InMemory,
	EffectUnmap:      Unmaps | InMemory,
	EffectAdviseMap:  Advises | InMemory,
	EffectProtect:    Protects | InMemory,
	EffectFault:      Faults | InMemory,
	EffectBrk:        Breaks,
	EffectSyncMapped: Syncs | InMemory,

	EffectSubmit: Submits,
	EffectQueue:  Submits,
}

// unsure are the errors of each effect that can be about what a trace does not hold: some of the
// arguments, what the file system supports, the state of a socket, or a mount point. In a replay the
// call could succeed, and change later results.
var unsure = [NumEffects][]int64{
	EffectNone:     {einval, eopnotsupp},
	EffectOpen:     {einval, eopnotsupp, eagain}, // of a lease
	EffectDup:      {einval, eopnotsupp},
	EffectFcntl:    {eopnotsupp},
	EffectRead:     {eopnotsupp},        // also of flags of preadv2
	EffectWrite:    {eopnotsupp, eperm}, // of a file that only grows, or never changes (chattr), or of a seal
	EffectAllocate: {einval, eopnotsupp, eperm},
	EffectAdvise:   {einval, eopnotsupp},
	EffectSync:     {einval, eopnotsupp},
	EffectStat:     {einval, eopnotsupp},
	EffectChmod:    {einval, eopnotsupp},
	EffectGetAttr:  {einval, eopnotsupp},
	EffectSetAttr:  {einval, eopnotsupp},
	EffectMkdir:    {einval, eopnotsupp},
	EffectMknod:    {einval, eopnotsupp},
	EffectBind:     {einval, ebadf, enotsock},
	EffectSymlink:  {einval, eopnotsupp},
	EffectLink:     {einval, eopnotsupp},
	EffectRename:   {ebusy},
	EffectUnlink:   {einval, eopnotsupp, ebusy},
	EffectRmdir:    {einval, ebusy},
}

// Unsure reports whether a result of a call is an error that can be about what a trace does not
// hold.
func (i *Info) Unsure(ret int64) bool {
	switch -ret {
	case emfile, enfile, efbig:
		return true
	}
	return ret < 0 && slices.Contains(unsure[i.Effect], -ret)
}

// actsOf returns the acts of a row.
func actsOf(i *Info) Acts {
	acts := effects[i.Effect]
	switch {
	case acts&Faults != 0 && i.Class == ClassWrite:
		acts |= WritesBytes
	case acts&Faults != 0:
		acts |= ReadsBytes
	case i.Reads == ReadRegistered:
		acts |= Registers
	}
	return acts
}

// Any reports whether a set has one of some acts.
func (a Acts) Any(of Acts) bool { return a&of != 0 }

// All reports whether a set has all of some acts.
func (a Acts) All(of Acts) bool { return a&of == of }

// Acts returns what a call does if it succeeds, as its arguments say.
func (e *Event) Acts() Acts {
	acts := table[e.Op].Acts
	if acts&options != 0 {
		return acts &^ e.unchosen(acts)
	}
	return acts
}

// unchosen returns the acts that the arguments do not choose.
func (e *Event) unchosen(acts Acts) (no Acts) {
	switch {
	case acts.All(Duplicates | Locks): // fcntl
		switch e.Args[1] {
		case FDupfd, FDupfdCloexec:
			no = Marks | Locks
		case FSetfd, FSetfl:
			no = Duplicates | Locks
		case FGetlk, FSetlk, FSetlkw, FOfdGetlk, FOfdSetlk, FOfdSetlkw:
			no = Duplicates | Marks
		default:
			no = Duplicates | Marks | Locks
		}
	case acts.Any(Closes): // close_range
		if no = Marks; e.Args[2]&CloseRangeCloexec != 0 {
			no = Closes
		}
	case acts.Any(Exchanges):
		if e.Word(RenameFlags)&RenameExchange == 0 {
			no = Exchanges
		}
	case acts.Any(MapsFiles):
		if e.Word(MmapFlags)&MapAnonymous != 0 || e.FD() < 0 {
			no = MapsFiles
		}
	}
	return no
}

// Did returns what a call did, by its result.
func (e *Event) Did() Acts {
	acts := e.Acts()
	switch {
	case e.Ret > 0:
	case e.Ret == NoResult || e.Failed():
		if acts&anyway == 0 || acts&Ends == 0 && e.Ret == -ebadf {
			return 0
		}
	case e.Ret == 0:
		acts &^= Starts
	}
	return acts
}

// Reads is the data of a call that a recorder reads in addition to registers and
// strings.
type Reads uint8

// The data that recorders read.
const (
	ReadNothing    Reads = iota
	ReadOpened           // what the resulting descriptor leads to, and whether the call made it
	ReadOpenHow          // the same, and struct open_how
	ReadIovec            // the sum of the lengths of an iovec
	ReadStat             // the struct stat that the kernel filled
	ReadStatx            // the struct statx that the kernel filled
	ReadTarget           // the target of a link that the kernel returned
	ReadLock             // the struct flock of fcntl's locks, before the call
	ReadPipe             // the two descriptors that the kernel returned
	ReadFork             // the id of the new thread
	ReadCloneArgs        // the same, and struct clone_args
	ReadWaited           // the id of the process that has ended
	ReadChild            // the same, from the siginfo that the kernel filled
	ReadRange            // the descriptor and the range of an ioctl; only requests in IoctlRequest are recorded
	ReadOffsets          // the offsets that synthetic arguments point to, before the call
	ReadAddress          // the path of a socket's address; other addresses are not recorded
	ReadExec             // the name of the program, which replaces the registers
	ReadRing             // struct io_uring_params, and the number of the ring
	ReadRegistered       // the number of the ring, and a list of registered files or buffers
	ReadContext          // the context of libaio that the kernel returned, and its number
	ReadBatch            // the numbers of the ring or context, and of the batch
	ReadAttrArgs         // struct xattr_args
	ReadAccessList       // the mode that an access list gives its file (AccessList)
	ReadExit             // nothing after the call, which does not return
	NumReads
)
