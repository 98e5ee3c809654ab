package format

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
)

// Arch is a processor architecture whose system calls Pianola knows.
type Arch uint8

// The architectures, in the order of the columns of the tables.
const (
	AMD64 Arch = iota
	ARM64
	numArch
)

var archNames = [numArch]string{AMD64: "amd64", ARM64: "arm64"}

func (a Arch) String() string { return archNames[a] }

// ParseArch returns the architecture of that name, as GOARCH has it, and
// HostArch for any other.
func ParseArch(name string) Arch {
	for i, s := range archNames {
		if s == name {
			return Arch(i)
		}
	}
	return HostArch
}

// HostArch is the architecture that this program runs on.
var HostArch = func() Arch {
	if runtime.GOARCH == "arm64" {
		return ARM64
	}
	return AMD64
}()

// Canonical flags of open, the same on every platform.
// Exactly one of the first three is set in a valid word.
const (
	RDONLY    = 1
	WRONLY    = 2
	RDWR      = 4
	APPEND    = 8
	TRUNC     = 16
	CREAT     = 32
	EXCL      = 64
	DIRECTORY = 128
	SYNC      = 256
	LARGEFILE = 512
	DSYNC     = 1024
	DIRECT    = 2048
	NONBLOCK  = 4096
	CLOEXEC   = 8192
	NOFOLLOW  = 16384
	NOATIME   = 32768
	PATH      = 65536
	TMPFILE   = 131072
	NOCTTY    = 262144
	ASYNC     = 524288
)

// Flag is one bit, one field value or one enumerated value of a flag word.
type Flag struct {
	Name   string
	Canon  uint64
	Native [numArch]uint64
	Mask   uint64 // the native bits that must equal Native; 0 stands for Native itself
}

// FlagSet translates one kind of flag word between a platform's bits, canonical
// bits and names. Canonical bits are in the lower 32 bits. Native bits that the
// set does not know are kept in the upper 32.
type FlagSet struct {
	Enum    bool   // the word is one value, not a union of bits
	Zero    string // what strace prints for a word without bits, "0" if empty
	Cloexec int64  // canonical bit by which a new descriptor is closed by an exec, 0 for none
	Flags   []Flag // flags that contain others come before them
}

// same makes flags with the same value on every architecture, which is also
// their canonical value.
func same(names ...any) (flags []Flag) {
	for i := 0; i < len(names); i += 2 {
		v := uint64(names[i+1].(int))
		flags = append(flags, Flag{Name: names[i].(string), Canon: v, Native: [numArch]uint64{v, v}})
	}
	return flags
}

// The words of flags. The native columns are amd64 and arm64, from
// include/uapi/asm-generic/fcntl.h and arch/arm64/include/uapi/asm/fcntl.h.
var (
	OpenFlags = &FlagSet{Zero: "0", Cloexec: CLOEXEC, Flags: append([]Flag{
		{Name: "O_RDONLY", Canon: RDONLY, Native: [numArch]uint64{0, 0}, Mask: 3},
		{Name: "O_WRONLY", Canon: WRONLY, Native: [numArch]uint64{1, 1}, Mask: 3},
		{Name: "O_RDWR", Canon: RDWR, Native: [numArch]uint64{2, 2}, Mask: 3},
	}, descriptorFlags...)}

	// PipeFlags are the flags of pipe2 and dup3: those of open without an
	// access mode.
	PipeFlags = &FlagSet{Cloexec: CLOEXEC, Flags: descriptorFlags}

	descriptorFlags = []Flag{
		{Name: "O_SYNC", Canon: SYNC, Native: [numArch]uint64{0o4010000, 0o4010000}},
		{Name: "O_TMPFILE", Canon: TMPFILE, Native: [numArch]uint64{0o20200000, 0o20040000}},
		{Name: "O_CREAT", Canon: CREAT, Native: [numArch]uint64{0o100, 0o100}},
		{Name: "O_EXCL", Canon: EXCL, Native: [numArch]uint64{0o200, 0o200}},
		{Name: "O_NOCTTY", Canon: NOCTTY, Native: [numArch]uint64{0o400, 0o400}},
		{Name: "O_TRUNC", Canon: TRUNC, Native: [numArch]uint64{0o1000, 0o1000}},
		{Name: "O_APPEND", Canon: APPEND, Native: [numArch]uint64{0o2000, 0o2000}},
		{Name: "O_NONBLOCK", Canon: NONBLOCK, Native: [numArch]uint64{0o4000, 0o4000}},
		{Name: "O_DSYNC", Canon: DSYNC, Native: [numArch]uint64{0o10000, 0o10000}},
		{Name: "O_ASYNC", Canon: ASYNC, Native: [numArch]uint64{0o20000, 0o20000}},
		{Name: "O_DIRECT", Canon: DIRECT, Native: [numArch]uint64{0o40000, 0o200000}},
		{Name: "O_LARGEFILE", Canon: LARGEFILE, Native: [numArch]uint64{0o100000, 0o400000}},
		{Name: "O_DIRECTORY", Canon: DIRECTORY, Native: [numArch]uint64{0o200000, 0o40000}},
		{Name: "O_NOFOLLOW", Canon: NOFOLLOW, Native: [numArch]uint64{0o400000, 0o100000}},
		{Name: "O_NOATIME", Canon: NOATIME, Native: [numArch]uint64{0o1000000, 0o1000000}},
		{Name: "O_CLOEXEC", Canon: CLOEXEC, Native: [numArch]uint64{0o2000000, 0o2000000}},
		{Name: "O_PATH", Canon: PATH, Native: [numArch]uint64{0o10000000, 0o10000000}},
	}

	AtFlags = &FlagSet{Flags: same("AT_SYMLINK_NOFOLLOW", AtSymlinkNofollow, "AT_REMOVEDIR", AtRemovedir, "AT_SYMLINK_FOLLOW", AtSymlinkFollow,
		"AT_NO_AUTOMOUNT", 0x800, "AT_EMPTY_PATH", AtEmptyPath, "AT_STATX_FORCE_SYNC", 0x2000, "AT_STATX_DONT_SYNC", 0x4000)}

	// AccessAtFlags are the flags of faccessat2, where AT_EACCESS has the
	// value that AT_REMOVEDIR has for unlinkat.
	AccessAtFlags = &FlagSet{Flags: same("AT_SYMLINK_NOFOLLOW", AtSymlinkNofollow, "AT_EACCESS", 0x200, "AT_EMPTY_PATH", AtEmptyPath)}

	AccessMode = &FlagSet{Zero: "F_OK", Flags: same("R_OK", 4, "W_OK", 2, "X_OK", 1)}

	StatxMask = &FlagSet{Flags: same("STATX_ALL", 0xfff, "STATX_BASIC_STATS", 0x7ff, "STATX_TYPE", 1, "STATX_MODE", 2, "STATX_NLINK", 4, "STATX_UID", 8,
		"STATX_GID", 0x10, "STATX_ATIME", 0x20, "STATX_MTIME", 0x40, "STATX_CTIME", 0x80, "STATX_INO", 0x100, "STATX_SIZE", 0x200,
		"STATX_BLOCKS", 0x400, "STATX_BTIME", 0x800, "STATX_MNT_ID", 0x1000, "STATX_DIOALIGN", 0x2000)}

	// WaitKinds are what a thread is blocked in (OpWait): none of the others, a
	// futex, poll(2) and its like, a socket, a signal.
	WaitKinds = &FlagSet{Enum: true, Flags: same("OTHER", 0, "FUTEX", 1, "POLL", 2, "SOCKET", 3, "SIGNAL", 4)}

	Whence = &FlagSet{Enum: true, Flags: same("SEEK_SET", SeekSet, "SEEK_CUR", SeekCur, "SEEK_END", SeekEnd, "SEEK_DATA", SeekData, "SEEK_HOLE", SeekHole)}

	FallocateMode = &FlagSet{Flags: same("FALLOC_FL_KEEP_SIZE", FallocKeepSize, "FALLOC_FL_PUNCH_HOLE", FallocPunchHole, "FALLOC_FL_NO_HIDE_STALE", 4,
		"FALLOC_FL_COLLAPSE_RANGE", FallocCollapse, "FALLOC_FL_ZERO_RANGE", FallocZeroRange, "FALLOC_FL_INSERT_RANGE", FallocInsert, "FALLOC_FL_UNSHARE_RANGE", 0x40)}

	RenameFlags = &FlagSet{Flags: same("RENAME_NOREPLACE", RenameNoreplace, "RENAME_EXCHANGE", RenameExchange, "RENAME_WHITEOUT", RenameWhiteout)}

	ResolveFlags = &FlagSet{Flags: same("RESOLVE_NO_XDEV", 1, "RESOLVE_NO_MAGICLINKS", 2, "RESOLVE_NO_SYMLINKS", 4, "RESOLVE_BENEATH", 8,
		"RESOLVE_IN_ROOT", 0x10, "RESOLVE_CACHED", 0x20)}

	ReadWriteFlags = &FlagSet{Flags: same("RWF_HIPRI", 1, "RWF_DSYNC", RwfDsync, "RWF_SYNC", RwfSync, "RWF_NOWAIT", 8, "RWF_APPEND", RwfAppend, "RWF_NOAPPEND", 0x20,
		"RWF_ATOMIC", 0x40, "RWF_DONTCACHE", 0x80)}

	FcntlCmd = &FlagSet{Enum: true, Flags: same("F_DUPFD", FDupfd, "F_GETFD", 1, "F_SETFD", FSetfd, "F_GETFL", 3, "F_SETFL", FSetfl, "F_GETLK", FGetlk,
		"F_SETLK", FSetlk, "F_SETLKW", FSetlkw, "F_SETOWN", 8, "F_GETOWN", 9, "F_SETSIG", 10, "F_GETSIG", 11, "F_SETOWN_EX", 15, "F_GETOWN_EX", 16,
		"F_OFD_GETLK", FOfdGetlk, "F_OFD_SETLK", FOfdSetlk, "F_OFD_SETLKW", FOfdSetlkw, "F_SETLEASE", 1024, "F_GETLEASE", 1025, "F_NOTIFY", 1026,
		"F_DUPFD_CLOEXEC", FDupfdCloexec, "F_SETPIPE_SZ", 1031, "F_GETPIPE_SZ", 1032, "F_ADD_SEALS", 1033, "F_GET_SEALS", 1034,
		"F_GET_RW_HINT", 1035, "F_SET_RW_HINT", 1036, "F_GET_FILE_RW_HINT", 1037, "F_SET_FILE_RW_HINT", 1038)}

	LockType = &FlagSet{Enum: true, Flags: same("F_RDLCK", 0, "F_WRLCK", LockWrite, "F_UNLCK", LockNone)}

	CloseRangeFlags = &FlagSet{Flags: same("CLOSE_RANGE_UNSHARE", 2, "CLOSE_RANGE_CLOEXEC", CloseRangeCloexec)}

	// CloneFlags has its own canonical bits for the signal to the parent, which
	// Linux has in the lowest byte, and for flags above the 32nd bit.
	CloneFlags = &FlagSet{Flags: append([]Flag{
		{Name: "SIGCHLD", Canon: CloneSigchld, Native: [numArch]uint64{17, 17}, Mask: 0xff},
		{Name: "CLONE_CLEAR_SIGHAND", Canon: 1, Native: [numArch]uint64{1 << 32, 1 << 32}},
		{Name: "CLONE_INTO_CGROUP", Canon: 2, Native: [numArch]uint64{1 << 33, 1 << 33}},
	}, same("CLONE_VM", CloneVM, "CLONE_FS", CloneFS, "CLONE_FILES", CloneFiles, "CLONE_SIGHAND", 0x800, "CLONE_PIDFD", 0x1000,
		"CLONE_PTRACE", 0x2000, "CLONE_VFORK", CloneVfork, "CLONE_PARENT", 0x8000, "CLONE_THREAD", CloneThread, "CLONE_NEWNS", CloneNewns,
		"CLONE_SYSVSEM", 0x40000, "CLONE_SETTLS", 0x80000, "CLONE_PARENT_SETTID", 0x100000, "CLONE_CHILD_CLEARTID", 0x200000,
		"CLONE_DETACHED", 0x400000, "CLONE_UNTRACED", 0x800000, "CLONE_CHILD_SETTID", 0x1000000, "CLONE_NEWCGROUP", 0x2000000,
		"CLONE_NEWUTS", 0x4000000, "CLONE_NEWIPC", 0x8000000, "CLONE_NEWUSER", 0x10000000, "CLONE_NEWPID", 0x20000000,
		"CLONE_NEWNET", 0x40000000, "CLONE_IO", 0x80000000)...)}

	SyncFileRangeFlags = &FlagSet{Flags: same("SYNC_FILE_RANGE_WAIT_BEFORE", 1, "SYNC_FILE_RANGE_WRITE", 2, "SYNC_FILE_RANGE_WAIT_AFTER", 4)}

	MsyncFlags = &FlagSet{Flags: same("MS_ASYNC", 1, "MS_INVALIDATE", 2, "MS_SYNC", 4)}

	FadviseAdvice = &FlagSet{Enum: true, Flags: same("POSIX_FADV_NORMAL", 0, "POSIX_FADV_RANDOM", 1, "POSIX_FADV_SEQUENTIAL", 2,
		"POSIX_FADV_WILLNEED", 3, "POSIX_FADV_DONTNEED", 4, "POSIX_FADV_NOREUSE", 5)}

	SpliceFlags = &FlagSet{Flags: same("SPLICE_F_MOVE", 1, "SPLICE_F_NONBLOCK", 2, "SPLICE_F_MORE", 4, "SPLICE_F_GIFT", 8)}

	MessageFlags = &FlagSet{Flags: same("MSG_OOB", 1, "MSG_PEEK", 2, "MSG_DONTROUTE", 4, "MSG_CTRUNC", 8, "MSG_PROBE", 0x10, "MSG_TRUNC", 0x20,
		"MSG_DONTWAIT", 0x40, "MSG_EOR", 0x80, "MSG_WAITALL", 0x100, "MSG_FIN", 0x200, "MSG_SYN", 0x400, "MSG_CONFIRM", 0x800, "MSG_RST", 0x1000,
		"MSG_ERRQUEUE", 0x2000, "MSG_NOSIGNAL", 0x4000, "MSG_MORE", 0x8000, "MSG_WAITFORONE", 0x10000, "MSG_BATCH", 0x40000, "MSG_ZEROCOPY", 0x4000000,
		"MSG_FASTOPEN", 0x20000000, "MSG_CMSG_CLOEXEC", 0x40000000)}

	EventfdFlags = &FlagSet{Cloexec: CLOEXEC, Flags: []Flag{
		{Name: "EFD_SEMAPHORE", Canon: 1, Native: [numArch]uint64{1, 1}},
		{Name: "EFD_NONBLOCK", Canon: NONBLOCK, Native: [numArch]uint64{0o4000, 0o4000}},
		{Name: "EFD_CLOEXEC", Canon: CLOEXEC, Native: [numArch]uint64{0o2000000, 0o2000000}},
	}}

	FlockOperation = &FlagSet{Flags: same("LOCK_SH", 1, "LOCK_EX", FlockExclusive, "LOCK_NB", 4, "LOCK_UN", FlockNone, "LOCK_MAND", FlockMandatory)}

	XattrFlags = &FlagSet{Flags: same("XATTR_CREATE", 1, "XATTR_REPLACE", 2)}

	MemfdFlags = &FlagSet{Cloexec: MfdCloexec, Flags: same("MFD_CLOEXEC", MfdCloexec, "MFD_ALLOW_SEALING", 2, "MFD_HUGETLB", 4, "MFD_NOEXEC_SEAL", 8, "MFD_EXEC", 16)}

	// IoctlRequest holds the requests that concern files. No others are
	// recorded (include/uapi/linux/fs.h, fiemap.h).
	IoctlRequest = &FlagSet{Enum: true, Flags: same("FICLONE", Ficlone, "FICLONERANGE", Ficlonerange, "FIDEDUPERANGE", Fideduperange,
		"FS_IOC_GETFLAGS", FsIocGetflags, "FS_IOC_SETFLAGS", 0x40086602, "FS_IOC_FSGETXATTR", 0x801c581f, "FS_IOC_FSSETXATTR", 0x401c5820,
		"FS_IOC_FIEMAP", 0xc020660b, "FS_IOC_GETVERSION", 0x80087601, "FS_IOC_SETVERSION", 0x40087602,
		"FS_IOC_RESVSP64", FsIocResvsp64, "FS_IOC_UNRESVSP64", FsIocUnresvsp64, "FS_IOC_ZERO_RANGE", FsIocZeroRange)}

	WaitIDType = &FlagSet{Enum: true, Flags: same("P_ALL", 0, "P_PID", 1, "P_PGID", 2, "P_PIDFD", 3)}

	MmapProt = &FlagSet{Zero: "PROT_NONE", Flags: same("PROT_READ", 1, "PROT_WRITE", ProtWrite, "PROT_EXEC", 4, "PROT_GROWSDOWN", 0x1000000, "PROT_GROWSUP", 0x2000000)}

	MmapFlags = &FlagSet{Flags: same("MAP_SHARED_VALIDATE", 3, "MAP_SHARED", MapShared, "MAP_PRIVATE", 2, "MAP_FIXED", 0x10, "MAP_ANONYMOUS", MapAnonymous,
		"MAP_GROWSDOWN", 0x100, "MAP_DENYWRITE", 0x800, "MAP_EXECUTABLE", 0x1000, "MAP_LOCKED", MapLocked, "MAP_NORESERVE", MapNoreserve,
		"MAP_POPULATE", MapPopulate, "MAP_NONBLOCK", MapNonblock, "MAP_STACK", 0x20000, "MAP_HUGETLB", 0x40000, "MAP_SYNC", 0x80000, "MAP_FIXED_NOREPLACE", 0x100000)}

	MremapFlags = &FlagSet{Flags: same("MREMAP_MAYMOVE", 1, "MREMAP_FIXED", 2, "MREMAP_DONTUNMAP", MremapDontunmap)}

	MadviseAdvice = &FlagSet{Enum: true, Flags: same("MADV_NORMAL", 0, "MADV_RANDOM", 1, "MADV_SEQUENTIAL", 2, "MADV_WILLNEED", 3, "MADV_DONTNEED", MadvDontneed,
		"MADV_FREE", MadvFree, "MADV_REMOVE", 9, "MADV_DONTFORK", 10, "MADV_DOFORK", 11, "MADV_MERGEABLE", 12, "MADV_UNMERGEABLE", 13,
		"MADV_HUGEPAGE", 14, "MADV_NOHUGEPAGE", 15, "MADV_DONTDUMP", 16, "MADV_DODUMP", 17, "MADV_WIPEONFORK", 18, "MADV_KEEPONFORK", 19,
		"MADV_COLD", MadvCold, "MADV_PAGEOUT", 21, "MADV_POPULATE_READ", MadvPopulateRead, "MADV_POPULATE_WRITE", MadvPopulateWrite, "MADV_COLLAPSE", 25)}

	WaitOptions = &FlagSet{Flags: same("WNOHANG", 1, "WUNTRACED", 2, "WEXITED", 4, "WCONTINUED", 8, "WNOWAIT", WaitNowait,
		"__WNOTHREAD", 0x20000000, "__WALL", 0x40000000, "__WCLONE", 0x80000000)}
)

// fcntlArgs are the words that fcntl takes, by command. For a lock it is l_whence, which
// a recorder puts in place of the address of the lock.
var fcntlArgs = map[int64]*FlagSet{FSetfl: OpenFlags,
	FGetlk: Whence, FSetlk: Whence, FSetlkw: Whence, FOfdGetlk: Whence, FOfdSetlk: Whence, FOfdSetlkw: Whence}

// LockWhence returns where the offset of a lock counts from, given the argument of the
// call. A number that does not fit in l_whence, a short, is an address of a recorder that
// does not read the struct, and counts as SeekSet.
func LockWhence(arg int64) int64 {
	if arg != int64(uint16(arg)) {
		return SeekSet
	}
	return int64(int16(arg))
}

// AccessList is the extended attribute of an access list, which gives its file a mode.
const AccessList = "system.posix_acl_access"

// GivesMode is set in the mode that an access list gives its file. Calls that set
// other attributes, and those of older recordings, have no mode.
const GivesMode = 1 << 12

// Values that the code uses. Canonical and native ones are the same.
const (
	AtFDCWD           = -100
	AtSymlinkNofollow = 0x100
	AtRemovedir       = 0x200
	AtSymlinkFollow   = 0x400
	AtEmptyPath       = 0x1000

	SeekSet  = 0
	SeekCur  = 1
	SeekEnd  = 2
	SeekData = 3
	SeekHole = 4

	FDupfd        = 0
	FSetfd        = 2
	FSetfl        = 4
	FGetlk        = 5
	FSetlk        = 6
	FSetlkw       = 7
	FOfdGetlk     = 36
	FOfdSetlk     = 37
	FOfdSetlkw    = 38
	FDupfdCloexec = 1030

	LockWrite      = 1
	LockNone       = 2
	FlockExclusive = 2
	FlockNone      = 8
	FlockMandatory = 32 // does nothing since Linux 5.18

	RenameNoreplace   = 1
	RenameExchange    = 2
	RenameWhiteout    = 4
	CloseRangeCloexec = 4

	WaitNowait = 0x1000000 // leaves the process to be waited for again

	FallocKeepSize  = 1
	FallocPunchHole = 2
	FallocCollapse  = 8
	FallocZeroRange = 0x10
	FallocInsert    = 0x20

	RwfDsync  = 2
	RwfSync   = 4
	RwfAppend = 0x10

	MfdCloexec    = 1
	Ficlone       = 0x40049409
	Ficlonerange  = 0x4020940d
	Fideduperange = 0xc0189436
	FsIocGetflags = 0x80086601

	// fallocate by another name (include/uapi/linux/falloc.h).
	FsIocResvsp64   = 0x4030582a
	FsIocUnresvsp64 = 0x4030582b
	FsIocZeroRange  = 0x40305839

	ProtWrite    = 2
	MapShared    = 1
	MapAnonymous = 0x20
	MapLocked    = 0x2000
	MapNoreserve = 0x4000
	MapPopulate  = 0x8000
	MapNonblock  = 0x10000

	MremapDontunmap = 4

	MadvDontneed      = 4
	MadvFree          = 8
	MadvCold          = 20
	MadvPopulateRead  = 22
	MadvPopulateWrite = 23

	// CloneSigchld is canonical only: the signal to the parent is SIGCHLD.
	CloneSigchld = 0x40

	CloneVM     = 0x100
	CloneFS     = 0x200
	CloneFiles  = 0x400
	CloneVfork  = 0x4000
	CloneThread = 0x10000
	CloneNewns  = 0x20000
)

// FromNative returns the canonical word for a platform's word.
func (s *FlagSet) FromNative(a Arch, native uint64) int64 {
	if s.Enum {
		for i := range s.Flags {
			if s.Flags[i].Native[a] == native {
				return int64(s.Flags[i].Canon)
			}
		}
		return int64(native)
	}
	var canon uint64
	rest := native
	for i := range s.Flags {
		f := &s.Flags[i]
		mask := f.Mask
		if mask == 0 {
			mask = f.Native[a]
		}
		// A flag that contains an earlier one's bits must not count twice:
		// O_SYNC takes the bit of O_DSYNC with it.
		if native&mask == f.Native[a] && (f.Mask != 0 || rest&mask == mask) {
			canon |= f.Canon
			rest &^= mask
		}
	}
	return int64(canon | rest<<32)
}

// ToNative returns the platform's word for a canonical word, and false if the
// platform lacks one of the flags.
func (s *FlagSet) ToNative(a Arch, canon int64) (native uint64, ok bool) {
	if s.Enum {
		for i := range s.Flags {
			if s.Flags[i].Canon == uint64(canon) {
				return s.Flags[i].Native[a], true
			}
		}
		return uint64(canon), false
	}
	rest := uint64(canon) & (1<<32 - 1)
	for i := range s.Flags {
		f := &s.Flags[i]
		if rest&f.Canon == f.Canon {
			native |= f.Native[a]
			rest &^= f.Canon
		}
	}
	return native | uint64(canon)>>32, rest == 0
}

// Append appends the names of a canonical word, joined by "|", as strace does.
// Bits without a name are appended as a native number in hexadecimal.
func (s *FlagSet) Append(dst []byte, canon int64) []byte {
	if s.Enum {
		for i := range s.Flags {
			if s.Flags[i].Canon == uint64(canon) {
				return append(dst, s.Flags[i].Name...)
			}
		}
		return strconv.AppendInt(dst, canon, 10)
	}
	rest, n := uint64(canon)&(1<<32-1), len(dst)
	for i := range s.Flags {
		f := &s.Flags[i]
		if rest&f.Canon == f.Canon {
			rest &^= f.Canon
			dst = append(append(dst, f.Name...), '|')
		}
	}
	// A canonical bit without a flag can only come from a foreign file. A
	// prefix distinguishes it from native bits.
	if rest != 0 {
		dst = append(strconv.AppendUint(append(dst, "canon:0x"...), rest, 16), '|')
	}
	if u := uint64(canon) >> 32; u != 0 {
		dst = append(strconv.AppendUint(append(dst, "0x"...), u, 16), '|')
	}
	if len(dst) > n {
		return dst[:len(dst)-1]
	}
	if s.Zero != "" {
		return append(dst, s.Zero...)
	}
	return append(dst, '0')
}

var errFlag = errors.New("unknown flag")

// Parse returns the canonical word for names joined by "|". Numbers among them
// are native bits.
func (s *FlagSet) Parse(text []byte) (int64, error) {
	if s.Enum {
		for i := range s.Flags {
			if s.Flags[i].Name == string(text) {
				return int64(s.Flags[i].Canon), nil
			}
		}
		v, err := strconv.ParseInt(string(text), 0, 64)
		if err != nil {
			return 0, errFlag
		}
		return v, nil
	}
	var canon uint64
	for len(text) > 0 {
		word, rest, more := bytes.Cut(text, []byte{'|'})
		if more && len(rest) == 0 {
			return 0, errFlag
		}
		v, err := s.parseWord(word)
		if err != nil {
			return 0, err
		}
		canon |= v
		text = rest
	}
	return int64(canon), nil
}

func (s *FlagSet) parseWord(word []byte) (uint64, error) {
	for i := range s.Flags {
		if s.Flags[i].Name == string(word) {
			return s.Flags[i].Canon, nil
		}
	}
	if s.Zero != "" && s.Zero == string(word) {
		return 0, nil
	}
	if hex, ok := bytes.CutPrefix(word, []byte("canon:0x")); ok {
		v, err := strconv.ParseUint(string(hex), 16, 32)
		if err != nil {
			return 0, errFlag
		}
		return v, nil
	}
	if len(word) == 0 || word[0] < '0' || word[0] > '9' {
		return 0, errFlag
	}
	v, err := strconv.ParseUint(string(word), 0, 32)
	if err != nil {
		return 0, errFlag
	}
	return v << 32, nil
}
