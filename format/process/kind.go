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

// Kind returns the kind of the file of an event. Without an open file it follows from the
// name: KindFile or KindPseudo, or what the call has opened.
func (f *Fact) Kind() Kind {
	e, d := f.Event, f.Description
	if d != nil {
		if typ := e.FileType(); typ != format.TypeUnknown {
			d.Kind = kindOf(d.File, typ)
		}
		if d.Kind == KindUnknown && e.Op == format.OpSplice {
			return KindChannel // sockets are made by calls that are not recorded
		}
		return d.Kind
	}
	switch {
	case e.Acts().Any(format.Channels):
		return KindChannel
	case f.File == nil:
		return KindUnknown
	case f.Did.Any(format.Opens):
		return kindOf(f.File, e.FileType())
	case f.File.Kind == KindPseudo:
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
	case info.Result == format.ResultFD:
		return fl.of([]byte("anon_inode:[eventfd]"))
	}
	return fl.of([]byte("pipe"))
}
