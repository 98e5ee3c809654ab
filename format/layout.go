package format

// Role is the use of an argument that is a path or a descriptor.
type Role uint8

// The roles.
const (
	RoleFollow Role = iota // a path; follows a link at its end unless the flags have AT_SYMLINK_NOFOLLOW
	RoleName               // a path; follows a link at its end only if the flags have AT_SYMLINK_FOLLOW
	RoleOpen               // a path of an existing or a new file, by the flags of open
	RoleCreate             // a path: the name that the call makes
	RoleRemove             // a path: the name that the call removes
	RoleFile               // a descriptor that is a file's if the call succeeds
)

// Layout holds the positions in Event.Args of an operation's arguments by their
// purpose, -1 for none.
type Layout struct {
	FD        int8 // descriptor that the call is about, or reads from
	OutFD     int8 // second descriptor, which it writes to
	NewFD     int8 // requested number of the resulting descriptor
	Offset    int8 // in the file of FD, in bytes; below 0 it means the descriptor's own
	OutOffset int8 // the same for OutFD
	Size      int8 // bytes
	Buf       int8 // address of one buffer
	Vector    int8 // address of several
	Count     int8 // of buffers
	Flags     int8 // word of flags of any set
	OpenFlags int8 // of OpenFlags
	AtFlags   int8 // of AtFlags or AccessAtFlags
	Mode      int8 // permissions
	PID       int8 // process that is waited for
	Child     int8 // process that the call found, if it is not the result
	Text      int8 // place in Event.Str of the first text
	List      int8 // what is in Event.List

	Gone    int8                  // place in Paths of the name that the call removes or moves
	Came    int8                  // place in Paths of the name that it makes
	Paths   [MaxStrings]PathPlace // in their order; Arg is -1 for none
	Strings uint8                 // a bit for each argument that is in Event.Str
	Addrs   uint8                 // a bit for each address
}

// PathPlace is the position of a path.
type PathPlace struct {
	Arg int8 // position of the argument
	Str int8 // place in Event.Str
	Dir int8 // position of the descriptor of the directory that it starts from, -1 for none
}

// laidOut fills in the layouts and acts.
func laidOut(rows [numOps]Info) [numOps]Info {
	for op := range rows {
		rows[op].At = layoutOf(rows[op].Args)
		rows[op].Acts = actsOf(&rows[op])
	}
	return rows
}

func layoutOf(args []Arg) Layout {
	at := Layout{
		FD: -1, OutFD: -1, NewFD: -1, Offset: -1, OutOffset: -1, Size: -1, Buf: -1, Vector: -1, Count: -1, Flags: -1,
		OpenFlags: -1, AtFlags: -1, Mode: -1, PID: -1, Child: -1, Text: -1, List: -1, Gone: -1, Came: -1, Paths: [MaxStrings]PathPlace{{-1, -1, -1}, {-1, -1, -1}},
	}
	named := map[string]*int8{
		"fd": &at.FD, "outfd": &at.OutFD, "newfd": &at.NewFD, "offset": &at.Offset, "inoffset": &at.Offset, "outoffset": &at.OutOffset,
		"size": &at.Size, "buf": &at.Buf, "iov": &at.Vector, "count": &at.Count, "pid": &at.PID, "child": &at.Child,
	}
	str, paths := int8(0), 0
	for i, a := range args {
		k := int8(i)
		if place := named[a.Name]; place != nil {
			*place = k
		}
		switch a.Kind {
		case Path:
			at.Paths[paths] = PathPlace{Arg: k, Str: str, Dir: -1}
			if i > 0 && args[i-1].Kind == DirFD {
				at.Paths[paths].Dir = k - 1
			}
			switch a.Role {
			case RoleRemove:
				at.Gone = int8(paths)
			case RoleCreate:
				at.Came = int8(paths)
			}
			paths++
		case Text:
			if at.Text < 0 {
				at.Text = str
			}
		case Items:
			at.List = k
		case Mode, OptMode:
			at.Mode = k
		case Addr:
			at.Addrs |= 1 << i
		case Flags:
			if a.Name == "flags" {
				at.Flags = k
			}
			switch a.Flags {
			case OpenFlags:
				at.OpenFlags = k
			case AtFlags, AccessAtFlags:
				at.AtFlags = k
			}
		}
		if a.Kind.IsString() {
			at.Strings |= 1 << i
			str++
		}
	}
	return at
}

// FlagsOf returns the flag set of argument k of the event, nil if it is not a flag
// word.
func (i *Info) FlagsOf(e *Event, k int) *FlagSet {
	a := &i.Args[k]
	if a.On == nil {
		return a.Flags
	}
	return a.On[e.Args[k-1]]
}

// Transfer returns the first operation of a class, ClassRead or ClassWrite,
// that moves bytes between a file and memory, with or without an offset
// argument, and with one buffer or several.
func Transfer(class Class, positioned, vectored bool) Op {
	return transfers[index(class == ClassWrite)][index(positioned)][index(vectored)]
}

var transfers = func() (all [2][2][2]Op) {
	for op := numOps - 1; op > OpNone; op-- {
		if info := &table[op]; info.Effect == EffectRead || info.Effect == EffectWrite {
			all[index(info.Effect == EffectWrite)][index(info.At.Offset >= 0)][index(info.At.Vector >= 0)] = op
		}
	}
	return all
}()

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// at returns the argument at a position, other if there is none.
func (e *Event) at(k int8, other int64) int64 {
	if k < 0 {
		return other
	}
	return e.Args[k]
}

// FD returns the descriptor that the call is about, or reads from; -1 for none.
func (e *Event) FD() int64 { return e.at(table[e.Op].At.FD, -1) }

// OutFD returns the second descriptor, which the call writes to, -1 for none.
func (e *Event) OutFD() int64 { return e.at(table[e.Op].At.OutFD, -1) }

// NewFD returns the requested number of the resulting descriptor, -1 for any.
func (e *Event) NewFD() int64 { return e.at(table[e.Op].At.NewFD, -1) }

// Offset returns the offset in the file of FD, in bytes; below 0 for that of the
// descriptor.
func (e *Event) Offset() int64 { return e.at(table[e.Op].At.Offset, -1) }

// OutOffset returns the offset in the file of OutFD, in bytes; below 0 for that
// of the descriptor.
func (e *Event) OutOffset() int64 { return e.at(table[e.Op].At.OutOffset, -1) }

// Size returns the bytes that the call is about, -1 for none.
func (e *Event) Size() int64 { return e.at(table[e.Op].At.Size, -1) }

// Count returns how many buffers the call has, 1 without a vector.
func (e *Event) Count() int64 { return e.at(table[e.Op].At.Count, 1) }

// OpenFlags returns the flags of an opening call, 0 for others and if it has
// none.
func (e *Event) OpenFlags() int64 {
	info := &table[e.Op]
	if info.Effect != EffectOpen {
		return 0
	}
	return e.at(info.At.OpenFlags, info.Implied)
}

// CloneFlags returns the flags of a call that creates a thread or a process, 0
// for others.
func (e *Event) CloneFlags() int64 {
	info := &table[e.Op]
	if info.Effect != EffectFork {
		return 0
	}
	return e.at(info.At.Flags, info.Implied)
}

// Word returns the argument that is a word of a flag set, 0 for none.
func (e *Event) Word(set *FlagSet) int64 {
	args := table[e.Op].Args
	for k := range args {
		if args[k].Flags == set {
			return e.Args[k]
		}
	}
	return 0
}

// Cloexec reports whether the descriptor that the call makes is closed by an
// exec.
func (e *Event) Cloexec() bool {
	info := &table[e.Op]
	switch {
	case info.Effect == EffectFcntl:
		return e.Args[1] == FDupfdCloexec
	case info.Reads == ReadRing:
		return true
	}
	k := info.At.Flags
	return k >= 0 && e.Args[k]&info.Args[k].Flags.Cloexec != 0
}

// Copies reports whether the call copies a descriptor, if it succeeds.
func (e *Event) Copies() bool { return e.Acts().Any(Duplicates) }

// Exchanges reports whether the call swaps two names.
func (e *Event) Exchanges() bool { return e.Acts().Any(Exchanges) }

// Child returns the process that a wait returned, or the thread that a fork
// created; 0 for none, a negative errno if the call failed.
func (e *Event) Child() int64 {
	if k := table[e.Op].At.Child; k >= 0 && e.Ret == 0 {
		return e.Args[k]
	}
	return e.Ret
}

// Path returns the path at a position in Layout.Paths, nil for none.
func (e *Event) Path(n int) []byte {
	p := &table[e.Op].At.Paths[n]
	if p.Str < 0 {
		return nil
	}
	return e.Str[p.Str]
}

// Dir returns the descriptor of the directory where the path at a position in
// Layout.Paths starts, AT_FDCWD if the call has none.
func (e *Event) Dir(n int) int64 { return e.at(table[e.Op].At.Paths[n].Dir, AtFDCWD) }

// Follows reports whether the call follows a symbolic link at the end of the
// path at a position in Layout.Paths.
func (e *Event) Follows(n int) bool {
	info := &table[e.Op]
	k := info.At.Paths[n].Arg
	if k < 0 {
		return false
	}
	switch flags := e.at(info.At.AtFlags, 0); info.Args[k].Role {
	case RoleFollow:
		return flags&AtSymlinkNofollow == 0
	case RoleName:
		return flags&AtSymlinkFollow != 0
	case RoleOpen:
		flags = e.OpenFlags()
		return flags&NOFOLLOW == 0 && flags&(CREAT|EXCL) != CREAT|EXCL
	}
	return false
}

// Creates reports whether the path at a position in Layout.Paths is one that the
// call makes, or that an open may make. O_TMPFILE makes a file in the directory that
// its path leads to.
func (e *Event) Creates(n int) bool {
	info := &table[e.Op]
	k := info.At.Paths[n].Arg
	if k < 0 {
		return false
	}
	role := info.Args[k].Role
	return role == RoleCreate || role == RoleOpen && e.OpenFlags()&CREAT != 0
}

// Removes reports whether the path at a position in Layout.Paths is one that the
// call removes.
func (e *Event) Removes(n int) bool {
	info := &table[e.Op]
	k := info.At.Paths[n].Arg
	return k >= 0 && info.Args[k].Role == RoleRemove
}

// OfQueue reports whether the first argument is the number of the thread that is a ring.
func (op Op) OfQueue() bool { return op.Info().Effect == EffectQueue }
