package format

// Op is an operation: the number of its row in the table. The numbers are part
// of the compiled trace, so rows may only be appended.
type Op uint16

// The operations, in the order of the table. OpNone is not an operation.
const (
	OpNone Op = iota
	OpOpen
	OpOpenm
	OpOpenat
	OpOpenat2
	OpCreat
	OpClose
	OpCloseRange
	OpRead
	OpWrite
	OpPread64
	OpPwrite64
	OpReadv
	OpWritev
	OpPreadv
	OpPwritev
	OpPreadv2
	OpPwritev2
	OpLseek
	OpFsync
	OpFdatasync
	OpFtruncate
	OpTruncate
	OpFallocate
	OpStat
	OpLstat
	OpFstat
	OpNewfstatat
	OpStatx
	OpFstatx
	OpAccess
	OpFaccessat
	OpFaccessat2
	OpGetdents64
	OpMkdir
	OpMkdirat
	OpRmdir
	OpUnlink
	OpUnlinkat
	OpRename
	OpRenameat
	OpRenameat2
	OpLink
	OpLinkat
	OpSymlink
	OpSymlinkat
	OpReadlink
	OpReadlinkat
	OpChdir
	OpFchdir
	OpDup
	OpDup2
	OpDup3
	OpFcntl
	OpPipe
	OpPipe2
	OpClone
	OpClone3
	OpFork
	OpVfork
	OpExecve
	OpExecveat
	OpExit
	OpExitGroup
	OpWait4
	OpGetdents
	OpSync
	OpSyncfs
	OpSyncFileRange
	OpMsync
	OpFadvise64
	OpReadahead
	OpCopyFileRange
	OpSendfile
	OpSplice
	OpFlock
	OpSetxattr
	OpLsetxattr
	OpFsetxattr
	OpGetxattr
	OpLgetxattr
	OpFgetxattr
	OpListxattr
	OpLlistxattr
	OpFlistxattr
	OpRemovexattr
	OpLremovexattr
	OpFremovexattr
	OpChmod
	OpFchmod
	OpFchmodat
	OpFchmodat2
	OpChown
	OpFchown
	OpLchown
	OpFchownat
	OpUtimens
	OpFutimens
	OpUtimensat
	OpFutimesat
	OpUtimes
	OpUtime
	OpMknod
	OpMknodat
	OpStatfs
	OpFstatfs
	OpMemfdCreate
	OpNameToHandleAt
	OpOpenByHandleAt
	OpIoctl
	OpWaitid
	OpUnshare
	OpSetns
	OpChroot
	OpBrk
	OpMmap
	OpMunmap
	OpMremap
	OpMadvise
	OpPipeRead
	OpPipeWrite
	OpBind
	OpWait
	OpSendto
	OpRecvfrom
	OpSendmsg
	OpRecvmsg
	OpSendmmsg
	OpRecvmmsg
	OpEventfd
	OpEventfd2
	OpUringSetup
	OpUringEnter
	OpUringRegister
	OpIOSetup
	OpIOSubmit
	OpIOGetevents
	OpIOPgetevents
	OpIOCancel
	OpIODestroy
	OpRingOpen
	OpRingFiles
	OpRingBuffers
	OpRingSubmit
	OpUmask
	OpReopen
	OpFaccess
	OpTee
	OpVmsplice
	OpSetxattrat
	OpGetxattrat
	OpListxattrat
	OpRemovexattrat
	OpFileGetattr
	OpFileSetattr
	OpMprotect
	OpMapRead
	OpMapWrite
	OpClientRequest
	OpClientReply
	numOps
)

// NumOps is one more than the highest operation: the length of an array that
// is indexed by Op.
const NumOps = int(numOps)

// Class is the purpose of an operation. Profiles have totals by class.
type Class uint8

// The classes. A profile calls open, close and metadata together "metadata".
const (
	ClassOpen Class = iota
	ClassClose
	ClassRead
	ClassWrite
	ClassSync
	ClassMetadata
	ClassMemory
	ClassProcess
	ClassSubmit // makes rings, submits requests and waits for them
	NumClasses
)

var classNames = [NumClasses]string{"open", "close", "read", "write", "sync", "metadata", "memory", "process", "submit"}

func (c Class) String() string { return classNames[c] }

// Kind is the type of an argument.
type Kind uint8

// The kinds of arguments. The comment says how a script prints them.
const (
	FD      Kind = iota // a descriptor, decimal
	DirFD               // the directory where the next path starts, decimal or AT_FDCWD
	FDPair              // two descriptors, the first in the lower 32 bits: [3, 4]
	Path                // a name, quoted; NULL for none
	Text                // a string other than a path, quoted
	Items               // numbers, in Event.List; quoted: "8,-1,9"
	Flags               // a word of the argument's FlagSet: O_RDWR|O_CREAT
	Mode                // permissions, octal
	OptMode             // permissions, left out if flags have neither O_CREAT nor O_TMPFILE
	Size                // bytes, decimal
	Offset              // bytes, decimal, can be negative
	Addr                // address in the application, hexadecimal; NULL
	Count               // a number of things, decimal
	Int                 // any other number, decimal
)

// IsString reports whether an argument of this kind is in Event.Str.
func (k Kind) IsString() bool { return k == Path || k == Text }

// HasState reports whether a recorder reads an argument of this kind from memory, so that
// Notes.Strings has its state.
func (k Kind) HasState() bool { return k.IsString() || k == Items }

// Arg describes one argument of an operation.
type Arg struct {
	Name  string
	Kind  Kind
	Role  Role     // of paths and descriptors
	Flags *FlagSet // for the kind Flags

	// On has the flag sets of an argument that is a flag word only if the
	// argument before it has a certain value (such as F_SETFL of fcntl).
	On map[int64]*FlagSet

	Opt bool // left out of scripts if it and all arguments after it are 0
}

// Result is the meaning of a successful call's result, and so how a replay's
// result is compared with it.
type Result uint8

const (
	ResultZero   Result = iota // 0: equal
	ResultBytes                // bytes transferred, or an offset: equal
	ResultFD                   // a descriptor: any will do
	ResultThread               // a thread or process: not compared
	ResultSome                 // equal if both are zero or both are not (getdents64)
	ResultAny                  // equal if both succeed (readlink with other names)
	ResultNone                 // the call does not return
	ResultMode                 // permissions: not compared, and octal in scripts
)

// Info is a row of the table of operations.
type Info struct {
	Name   string
	Class  Class
	Args   []Arg
	Result Result
	Kind   EventKind
	Effect Effect
	Reads  Reads // what a recorder reads of a call, besides registers and strings

	// Implied are the flags that an operation has without an argument (creat,
	// fork).
	Implied int64

	// Canon returns the operation that replaces e in a compiled trace, which
	// has no directory arguments of *at calls. Arguments keep their names. A
	// nil Canon means the operation itself.
	Canon func(e *Event) Op

	// Dropped marks operations that compile resolves completely (a changed
	// working directory). They are never in a compiled trace.
	Dropped bool

	// Sys are the numbers of the system call, -1 if the architecture has
	// none or the operation is not one system call.
	Sys [numArch]int

	// Synthetic marks, by bit, arguments that are not in the register of their
	// position. The recorder reads them from memory.
	Synthetic uint8

	// Strace is strace's form of an operation that is not a system call of its own, or
	// has its arguments in a struct, with %0 for the first argument; "" if it follows
	// from the row.
	Strace string

	// Acts is what the operation does. It follows from the effect and other columns.
	Acts Acts

	// At holds the positions of arguments by purpose. It follows from Args.
	At Layout
}

const none = -1

func to(op Op) func(*Event) Op { return func(*Event) Op { return op } }

func canonOpen(flagsArg int) func(*Event) Op {
	return func(e *Event) Op {
		if e.Args[flagsArg]&(CREAT|TMPFILE) != 0 {
			return OpOpenm
		}
		return OpOpen
	}
}

var (
	argFD     = Arg{Name: "fd", Kind: FD}
	argFile   = Arg{Name: "fd", Kind: FD, Role: RoleFile}
	argNewFD  = Arg{Name: "newfd", Kind: Count}
	argDir    = Arg{Name: "dirfd", Kind: DirFD}
	argPath   = Arg{Name: "path", Kind: Path}
	argName   = Arg{Name: "path", Kind: Path, Role: RoleName}
	argOpened = Arg{Name: "path", Kind: Path, Role: RoleOpen}
	argMade   = Arg{Name: "path", Kind: Path, Role: RoleCreate}
	argGone   = Arg{Name: "path", Kind: Path, Role: RoleRemove}
	argOpen   = Arg{Name: "flags", Kind: Flags, Flags: OpenFlags}
	argMode   = Arg{Name: "mode", Kind: Mode}
	argOptMd  = Arg{Name: "mode", Kind: OptMode}
	argBuf    = Arg{Name: "buf", Kind: Addr}
	argSize   = Arg{Name: "size", Kind: Size}
	argOff    = Arg{Name: "offset", Kind: Offset}
	argIov    = Arg{Name: "iov", Kind: Addr}
	argCount  = Arg{Name: "count", Kind: Count}
	argRWF    = Arg{Name: "flags", Kind: Flags, Flags: ReadWriteFlags}
	argAt     = Arg{Name: "flags", Kind: Flags, Flags: AtFlags}
	argAtAttr = Arg{Name: "at", Kind: Flags, Flags: AtFlags}
	argAcc    = Arg{Name: "mode", Kind: Flags, Flags: AccessMode}
	argMask   = Arg{Name: "mask", Kind: Flags, Flags: StatxMask}
	argOldD   = Arg{Name: "olddirfd", Kind: DirFD}
	argOld    = Arg{Name: "old", Kind: Path, Role: RoleName}
	argFrom   = Arg{Name: "old", Kind: Path, Role: RoleRemove}
	argNewD   = Arg{Name: "newdirfd", Kind: DirFD}
	argNew    = Arg{Name: "new", Kind: Path, Role: RoleCreate}
	argRen    = Arg{Name: "flags", Kind: Flags, Flags: RenameFlags}
	argClone  = Arg{Name: "flags", Kind: Flags, Flags: CloneFlags}
	argInOff  = Arg{Name: "inoffset", Kind: Offset}
	argOutFD  = Arg{Name: "outfd", Kind: FD}
	argOutOff = Arg{Name: "outoffset", Kind: Offset}
	argXattr  = Arg{Name: "name", Kind: Text}
	argValue  = Arg{Name: "value", Kind: Addr}
	argXFlags = Arg{Name: "flags", Kind: Flags, Flags: XattrFlags}
	argGives  = Arg{Name: "mode", Kind: Mode, Opt: true} // with GivesMode, 0 if the value is no access list
	argUID    = Arg{Name: "uid", Kind: Int}
	argGID    = Arg{Name: "gid", Kind: Int}
	argTimes  = Arg{Name: "times", Kind: Addr}
	argDup    = Arg{Name: "flags", Kind: Flags, Flags: PipeFlags}
	argMsg    = Arg{Name: "msg", Kind: Addr}
	argMsgs   = Arg{Name: "messages", Kind: Count}
	argMsgF   = Arg{Name: "flags", Kind: Flags, Flags: MessageFlags}
	argRing   = Arg{Name: "ring", Kind: FD}      // an index, with IORING_ENTER_REGISTERED_RING
	argCtx    = Arg{Name: "context", Kind: Addr} // of libaio
	argLeast  = Arg{Name: "least", Kind: Count}
	argList   = Arg{Name: "list", Kind: Items}
	argQueue  = Arg{Name: "queue", Kind: Count} // a thread that is a ring
	argMost   = Arg{Name: "most", Kind: Count}
	argEvents = Arg{Name: "events", Kind: Addr}
	argLimit  = Arg{Name: "timeout", Kind: Addr}
	argClient = Arg{Name: "client", Kind: Count} // number of the connection, in the order of their first requests
	argPipe   = Arg{Name: "pipe", Kind: Count}   // its number, in the order in which the pipes were created
)

// table has one row per operation. System call numbers: arch/x86/entry/
// syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux.
var table = laidOut([numOps]Info{
	OpOpen:       {Name: "open", Class: ClassOpen, Args: []Arg{argOpened, argOpen, argOptMd}, Result: ResultFD, Effect: EffectOpen, Canon: canonOpen(1), Reads: ReadOpened, Sys: [numArch]int{2, none}},
	OpOpenm:      {Name: "openm", Class: ClassOpen, Args: []Arg{argOpened, argOpen, argMode}, Result: ResultFD, Effect: EffectOpen, Strace: "open(%0, %1, %2)", Sys: [numArch]int{none, none}},
	OpOpenat:     {Name: "openat", Class: ClassOpen, Args: []Arg{argDir, argOpened, argOpen, argOptMd}, Result: ResultFD, Effect: EffectOpen, Canon: canonOpen(2), Reads: ReadOpened, Sys: [numArch]int{257, 56}},
	OpOpenat2:    {Name: "openat2", Class: ClassOpen, Args: []Arg{argDir, argOpened, argOpen, argMode, {Name: "resolve", Kind: Flags, Flags: ResolveFlags}}, Result: ResultFD, Effect: EffectOpen, Canon: canonOpen(2), Reads: ReadOpenHow, Sys: [numArch]int{437, 437}, Synthetic: 1<<2 | 1<<3 | 1<<4},
	OpCreat:      {Name: "creat", Class: ClassOpen, Args: []Arg{argOpened, argMode}, Result: ResultFD, Effect: EffectOpen, Canon: to(OpOpenm), Reads: ReadOpened, Implied: WRONLY | CREAT | TRUNC, Sys: [numArch]int{85, none}},
	OpClose:      {Name: "close", Class: ClassClose, Args: []Arg{argFD}, Effect: EffectClose, Sys: [numArch]int{3, 57}},
	OpCloseRange: {Name: "close_range", Class: ClassClose, Args: []Arg{{Name: "first", Kind: Count}, {Name: "last", Kind: Count}, {Name: "flags", Kind: Flags, Flags: CloseRangeFlags}}, Effect: EffectCloseRange, Sys: [numArch]int{436, 436}},

	OpRead:     {Name: "read", Class: ClassRead, Args: []Arg{argFD, argBuf, argSize}, Result: ResultBytes, Effect: EffectRead, Sys: [numArch]int{0, 63}},
	OpWrite:    {Name: "write", Class: ClassWrite, Args: []Arg{argFD, argBuf, argSize}, Result: ResultBytes, Effect: EffectWrite, Sys: [numArch]int{1, 64}},
	OpPread64:  {Name: "pread64", Class: ClassRead, Args: []Arg{argFile, argBuf, argSize, argOff}, Result: ResultBytes, Effect: EffectRead, Sys: [numArch]int{17, 67}},
	OpPwrite64: {Name: "pwrite64", Class: ClassWrite, Args: []Arg{argFile, argBuf, argSize, argOff}, Result: ResultBytes, Effect: EffectWrite, Sys: [numArch]int{18, 68}},
	OpReadv:    {Name: "readv", Class: ClassRead, Args: []Arg{argFD, argIov, argCount, argSize}, Result: ResultBytes, Effect: EffectRead, Reads: ReadIovec, Sys: [numArch]int{19, 65}, Synthetic: 1 << 3},
	OpWritev:   {Name: "writev", Class: ClassWrite, Args: []Arg{argFD, argIov, argCount, argSize}, Result: ResultBytes, Effect: EffectWrite, Reads: ReadIovec, Sys: [numArch]int{20, 66}, Synthetic: 1 << 3},
	OpPreadv:   {Name: "preadv", Class: ClassRead, Args: []Arg{argFile, argIov, argCount, argOff, argSize}, Result: ResultBytes, Effect: EffectRead, Reads: ReadIovec, Sys: [numArch]int{295, 69}, Synthetic: 1 << 4},
	OpPwritev:  {Name: "pwritev", Class: ClassWrite, Args: []Arg{argFile, argIov, argCount, argOff, argSize}, Result: ResultBytes, Effect: EffectWrite, Reads: ReadIovec, Sys: [numArch]int{296, 70}, Synthetic: 1 << 4},
	OpPreadv2:  {Name: "preadv2", Class: ClassRead, Args: []Arg{argFile, argIov, argCount, argOff, argSize, argRWF}, Result: ResultBytes, Effect: EffectRead, Reads: ReadIovec, Sys: [numArch]int{327, 286}, Synthetic: 1 << 4},
	OpPwritev2: {Name: "pwritev2", Class: ClassWrite, Args: []Arg{argFile, argIov, argCount, argOff, argSize, argRWF}, Result: ResultBytes, Effect: EffectWrite, Reads: ReadIovec, Sys: [numArch]int{328, 287}, Synthetic: 1 << 4},

	OpLseek:     {Name: "lseek", Class: ClassMetadata, Args: []Arg{argFD, argOff, {Name: "whence", Kind: Flags, Flags: Whence}}, Result: ResultBytes, Effect: EffectSeek, Sys: [numArch]int{8, 62}},
	OpFsync:     {Name: "fsync", Class: ClassSync, Args: []Arg{argFile}, Effect: EffectSync, Sys: [numArch]int{74, 82}},
	OpFdatasync: {Name: "fdatasync", Class: ClassSync, Args: []Arg{argFile}, Effect: EffectSync, Sys: [numArch]int{75, 83}},
	OpFtruncate: {Name: "ftruncate", Class: ClassMetadata, Args: []Arg{argFile, argSize}, Effect: EffectTruncate, Sys: [numArch]int{77, 46}},
	OpTruncate:  {Name: "truncate", Class: ClassMetadata, Args: []Arg{argPath, argSize}, Effect: EffectTruncate, Sys: [numArch]int{76, 45}},
	OpFallocate: {Name: "fallocate", Class: ClassMetadata, Args: []Arg{argFile, {Name: "mode", Kind: Flags, Flags: FallocateMode}, argOff, argSize}, Effect: EffectAllocate, Sys: [numArch]int{285, 47}},

	OpStat:       {Name: "stat", Class: ClassMetadata, Args: []Arg{argPath, argBuf}, Effect: EffectStat, Reads: ReadStat, Sys: [numArch]int{4, none}},
	OpLstat:      {Name: "lstat", Class: ClassMetadata, Args: []Arg{argName, argBuf}, Effect: EffectStat, Reads: ReadStat, Sys: [numArch]int{6, none}},
	OpFstat:      {Name: "fstat", Class: ClassMetadata, Args: []Arg{argFD, argBuf}, Effect: EffectStat, Reads: ReadStat, Sys: [numArch]int{5, 80}},
	OpNewfstatat: {Name: "newfstatat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argBuf, argAt}, Canon: canonAttr(3, OpFstat, OpLstat, OpStat), Effect: EffectStat, Reads: ReadStat, Sys: [numArch]int{262, 79}},
	OpStatx:      {Name: "statx", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAt, argMask, argBuf}, Canon: canonAttr(2, OpFstatx, OpStatx, OpStatx), Effect: EffectStat, Reads: ReadStatx, Sys: [numArch]int{332, 291}},
	OpFstatx:     {Name: "fstatx", Class: ClassMetadata, Args: []Arg{argFD, argAt, argMask, argBuf}, Effect: EffectStat, Strace: `statx(%0, "", %1, %2, %3)`, Sys: [numArch]int{none, none}},
	OpAccess:     {Name: "access", Class: ClassMetadata, Args: []Arg{argPath, argAcc}, Sys: [numArch]int{21, none}},
	OpFaccessat:  {Name: "faccessat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAcc}, Canon: to(OpAccess), Sys: [numArch]int{269, 48}},
	OpFaccessat2: {Name: "faccessat2", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAcc, {Name: "flags", Kind: Flags, Flags: AccessAtFlags}}, Canon: canonAccess, Sys: [numArch]int{439, 439}},
	OpGetdents64: {Name: "getdents64", Class: ClassMetadata, Args: []Arg{argFD, argBuf, argSize}, Result: ResultSome, Effect: EffectList, Sys: [numArch]int{217, 61}},

	OpMkdir:      {Name: "mkdir", Class: ClassMetadata, Args: []Arg{argMade, argMode}, Effect: EffectMkdir, Sys: [numArch]int{83, none}},
	OpMkdirat:    {Name: "mkdirat", Class: ClassMetadata, Args: []Arg{argDir, argMade, argMode}, Canon: to(OpMkdir), Effect: EffectMkdir, Sys: [numArch]int{258, 34}},
	OpRmdir:      {Name: "rmdir", Class: ClassMetadata, Args: []Arg{argGone}, Effect: EffectRmdir, Sys: [numArch]int{84, none}},
	OpUnlink:     {Name: "unlink", Class: ClassMetadata, Args: []Arg{argGone}, Effect: EffectUnlink, Sys: [numArch]int{87, none}},
	OpUnlinkat:   {Name: "unlinkat", Class: ClassMetadata, Args: []Arg{argDir, argGone, argAt}, Canon: canonUnlink, Effect: EffectUnlink, Sys: [numArch]int{263, 35}},
	OpRename:     {Name: "rename", Class: ClassMetadata, Args: []Arg{argFrom, argNew}, Effect: EffectRename, Sys: [numArch]int{82, none}},
	OpRenameat:   {Name: "renameat", Class: ClassMetadata, Args: []Arg{argOldD, argFrom, argNewD, argNew}, Canon: to(OpRename), Effect: EffectRename, Sys: [numArch]int{264, 38}},
	OpRenameat2:  {Name: "renameat2", Class: ClassMetadata, Args: []Arg{argOldD, argFrom, argNewD, argNew, argRen}, Canon: canonRename, Effect: EffectRename, Sys: [numArch]int{316, 276}},
	OpLink:       {Name: "link", Class: ClassMetadata, Args: []Arg{argOld, argNew}, Effect: EffectLink, Sys: [numArch]int{86, none}},
	OpLinkat:     {Name: "linkat", Class: ClassMetadata, Args: []Arg{argOldD, argOld, argNewD, argNew, argAt}, Canon: canonLink, Effect: EffectLink, Sys: [numArch]int{265, 37}},
	OpSymlink:    {Name: "symlink", Class: ClassMetadata, Args: []Arg{{Name: "target", Kind: Text}, argMade}, Effect: EffectSymlink, Sys: [numArch]int{88, none}},
	OpSymlinkat:  {Name: "symlinkat", Class: ClassMetadata, Args: []Arg{{Name: "target", Kind: Text}, argDir, argMade}, Canon: to(OpSymlink), Effect: EffectSymlink, Sys: [numArch]int{266, 36}},
	OpReadlink:   {Name: "readlink", Class: ClassMetadata, Args: []Arg{argName, argBuf, argSize}, Result: ResultAny, Effect: EffectReadlink, Reads: ReadTarget, Sys: [numArch]int{89, none}},
	OpReadlinkat: {Name: "readlinkat", Class: ClassMetadata, Args: []Arg{argDir, argName, argBuf, argSize}, Result: ResultAny, Canon: to(OpReadlink), Effect: EffectReadlink, Reads: ReadTarget, Sys: [numArch]int{267, 78}},
	OpChdir:      {Name: "chdir", Class: ClassMetadata, Args: []Arg{argPath}, Effect: EffectChdir, Dropped: true, Sys: [numArch]int{80, 49}},
	OpFchdir:     {Name: "fchdir", Class: ClassMetadata, Args: []Arg{argFD}, Effect: EffectChdir, Dropped: true, Sys: [numArch]int{81, 50}},

	OpDup:  {Name: "dup", Class: ClassMetadata, Args: []Arg{argFD}, Result: ResultFD, Effect: EffectDup, Sys: [numArch]int{32, 23}},
	OpDup2: {Name: "dup2", Class: ClassMetadata, Args: []Arg{argFD, argNewFD}, Result: ResultFD, Effect: EffectDup, Sys: [numArch]int{33, none}},
	OpDup3: {Name: "dup3", Class: ClassMetadata, Args: []Arg{argFD, argNewFD, argDup}, Result: ResultFD, Effect: EffectDup, Sys: [numArch]int{292, 24}},
	OpFcntl: {Name: "fcntl", Class: ClassMetadata, Args: []Arg{argFD, {Name: "cmd", Kind: Flags, Flags: FcntlCmd}, {Name: "arg", Kind: Int, On: fcntlArgs},
		{Name: "lock", Kind: Flags, Flags: LockType, Opt: true}, {Name: "start", Kind: Offset, Opt: true}, {Name: "len", Kind: Size, Opt: true}}, Result: ResultAny, Effect: EffectFcntl, Reads: ReadLock, Sys: [numArch]int{72, 25}, Synthetic: 1<<3 | 1<<4 | 1<<5},
	OpPipe:  {Name: "pipe", Class: ClassMetadata, Args: []Arg{{Name: "fds", Kind: FDPair}}, Effect: EffectPipe, Dropped: true, Reads: ReadPipe, Sys: [numArch]int{22, none}, Synthetic: 1 << 0},
	OpPipe2: {Name: "pipe2", Class: ClassMetadata, Args: []Arg{{Name: "fds", Kind: FDPair}, argDup}, Effect: EffectPipe, Dropped: true, Reads: ReadPipe, Sys: [numArch]int{293, 59}, Synthetic: 1 << 0},

	OpClone:     {Name: "clone", Class: ClassProcess, Args: []Arg{argClone}, Result: ResultThread, Effect: EffectFork, Reads: ReadFork, Strace: "clone(child_stack=NULL, flags=%0)", Sys: [numArch]int{56, 220}},
	OpClone3:    {Name: "clone3", Class: ClassProcess, Args: []Arg{argClone, argSize}, Result: ResultThread, Effect: EffectFork, Canon: to(OpClone), Reads: ReadCloneArgs, Sys: [numArch]int{435, 435}, Synthetic: 1 << 0},
	OpFork:      {Name: "fork", Class: ClassProcess, Result: ResultThread, Effect: EffectFork, Canon: to(OpClone), Reads: ReadFork, Implied: CloneSigchld, Sys: [numArch]int{57, none}},
	OpVfork:     {Name: "vfork", Class: ClassProcess, Result: ResultThread, Effect: EffectFork, Canon: to(OpClone), Reads: ReadFork, Implied: CloneVfork | CloneSigchld, Sys: [numArch]int{58, none}},
	OpExecve:    {Name: "execve", Class: ClassProcess, Args: []Arg{argPath, {Name: "argv", Kind: Addr}, {Name: "envp", Kind: Addr}}, Effect: EffectExec, Reads: ReadExec, Sys: [numArch]int{59, 221}},
	OpExecveat:  {Name: "execveat", Class: ClassProcess, Args: []Arg{argDir, argPath, {Name: "argv", Kind: Addr}, {Name: "envp", Kind: Addr}, argAt}, Effect: EffectExec, Canon: to(OpExecve), Reads: ReadExec, Sys: [numArch]int{322, 281}},
	OpExit:      {Name: "exit", Class: ClassProcess, Args: []Arg{{Name: "status", Kind: Int}}, Result: ResultNone, Effect: EffectExit, Reads: ReadExit, Sys: [numArch]int{60, 93}},
	OpExitGroup: {Name: "exit_group", Class: ClassProcess, Args: []Arg{{Name: "status", Kind: Int}}, Result: ResultNone, Effect: EffectExitGroup, Reads: ReadExit, Sys: [numArch]int{231, 94}},
	OpWait4:     {Name: "wait4", Class: ClassProcess, Args: []Arg{{Name: "pid", Kind: Int}, {Name: "status", Kind: Addr}, {Name: "options", Kind: Flags, Flags: WaitOptions}, {Name: "rusage", Kind: Addr}}, Result: ResultThread, Effect: EffectWait, Reads: ReadWaited, Sys: [numArch]int{61, 260}},

	OpGetdents:      {Name: "getdents", Class: ClassMetadata, Args: []Arg{argFD, argBuf, argSize}, Result: ResultSome, Canon: to(OpGetdents64), Effect: EffectList, Sys: [numArch]int{78, none}},
	OpSync:          {Name: "sync", Class: ClassSync, Effect: EffectSyncAll, Sys: [numArch]int{162, 81}},
	OpSyncfs:        {Name: "syncfs", Class: ClassSync, Args: []Arg{argFD}, Effect: EffectSyncAll, Sys: [numArch]int{306, 267}},
	OpSyncFileRange: {Name: "sync_file_range", Class: ClassSync, Args: []Arg{argFD, argOff, argSize, {Name: "flags", Kind: Flags, Flags: SyncFileRangeFlags}}, Effect: EffectSync, Sys: [numArch]int{277, 84}},
	OpMsync:         {Name: "msync", Class: ClassSync, Args: []Arg{{Name: "addr", Kind: Addr}, argSize, {Name: "flags", Kind: Flags, Flags: MsyncFlags}}, Effect: EffectSyncMapped, Sys: [numArch]int{26, 227}},
	OpFadvise64:     {Name: "fadvise64", Class: ClassMetadata, Args: []Arg{argFD, argOff, argSize, {Name: "advice", Kind: Flags, Flags: FadviseAdvice}}, Effect: EffectAdvise, Sys: [numArch]int{221, 223}},
	OpReadahead:     {Name: "readahead", Class: ClassMetadata, Args: []Arg{argFD, argOff, argSize}, Effect: EffectAdvise, Sys: [numArch]int{187, 213}},

	// Offsets that the kernel takes through a pointer are recorded as they were
	// before the call. A NULL pointer, which means the descriptor's own, is -1.
	OpCopyFileRange: {Name: "copy_file_range", Class: ClassWrite, Args: []Arg{argFD, argInOff, argOutFD, argOutOff, argSize, {Name: "flags", Kind: Count}}, Result: ResultBytes, Effect: EffectCopy, Reads: ReadOffsets, Sys: [numArch]int{326, 285}, Synthetic: 1<<1 | 1<<3},
	OpSendfile:      {Name: "sendfile", Class: ClassRead, Args: []Arg{argOutFD, argFD, argInOff, argSize}, Result: ResultBytes, Effect: EffectCopy, Reads: ReadOffsets, Sys: [numArch]int{40, 71}, Synthetic: 1 << 2},
	OpSplice:        {Name: "splice", Class: ClassRead, Args: []Arg{argFD, argInOff, argOutFD, argOutOff, argSize, {Name: "flags", Kind: Flags, Flags: SpliceFlags}}, Result: ResultBytes, Effect: EffectCopy, Reads: ReadOffsets, Sys: [numArch]int{275, 76}, Synthetic: 1<<1 | 1<<3},
	OpFlock:         {Name: "flock", Class: ClassMetadata, Args: []Arg{argFD, {Name: "operation", Kind: Flags, Flags: FlockOperation}}, Effect: EffectLock, Sys: [numArch]int{73, 32}},

	OpSetxattr:     {Name: "setxattr", Class: ClassMetadata, Args: []Arg{argPath, argXattr, argValue, argSize, argXFlags, argGives}, Effect: EffectSetAttr, Reads: ReadAccessList, Sys: [numArch]int{188, 5}, Synthetic: 1 << 5},
	OpLsetxattr:    {Name: "lsetxattr", Class: ClassMetadata, Args: []Arg{argName, argXattr, argValue, argSize, argXFlags, argGives}, Effect: EffectSetAttr, Reads: ReadAccessList, Sys: [numArch]int{189, 6}, Synthetic: 1 << 5},
	OpFsetxattr:    {Name: "fsetxattr", Class: ClassMetadata, Args: []Arg{argFD, argXattr, argValue, argSize, argXFlags, argGives}, Effect: EffectSetAttr, Reads: ReadAccessList, Sys: [numArch]int{190, 7}, Synthetic: 1 << 5},
	OpGetxattr:     {Name: "getxattr", Class: ClassMetadata, Args: []Arg{argPath, argXattr, argValue, argSize}, Result: ResultBytes, Effect: EffectGetAttr, Sys: [numArch]int{191, 8}},
	OpLgetxattr:    {Name: "lgetxattr", Class: ClassMetadata, Args: []Arg{argName, argXattr, argValue, argSize}, Result: ResultBytes, Effect: EffectGetAttr, Sys: [numArch]int{192, 9}},
	OpFgetxattr:    {Name: "fgetxattr", Class: ClassMetadata, Args: []Arg{argFD, argXattr, argValue, argSize}, Result: ResultBytes, Effect: EffectGetAttr, Sys: [numArch]int{193, 10}},
	OpListxattr:    {Name: "listxattr", Class: ClassMetadata, Args: []Arg{argPath, argValue, argSize}, Result: ResultAny, Sys: [numArch]int{194, 11}},
	OpLlistxattr:   {Name: "llistxattr", Class: ClassMetadata, Args: []Arg{argName, argValue, argSize}, Result: ResultAny, Sys: [numArch]int{195, 12}},
	OpFlistxattr:   {Name: "flistxattr", Class: ClassMetadata, Args: []Arg{argFD, argValue, argSize}, Result: ResultAny, Sys: [numArch]int{196, 13}},
	OpRemovexattr:  {Name: "removexattr", Class: ClassMetadata, Args: []Arg{argPath, argXattr}, Effect: EffectSetAttr, Sys: [numArch]int{197, 14}},
	OpLremovexattr: {Name: "lremovexattr", Class: ClassMetadata, Args: []Arg{argName, argXattr}, Effect: EffectSetAttr, Sys: [numArch]int{198, 15}},
	OpFremovexattr: {Name: "fremovexattr", Class: ClassMetadata, Args: []Arg{argFD, argXattr}, Effect: EffectSetAttr, Sys: [numArch]int{199, 16}},

	OpChmod:     {Name: "chmod", Class: ClassMetadata, Args: []Arg{argPath, argMode}, Effect: EffectChmod, Sys: [numArch]int{90, none}},
	OpFchmod:    {Name: "fchmod", Class: ClassMetadata, Args: []Arg{argFD, argMode}, Effect: EffectChmod, Sys: [numArch]int{91, 52}},
	OpFchmodat:  {Name: "fchmodat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argMode}, Canon: to(OpChmod), Effect: EffectChmod, Sys: [numArch]int{268, 53}},
	OpFchmodat2: {Name: "fchmodat2", Class: ClassMetadata, Args: []Arg{argDir, argPath, argMode, argAt}, Canon: canonAttr(3, OpFchmod, OpFchmodat2, OpChmod), Effect: EffectChmod, Sys: [numArch]int{452, 452}},
	OpChown:     {Name: "chown", Class: ClassMetadata, Args: []Arg{argPath, argUID, argGID}, Effect: EffectChmod, Sys: [numArch]int{92, none}},
	OpFchown:    {Name: "fchown", Class: ClassMetadata, Args: []Arg{argFD, argUID, argGID}, Effect: EffectChmod, Sys: [numArch]int{93, 55}},
	OpLchown:    {Name: "lchown", Class: ClassMetadata, Args: []Arg{argName, argUID, argGID}, Effect: EffectChmod, Sys: [numArch]int{94, none}},
	OpFchownat:  {Name: "fchownat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argUID, argGID, argAt}, Canon: canonAttr(4, OpFchown, OpLchown, OpChown), Effect: EffectChmod, Sys: [numArch]int{260, 54}},
	OpUtimens:   {Name: "utimens", Class: ClassMetadata, Args: []Arg{argPath, argTimes, argAt}, Strace: "utimensat(AT_FDCWD, %0, %1, %2)", Sys: [numArch]int{none, none}},
	OpFutimens:  {Name: "futimens", Class: ClassMetadata, Args: []Arg{argFD, argTimes}, Strace: "utimensat(%0, NULL, %1, 0)", Sys: [numArch]int{none, none}},
	OpUtimensat: {Name: "utimensat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argTimes, argAt}, Canon: canonUtimens, Sys: [numArch]int{280, 88}},
	OpFutimesat: {Name: "futimesat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argTimes}, Canon: canonUtimens, Sys: [numArch]int{261, none}},
	OpUtimes:    {Name: "utimes", Class: ClassMetadata, Args: []Arg{argPath, argTimes}, Canon: to(OpUtimens), Sys: [numArch]int{235, none}},
	OpUtime:     {Name: "utime", Class: ClassMetadata, Args: []Arg{argPath, argTimes}, Canon: to(OpUtimens), Sys: [numArch]int{132, none}},
	OpMknod:     {Name: "mknod", Class: ClassMetadata, Args: []Arg{argMade, argMode, {Name: "dev", Kind: Count}}, Effect: EffectMknod, Sys: [numArch]int{133, none}},
	OpMknodat:   {Name: "mknodat", Class: ClassMetadata, Args: []Arg{argDir, argMade, argMode, {Name: "dev", Kind: Count}}, Canon: to(OpMknod), Effect: EffectMknod, Sys: [numArch]int{259, 33}},
	OpStatfs:    {Name: "statfs", Class: ClassMetadata, Args: []Arg{argPath, argBuf}, Sys: [numArch]int{137, 43}},
	OpFstatfs:   {Name: "fstatfs", Class: ClassMetadata, Args: []Arg{argFD, argBuf}, Sys: [numArch]int{138, 44}},

	// The files that these open have no name, so a trace can't have them.
	OpMemfdCreate:    {Name: "memfd_create", Class: ClassOpen, Args: []Arg{{Name: "name", Kind: Text}, {Name: "flags", Kind: Flags, Flags: MemfdFlags}}, Result: ResultFD, Effect: EffectOpen, Dropped: true, Reads: ReadOpened, Sys: [numArch]int{319, 279}},
	OpNameToHandleAt: {Name: "name_to_handle_at", Class: ClassMetadata, Args: []Arg{argDir, argName, {Name: "handle", Kind: Addr}, {Name: "mount", Kind: Addr}, argAt}, Dropped: true, Sys: [numArch]int{303, 264}},
	OpOpenByHandleAt: {Name: "open_by_handle_at", Class: ClassOpen, Args: []Arg{{Name: "mountfd", Kind: FD}, {Name: "handle", Kind: Addr}, argOpen}, Result: ResultFD, Effect: EffectOpen, Dropped: true, Reads: ReadOpened, Sys: [numArch]int{304, 265}},

	// Only the requests of IoctlRequest are recorded. The descriptor to clone
	// from is the argument, or is in the struct that it points to, with the
	// range.
	OpIoctl: {Name: "ioctl", Class: ClassMetadata, Args: []Arg{argFD, {Name: "request", Kind: Flags, Flags: IoctlRequest}, {Name: "arg", Kind: Int},
		{Name: "inoffset", Kind: Offset, Opt: true}, {Name: "size", Kind: Size, Opt: true}, {Name: "outoffset", Kind: Offset, Opt: true}}, Result: ResultAny, Effect: EffectRange, Reads: ReadRange, Sys: [numArch]int{16, 29}, Synthetic: 1<<3 | 1<<4 | 1<<5},

	OpWaitid: {Name: "waitid", Class: ClassProcess, Args: []Arg{{Name: "idtype", Kind: Flags, Flags: WaitIDType}, {Name: "pid", Kind: Int}, {Name: "info", Kind: Addr}, {Name: "options", Kind: Flags, Flags: WaitOptions}, {Name: "rusage", Kind: Addr},
		{Name: "child", Kind: Int, Opt: true}}, Effect: EffectWait, Canon: to(OpWait4), Reads: ReadChild, Sys: [numArch]int{247, 95}, Synthetic: 1 << 5},
	OpUnshare: {Name: "unshare", Class: ClassProcess, Args: []Arg{argClone}, Effect: EffectUnshare, Sys: [numArch]int{272, 97}},
	OpSetns:   {Name: "setns", Class: ClassProcess, Args: []Arg{argFD, {Name: "type", Kind: Flags, Flags: CloneFlags}}, Dropped: true, Sys: [numArch]int{308, 268}},
	OpChroot:  {Name: "chroot", Class: ClassMetadata, Args: []Arg{argPath}, Effect: EffectChroot, Dropped: true, Sys: [numArch]int{161, 51}},

	OpBrk:     {Name: "brk", Class: ClassMemory, Args: []Arg{{Name: "addr", Kind: Addr}}, Result: ResultAny, Effect: EffectBrk, Sys: [numArch]int{12, 214}},
	OpMmap:    {Name: "mmap", Class: ClassMemory, Args: []Arg{{Name: "addr", Kind: Addr}, argSize, {Name: "prot", Kind: Flags, Flags: MmapProt}, {Name: "flags", Kind: Flags, Flags: MmapFlags}, argFD, argOff}, Result: ResultAny, Effect: EffectMap, Sys: [numArch]int{9, 222}},
	OpMunmap:  {Name: "munmap", Class: ClassMemory, Args: []Arg{{Name: "addr", Kind: Addr}, argSize}, Effect: EffectUnmap, Sys: [numArch]int{11, 215}},
	OpMremap:  {Name: "mremap", Class: ClassMemory, Args: []Arg{{Name: "addr", Kind: Addr}, {Name: "oldsize", Kind: Size}, argSize, {Name: "flags", Kind: Flags, Flags: MremapFlags}, {Name: "newaddr", Kind: Addr}}, Result: ResultAny, Effect: EffectRemap, Sys: [numArch]int{25, 216}},
	OpMadvise: {Name: "madvise", Class: ClassMemory, Args: []Arg{{Name: "addr", Kind: Addr}, argSize, {Name: "advice", Kind: Flags, Flags: MadviseAdvice}}, Effect: EffectAdviseMap, Sys: [numArch]int{28, 233}},

	// These replace calls on a pipe that waited for one another. A replay makes
	// no call for them. The duration is the wait for the events of its edges. A
	// close counts as a write.
	OpPipeRead:  {Name: "pipe_read", Kind: MadeKind, Class: ClassProcess, Args: []Arg{argPipe}, Effect: EffectPipeline, Sys: [numArch]int{none, none}},
	OpPipeWrite: {Name: "pipe_write", Kind: MadeKind, Class: ClassProcess, Args: []Arg{argPipe}, Effect: EffectPipeline, Sys: [numArch]int{none, none}},

	// These replace calls on a connection to a client that is not recorded. A replay makes
	// no call for them. A request waits for the client, by its edges.
	OpClientRequest: {Name: "client_request", Kind: MadeKind, Class: ClassProcess, Args: []Arg{argClient, argSize}, Effect: EffectPipeline, Sys: [numArch]int{none, none}},
	OpClientReply:   {Name: "client_reply", Kind: MadeKind, Class: ClassProcess, Args: []Arg{argClient, argSize}, Effect: EffectPipeline, Sys: [numArch]int{none, none}},

	// Only binds of UNIX sockets to a path are recorded.
	OpBind: {Name: "bind", Class: ClassMetadata, Args: []Arg{{Name: "socket", Kind: FD}, argMade, {Name: "length", Kind: Count}}, Effect: EffectBind, Reads: ReadAddress, Sys: [numArch]int{49, 200}, Strace: "bind(%0, {sa_family=AF_UNIX, sun_path=%1}, %2)"},

	// A thread was blocked in a call that is not recorded, until another recorded
	// thread woke it.
	OpWait: {Name: "wait", Kind: WaitKind, Class: ClassProcess, Args: []Arg{{Name: "kind", Kind: Flags, Flags: WaitKinds}, {Name: "object", Kind: Addr}}, Effect: EffectBlock, Dropped: true, Strace: "wait(%0, %1)", Sys: [numArch]int{none, none}},

	// Operations on sockets other than read and write. The results of the last two
	// count messages, not bytes.
	OpSendto:   {Name: "sendto", Class: ClassWrite, Args: []Arg{argFD, argBuf, argSize, argMsgF, {Name: "addr", Kind: Addr}, {Name: "length", Kind: Count}}, Result: ResultBytes, Effect: EffectSend, Dropped: true, Sys: [numArch]int{44, 206}},
	OpRecvfrom: {Name: "recvfrom", Class: ClassRead, Args: []Arg{argFD, argBuf, argSize, argMsgF, {Name: "addr", Kind: Addr}, {Name: "length", Kind: Addr}}, Result: ResultBytes, Effect: EffectReceive, Dropped: true, Sys: [numArch]int{45, 207}},
	OpSendmsg:  {Name: "sendmsg", Class: ClassWrite, Args: []Arg{argFD, argMsg, argMsgF}, Result: ResultBytes, Effect: EffectSend, Dropped: true, Sys: [numArch]int{46, 211}},
	OpRecvmsg:  {Name: "recvmsg", Class: ClassRead, Args: []Arg{argFD, argMsg, argMsgF}, Result: ResultBytes, Effect: EffectReceive, Dropped: true, Sys: [numArch]int{47, 212}},
	OpSendmmsg: {Name: "sendmmsg", Class: ClassWrite, Args: []Arg{argFD, argMsg, argMsgs, argMsgF}, Result: ResultSome, Effect: EffectSend, Dropped: true, Sys: [numArch]int{307, 269}},
	OpRecvmmsg: {Name: "recvmmsg", Class: ClassRead, Args: []Arg{argFD, argMsg, argMsgs, argMsgF, {Name: "timeout", Kind: Addr}}, Result: ResultSome, Effect: EffectReceive, Dropped: true, Sys: [numArch]int{299, 243}},

	OpEventfd: {Name: "eventfd", Class: ClassMetadata, Args: []Arg{{Name: "value", Kind: Count}}, Result: ResultFD, Effect: EffectEventfd, Dropped: true, Sys: [numArch]int{284, none}},
	// The calls for requests. The kernel fills in the number of entries for completions
	// and reads the rest of struct io_uring_params.
	OpUringSetup: {Name: "io_uring_setup", Class: ClassSubmit, Args: []Arg{{Name: "entries", Kind: Count}, {Name: "flags", Kind: Flags, Flags: UringSetupFlags}, {Name: "completions", Kind: Count},
		{Name: "idle", Kind: Count}}, Result: ResultFD, Effect: EffectEventfd, Dropped: true, Reads: ReadRing, Sys: [numArch]int{425, 425}, Synthetic: 1<<1 | 1<<2 | 1<<3},
	OpUringEnter: {Name: "io_uring_enter", Class: ClassSubmit, Args: []Arg{argRing, {Name: "submit", Kind: Count}, argLeast, {Name: "flags", Kind: Flags, Flags: UringEnterFlags},
		{Name: "arg", Kind: Addr}, {Name: "length", Kind: Count}}, Result: ResultAny, Effect: EffectSubmit, Dropped: true, Reads: ReadBatch, Sys: [numArch]int{426, 426}},
	OpUringRegister: {Name: "io_uring_register", Class: ClassSubmit, Args: []Arg{argRing, {Name: "opcode", Kind: Flags, Flags: UringRegister}, {Name: "arg", Kind: Addr}, {Name: "number", Kind: Count},
		argList}, Result: ResultAny, Effect: EffectSubmit, Dropped: true, Reads: ReadRegistered, Sys: [numArch]int{427, 427}, Synthetic: 1 << 4},
	OpIOSetup:      {Name: "io_setup", Class: ClassSubmit, Args: []Arg{{Name: "entries", Kind: Count}, argCtx}, Effect: EffectSubmit, Dropped: true, Reads: ReadContext, Sys: [numArch]int{206, 0}, Synthetic: 1 << 1},
	OpIOSubmit:     {Name: "io_submit", Class: ClassSubmit, Args: []Arg{argCtx, {Name: "number", Kind: Count}, {Name: "requests", Kind: Addr}}, Result: ResultAny, Effect: EffectSubmit, Dropped: true, Reads: ReadBatch, Sys: [numArch]int{209, 2}},
	OpIOGetevents:  {Name: "io_getevents", Class: ClassSubmit, Args: []Arg{argCtx, argLeast, argMost, argEvents, argLimit}, Result: ResultAny, Effect: EffectSubmit, Dropped: true, Reads: ReadBatch, Sys: [numArch]int{208, 4}},
	OpIOPgetevents: {Name: "io_pgetevents", Class: ClassSubmit, Args: []Arg{argCtx, argLeast, argMost, argEvents, argLimit, {Name: "signals", Kind: Addr}}, Result: ResultAny, Effect: EffectSubmit, Dropped: true, Reads: ReadBatch, Sys: [numArch]int{333, 292}},
	OpIOCancel:     {Name: "io_cancel", Class: ClassSubmit, Args: []Arg{argCtx, {Name: "request", Kind: Addr}, {Name: "event", Kind: Addr}}, Effect: EffectSubmit, Dropped: true, Reads: ReadBatch, Sys: [numArch]int{210, 3}},
	OpIODestroy:    {Name: "io_destroy", Class: ClassSubmit, Args: []Arg{argCtx}, Effect: EffectSubmit, Dropped: true, Reads: ReadBatch, Sys: [numArch]int{207, 1}},

	// The operations that replace these calls in a trace. The queue is a ring of the thread table.
	// Lists have the trace's descriptors and places of buffers. A thread submits a number of
	// requests of the queue after a number of completions were reaped, and after the compute since
	// the last of them. Then it waits for further completions.
	OpRingOpen:    {Name: "ring_open", Kind: MadeKind, Class: ClassSubmit, Args: []Arg{argQueue, {Name: "entries", Kind: Count}, {Name: "flags", Kind: Flags, Flags: UringSetupFlags}, {Name: "completions", Kind: Count}, {Name: "idle", Kind: Count}}, Effect: EffectQueue, Sys: [numArch]int{none, none}},
	OpRingFiles:   {Name: "ring_files", Kind: MadeKind, Class: ClassSubmit, Args: []Arg{argQueue, argList}, Effect: EffectQueue, Sys: [numArch]int{none, none}},
	OpRingBuffers: {Name: "ring_buffers", Kind: MadeKind, Class: ClassSubmit, Args: []Arg{argQueue, argList}, Effect: EffectQueue, Sys: [numArch]int{none, none}},
	OpRingSubmit:  {Name: "ring_submit", Kind: MadeKind, Class: ClassSubmit, Args: []Arg{argQueue, {Name: "number", Kind: Count}, argLeast, {Name: "reaped", Kind: Count}, {Name: "since", Kind: Count}}, Effect: EffectQueue, Sys: [numArch]int{none, none}},

	OpEventfd2: {Name: "eventfd2", Class: ClassMetadata, Args: []Arg{{Name: "value", Kind: Count}, {Name: "flags", Kind: Flags, Flags: EventfdFlags}}, Result: ResultFD, Effect: EffectEventfd, Dropped: true, Sys: [numArch]int{290, 19}},

	// A replay has none: compile applies it to the modes of what is made.
	OpUmask: {Name: "umask", Class: ClassMetadata, Args: []Arg{{Name: "mask", Kind: Mode}}, Result: ResultMode, Effect: EffectUmask, Dropped: true, Sys: [numArch]int{95, 166}},

	// Opens the file of a descriptor once more, whatever names it has. An
	// application does so by a name in /proc.
	OpReopen:  {Name: "reopen", Class: ClassOpen, Args: []Arg{argFile, argOpen}, Result: ResultFD, Effect: EffectOpen, Strace: `open("/proc/self/fd/%0", %1)`, Sys: [numArch]int{none, none}},
	OpFaccess: {Name: "faccess", Class: ClassMetadata, Args: []Arg{argFD, argAcc}, Strace: `faccessat2(%0, "", %1, AT_EMPTY_PATH)`, Sys: [numArch]int{none, none}},

	// Operations that move bytes between pipes, and between a pipe and memory.
	OpTee:      {Name: "tee", Class: ClassWrite, Args: []Arg{argFD, argOutFD, argSize, {Name: "flags", Kind: Flags, Flags: SpliceFlags}}, Result: ResultBytes, Effect: EffectCopy, Dropped: true, Sys: [numArch]int{276, 77}},
	OpVmsplice: {Name: "vmsplice", Class: ClassWrite, Args: []Arg{argFD, argIov, argCount, {Name: "flags", Kind: Flags, Flags: SpliceFlags}, argSize}, Result: ResultBytes, Effect: EffectWrite, Dropped: true, Reads: ReadIovec, Sys: [numArch]int{278, 75}, Synthetic: 1 << 4},

	// The size and the flags are in a struct.
	OpSetxattrat:    {Name: "setxattrat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAtAttr, argXattr, argSize, argXFlags}, Effect: EffectSetAttr, Canon: canonAttr(2, OpFsetxattr, OpLsetxattr, OpSetxattr), Reads: ReadAttrArgs, Sys: [numArch]int{463, 463}, Synthetic: 1<<4 | 1<<5},
	OpGetxattrat:    {Name: "getxattrat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAtAttr, argXattr, argSize, argXFlags}, Result: ResultBytes, Effect: EffectGetAttr, Canon: canonAttr(2, OpFgetxattr, OpLgetxattr, OpGetxattr), Reads: ReadAttrArgs, Sys: [numArch]int{464, 464}, Synthetic: 1<<4 | 1<<5},
	OpListxattrat:   {Name: "listxattrat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAtAttr, argValue, argSize}, Result: ResultAny, Canon: canonAttr(2, OpFlistxattr, OpLlistxattr, OpListxattr), Sys: [numArch]int{465, 465}},
	OpRemovexattrat: {Name: "removexattrat", Class: ClassMetadata, Args: []Arg{argDir, argPath, argAtAttr, argXattr}, Effect: EffectSetAttr, Canon: canonAttr(2, OpFremovexattr, OpLremovexattr, OpRemovexattr), Sys: [numArch]int{466, 466}},

	// A replay looks the file up, and changes no attributes that could keep it
	// from being removed.
	OpFileGetattr: {Name: "file_getattr", Class: ClassMetadata, Args: []Arg{argDir, argPath, argValue, {Name: "length", Kind: Count}, argAtAttr}, Effect: EffectStat, Canon: canonAttr(4, OpFstat, OpLstat, OpStat), Sys: [numArch]int{468, 468}},
	OpFileSetattr: {Name: "file_setattr", Class: ClassMetadata, Args: []Arg{argDir, argPath, argValue, {Name: "length", Kind: Count}, argAtAttr}, Effect: EffectStat, Canon: canonAttr(4, OpFstat, OpLstat, OpStat), Sys: [numArch]int{469, 469}},

	OpMprotect: {Name: "mprotect", Class: ClassMemory, Args: []Arg{{Name: "addr", Kind: Addr}, argSize, {Name: "prot", Kind: Flags, Flags: MmapProt}}, Effect: EffectProtect, Sys: [numArch]int{10, 226}},

	// Page faults of a mapping of a file. The address is that of the page, and the
	// offset its place in the file. The duration is the time for which the thread
	// waited for storage. The result is the number of bytes that the fault mapped, or
	// EFAULT if the page is beyond the end of the file (SIGBUS). A write fault is the
	// first write to a page since it was clean.
	OpMapRead:  {Name: "map_read", Kind: FaultKind, Class: ClassRead, Args: []Arg{{Name: "addr", Kind: Addr}, argSize, argOff}, Result: ResultBytes, Effect: EffectFault, Strace: "map_read(%0, %1, %2)", Sys: [numArch]int{none, none}},
	OpMapWrite: {Name: "map_write", Kind: FaultKind, Class: ClassWrite, Args: []Arg{{Name: "addr", Kind: Addr}, argSize, argOff}, Result: ResultBytes, Effect: EffectFault, Strace: "map_write(%0, %1, %2)", Sys: [numArch]int{none, none}},
})

// onFile reports whether a call with these flags is about the file of a
// descriptor, not about a path. Since Linux 6.11 a NULL path means the same as an empty
// one.
func onFile(flags, dirfd int64, path []byte) bool {
	return flags&AtEmptyPath != 0 && len(path) == 0 && dirfd != AtFDCWD
}

// canonAttr returns the operation for a call with the flags at a position: with a descriptor,
// by a path that may end in a link, or through such a link.
func canonAttr(at int, fd, link, path Op) func(*Event) Op {
	return func(e *Event) Op {
		switch flags := e.Args[at]; {
		case onFile(flags, e.Args[0], e.Str[0]):
			return fd
		case flags&AtSymlinkNofollow != 0:
			return link
		}
		return path
	}
}

// canonAccess keeps flags: what faccessat2 can do, access cannot.
func canonAccess(e *Event) Op {
	switch {
	case onFile(e.Args[3], e.Args[0], e.Str[0]):
		return OpFaccess
	case e.Args[3] != 0:
		return OpFaccessat2
	}
	return OpAccess
}

// canonLink: in a trace linkat gives a name to the file of a descriptor.
func canonLink(e *Event) Op {
	if onFile(e.Args[4], e.Args[0], e.Str[0]) {
		return OpLinkat
	}
	return OpLink
}

// canonUtimens: a NULL path stands for the directory descriptor itself, which
// is how futimens(3) works.
func canonUtimens(e *Event) Op {
	if e.Str[0] == nil && e.Args[0] != AtFDCWD {
		return OpFutimens
	}
	return OpUtimens
}

func canonUnlink(e *Event) Op {
	if e.Args[2]&AtRemovedir != 0 {
		return OpRmdir
	}
	return OpUnlink
}

func canonRename(e *Event) Op {
	if e.Args[4] != 0 {
		return OpRenameat2
	}
	return OpRename
}

// Rich reports whether a recorder reads more of a call than its registers,
// names and the kernel's data about a file. This costs the application more.
func (op Op) Rich() bool { return op.Valid() && rich[op] }

var rich = func() (rich [NumOps]bool) {
	for op := range rich {
		info := &table[op]
		rich[op] = info.Class == ClassOpen || info.Reads == ReadStat || info.At.Strings != 0 || info.At.List >= 0
	}
	return rich
}()

// Valid reports whether op has a row in the table.
func (op Op) Valid() bool { return op > OpNone && op < numOps }

// Info returns the row of op, which must be valid. It must not be changed.
func (op Op) Info() *Info { return &table[op] }

func (op Op) String() string {
	if !op.Valid() {
		return "none"
	}
	return table[op].Name
}

var (
	byName = func() map[string]Op {
		m := make(map[string]Op, numOps)
		for op := OpNone + 1; op < numOps; op++ {
			m[table[op].Name] = op
		}
		// Spellings of other sources: strace on other architectures, and the
		// older Pianola.
		m["fstatat64"], m["_llseek"], m["_lseek"] = OpNewfstatat, OpLseek, OpLseek
		m["pread"], m["pwrite"], m["sendfile64"], m["fadvise"] = OpPread64, OpPwrite64, OpSendfile, OpFadvise64
		return m
	}()
	bySys = func() (m [numArch][MaxSys]Op) {
		for op := OpNone + 1; op < numOps; op++ {
			for a, n := range table[op].Sys {
				if n >= 0 {
					m[a][n] = op
				}
			}
		}
		return m
	}()
)

// MaxSys is one more than the highest system call number that the table can
// hold.
const MaxSys = 512

// Lookup returns the operation of that name.
func Lookup(name []byte) (Op, bool) {
	op, ok := byName[string(name)]
	return op, ok
}

// BySyscall returns the operation of a system call number, or OpNone.
func BySyscall(a Arch, nr int) Op {
	if nr < 0 || nr >= MaxSys {
		return OpNone
	}
	return bySys[a][nr]
}

// ArgIndex returns the position of the argument of that name, or -1.
func (i *Info) ArgIndex(name string) int {
	for k := range i.Args {
		if i.Args[k].Name == name {
			return k
		}
	}
	return -1
}

// StringIndex returns the place in Event.Str of the argument at position arg,
// which must be a string.
func (i *Info) StringIndex(arg int) (n int) {
	for k := range arg {
		if i.Args[k].Kind.IsString() {
			n++
		}
	}
	return n
}

// HasMode reports whether the mode of an opening call with these canonical
// flags counts.
func HasMode(flags int64) bool { return flags&(CREAT|TMPFILE) != 0 }

// SameResult reports whether a replay's result means the same as the recorded
// one: the same error, or a success that is equal by the operation's Result.
func SameResult(op Op, recorded, got int64) bool {
	if recorded == NoResult {
		return true
	}
	if recorded < 0 || got < 0 {
		return recorded == got
	}
	switch table[op].Result {
	case ResultZero, ResultBytes:
		return recorded == got
	case ResultSome:
		return (recorded == 0) == (got == 0)
	}
	return true
}
