package format

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
	EffectPipeline          // made by compile: the thread waits for another at a pipe, or another one waits for it

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
	EffectUnmap      // gives memory back, or advises about it
	EffectProtect    // sets the protection of memory
	EffectFault      // touches a page of a mapping of a file
	EffectBrk        // moves the end of the heap
	EffectSyncMapped // makes a mapping durable

	EffectSubmit // submits requests, waits for them, or prepares that
	EffectQueue  // made by compile: the same for a ring of the thread table

	NumEffects
)

// ChangesTables reports whether calls of the effect change threads, processes,
// descriptors or working directories.
func (e Effect) ChangesTables() bool { return e >= EffectOpen && e <= EffectPipeline }

// ChangesNames reports whether calls of the effect create, remove or move names. It is
// false for an open, which can create one (Event.Creates).
func (e Effect) ChangesNames() bool { return e >= EffectMkdir && e <= EffectRmdir }

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
