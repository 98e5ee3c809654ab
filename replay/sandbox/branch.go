package sandbox

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Branch is an additional root of a replay, for some of the trace's names (Name.SetBranch).
// A path in it is resolved by the kernel below it: in a jail from a mount of it that
// only the replay sees, where ".." ends as in the root; without a jail by openat2. An
// absolute symbolic link leads to the root in a jail, and to the branch without one.
type Branch struct {
	Root uintptr // descriptor of the directory; the caller's

	// Internal state, which the first Guard that is bound sets.
	mount int // as of Guard
	own   identity
}

// identity identifies a directory, and has its mode.
type identity struct {
	dev, ino uint64
	mode     uint32
}

func (i identity) is(s *unix.Stat_t) bool { return s.Ino == i.ino && uint64(s.Dev) == i.dev }

// Roots returns descriptors of the root and of the branches: in a jail, those of their
// mounts that only the replay sees.
func (g *Guard) Roots() []uintptr {
	own := func(root uintptr, mount int) uintptr {
		if mount > 0 {
			return uintptr(mount)
		}
		return root
	}
	all := []uintptr{own(g.Root, g.mount)}
	for _, b := range g.Branches {
		all = append(all, own(b.Root, b.mount))
	}
	return all
}

// SetBranch puts a name into a branch; its path is then one below the branch. A guard with
// the branch must be bound. All guards that use the name are copies of it.
func (n *Name) SetBranch(b *Branch) {
	n.branch = b
	if b.mount == 0 {
		return
	}
	below := strings.TrimLeft(n.String(), "/")
	if below == "" && n.String() != "" {
		below = "."
	}
	n.below = CString(below)
	n.dir, n.rest = uintptr(b.mount), n.below
}
