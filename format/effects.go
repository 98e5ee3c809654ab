package format

// Effect says what a successful call does to the tables of a process, to names,
// or to files, or what it tells of them.
type Effect uint8

// The effects. Of those by which names or files are changed, a failed call has
// none.
const (
	EffectNone       Effect = iota
	EffectOpen              // the result is a new descriptor of the path
	EffectClose             // closes the descriptor, even where it fails
	EffectCloseRange        // closes the descriptors from the first argument to the second
	EffectDup               // the result is a copy of the descriptor
	EffectFcntl             // as EffectDup for F_DUPFD, and sets the flags of a descriptor
	EffectPipe              // makes two descriptors, in the first argument
	EffectFork              // the result is a new thread or process, by the flags if it has any
	EffectExec              // closes what is close-on-exec
	EffectExit              // ends the thread
	EffectExitGroup         // ends the process
	EffectChdir             // sets the working directory
	EffectWait              // a process has ended (Event.Child)
	EffectChroot            // sets the root directory
	EffectUnshare           // copies what the thread shares, by the flags
	EffectPipeline          // compile made the event: a thread waits here for another at a pipe, or is waited for

	EffectRead     // moves bytes from a file to memory, and the offset where none is given
	EffectWrite    // moves bytes from memory to a file, the same
	EffectCopy     // moves bytes between two descriptors, the same
	EffectRange    // lets two files share bytes, or tells or sets flags, by the request (ioctl)
	EffectSeek     // the result is the new offset
	EffectTruncate // sets the length to the size
	EffectAllocate // makes room, by the flags beyond the length
	EffectAdvise   // changes what is cached
	EffectSync     // makes a file durable
	EffectSyncAll  // makes a file system durable

	EffectStat     // tells what a file is
	EffectList     // tells what a directory holds
	EffectReadlink // tells what a link holds
	EffectChmod    // sets the mode or the owner
	EffectGetAttr  // tells an extended attribute
	EffectSetAttr  // sets or removes an extended attribute

	EffectMkdir   // makes the path a directory
	EffectMknod   // makes the path what the mode says
	EffectBind    // makes the path a socket; EADDRINUSE where it is there
	EffectSymlink // makes the path a symbolic link
	EffectLink    // makes the second path a name of what the first leads to
	EffectRename  // moves a name from the first path to the second, by the flags the other way as well
	EffectUnlink  // removes the name
	EffectRmdir   // removes the name of a directory

	EffectMap        // the result is an address where a file, or nothing, is mapped
	EffectRemap      // moves what is mapped
	EffectUnmap      // gives memory back, or says what it is for
	EffectBrk        // moves the end of the heap
	EffectSyncMapped // makes what is mapped durable

	NumEffects
)

// ChangesTables reports whether calls of the effect change what threads,
// processes, descriptors or working directories there are.
func (e Effect) ChangesTables() bool { return e >= EffectOpen && e <= EffectPipeline }

// ChangesNames reports whether calls of the effect make, remove or move names.
// An open, which can make one, is not among them (Event.Creates).
func (e Effect) ChangesNames() bool { return e >= EffectMkdir && e <= EffectRmdir }

// Reads says what a recorder reads of a call besides registers and strings.
type Reads uint8

// What recorders read.
const (
	ReadNothing   Reads = iota
	ReadOpened          // what the resulting descriptor leads to, and whether the call made it
	ReadOpenHow         // the same, and struct open_how
	ReadIovec           // the sum of the lengths of an iovec
	ReadStat            // the struct stat that the kernel filled
	ReadStatx           // the same of statx
	ReadTarget          // the text of a link that the kernel gave
	ReadLock            // the struct flock of fcntl's locks, before the call
	ReadPipe            // the two descriptors that the kernel gave
	ReadFork            // the id of the new thread
	ReadCloneArgs       // the same, and struct clone_args
	ReadWaited          // the id of the process that has ended
	ReadChild           // the same, from the siginfo that the kernel filled
	ReadRange           // the descriptor and the range of an ioctl; others than IoctlRequest are not recorded
	ReadOffsets         // the offsets that synthetic arguments point to, before the call
	ReadAddress         // the path of a socket's address; others than paths are not recorded
	ReadExec            // the name of the program, which replaces the registers
	ReadExit            // nothing after the call, which does not return
	NumReads
)
