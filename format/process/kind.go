package process

import (
	"slices"
	"strings"

	"pianola/format"
)

// Kind is what is behind a descriptor.
type Kind uint8

// The kinds.
const (
	KindUnknown Kind = iota // the recording does not tell; mostly a file
	KindFile                // a file, a directory or a block device
	KindChannel             // a pipe, a socket, a character device, or an eventfd and its like: another thread, a person or a clock is at its end
	KindPseudo              // a file that the kernel makes up, such as one in /proc
)

// typeKinds are the kinds of types.
var typeKinds = [...]Kind{
	format.TypeReg: KindFile, format.TypeDir: KindFile, format.TypeLnk: KindFile, format.TypeBlk: KindFile,
	format.TypeFifo: KindChannel, format.TypeSock: KindChannel, format.TypeChr: KindChannel, format.TypePseudo: KindPseudo,
}

// channels are the beginnings of the names of what is a channel. Those with a
// colon are names of the kernel's, for descriptors that were open before.
var channels = [...]string{
	"pipe:[", "socket:[", "anon_inode:",
	"/dev/tty", "/dev/pts/", "/dev/ptmx", "/dev/console", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
}

// kindOfName returns the kind of what is opened by a name.
func kindOfName(name string) Kind {
	switch {
	case strings.HasPrefix(name, "/proc/") || strings.HasPrefix(name, "/sys/"):
		return KindPseudo
	case slices.ContainsFunc(channels[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
		return KindChannel
	}
	return KindFile
}

// kindOf returns the kind of what a descriptor leads to, from the name that it
// was opened by and from the noted type, which can be unknown.
func kindOf(f *File, typ format.FileType) Kind {
	switch kind := typeKinds[typ]; {
	case kind == KindChannel:
		return KindChannel
	case f.Kind == KindPseudo || kind == KindUnknown:
		return f.Kind
	case kind == KindPseudo && !strings.HasPrefix(f.Name, "/"):
		return KindChannel // an eventfd or its like
	default:
		return kind
	}
}

// Kind returns the kind of the file of an event. f and d are the results of About. A
// name by itself counts as that of a file, unless the call opens it.
func (fl *Follower) Kind(e *format.Event, f *File, d *Description) Kind {
	if d != nil {
		if typ := e.FileType(); typ != format.TypeUnknown {
			d.Kind = kindOf(d.File, typ)
		}
		if d.Kind == KindUnknown && e.Op == format.OpSplice {
			return KindChannel // sockets are made by calls that are not recorded
		}
		return d.Kind
	}
	effect := e.Op.Info().Effect
	switch {
	case effect == format.EffectPipe || effect == format.EffectEventfd:
		return KindChannel
	case f == nil:
		return KindUnknown
	case effect == format.EffectOpen && !e.Failed():
		return kindOf(f, e.FileType())
	case f.Kind == KindPseudo:
		return KindPseudo
	}
	return KindFile
}

// Made returns the file that stands for the channels without a name that calls
// such as e make: all pipes, all eventfds, or all rings.
func (fl *Follower) Made(e *format.Event) *File {
	switch info := e.Op.Info(); {
	case info.Class == format.ClassSubmit:
		return fl.of([]byte("anon_inode:[io_uring]"))
	case info.Effect == format.EffectEventfd:
		return fl.of([]byte("anon_inode:[eventfd]"))
	}
	return fl.of([]byte("pipe"))
}

// Written returns the bytes that a copy wrote into a file from what is none
// (splice from a pipe), and the file's description, nil for any other call and if
// it wrote nothing. To About, such a call is about what it read.
func (fl *Follower) Written(t *Thread, e *format.Event) (d *Description, from, to int64) {
	info := e.Op.Info()
	if info.Effect != format.EffectCopy || info.Class != format.ClassRead {
		return nil, 0, 0
	}
	d = t.Table.At(e.OutFD())
	if d == nil || d.Kind != KindFile {
		return nil, 0, 0
	}
	ahead := *d // Apply moves it
	if from, to, ok := ahead.Move(e, e.OutOffset(), true); ok && to > from {
		return d, from, to
	}
	return nil, 0, 0
}
