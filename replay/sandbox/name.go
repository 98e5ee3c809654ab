package sandbox

import (
	"path"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Name is a path ready for the kernel. The kernel gets addresses in it, so it
// must stay reachable until the call has ended. Any number of guards may read
// it.
type Name struct {
	full          *byte
	parent, last  *byte // a directory and a name in it, "." in the whole path if that ends in a slash
	holder, entry *byte // the same, but the name keeps the slash

	// The path to it in a jail: from an open directory, or from the root with the
	// whole path.
	dir  uintptr
	rest *byte

	branch *Branch // in which it lies; nil for the root
	below  *byte   // in a jail: the whole path, from the branch
}

// NewName makes a name of a path. The path must hold no NUL byte.
func NewName(p string) Name {
	clean := strings.TrimRight(p, "/")
	if clean == "" && p != "" {
		clean = "/"
	}
	// Such a last component leads to another directory, so it must be resolved
	// with the rest.
	parent, last := clean, "."
	if base := path.Base(clean); base != "." && base != ".." && base != "/" {
		parent, last = strings.TrimSuffix(clean, base), base
		if parent == "" {
			parent = "."
		}
	}
	if p == "" {
		parent = ""
	}
	// The mark of where a path starts could make it too long.
	n := Name{full: CString(strings.Replace(p, "//", "/", 1)), parent: CString(parent), last: CString(last), dir: CWD}
	n.holder, n.entry, n.rest = n.parent, n.last, n.full
	if last != "." && strings.HasSuffix(p, "/") {
		n.entry = CString(last + "/")
		n.parent, n.last = n.full, CString(".")
	}
	return n
}

// StartAt makes lookups of the name start at an open directory, with the rest
// of the path. Only guards in a jail may use the name from then on.
func (n *Name) StartAt(dir uintptr, rest string) { n.dir, n.rest = dir, CString(rest) }

// Full returns the address of the whole path.
func (n *Name) Full() uintptr { return Pointer(n.full) }

// Branch returns the branch in which the name lies, nil for the root. Then alone
// Full leads to the name in a jail.
func (n *Name) Branch() *Branch { return n.branch }

func (n *Name) String() string { return unix.BytePtrToString(n.full) }

// CString makes a string for the kernel. It must not be inlined: then the
// string could be on the goroutine's stack, which moves when a Kernel written
// in Go needs more of it.
//
//go:noinline
func CString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// Pointer returns the address of a string for the kernel.
func Pointer(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }

// CWD stands for the working directory (AT_FDCWD).
const CWD = ^uintptr(99)

// Empty is the path of a call on a descriptor itself.
var Empty = CString("")
