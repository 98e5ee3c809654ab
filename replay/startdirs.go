package replay

import (
	"strings"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// maxStartDirs bounds the starting directories of paths that are open, as does a
// quarter of the descriptors that the process may have. Other paths are looked up
// whole. An application has few working directories, but a program that walks a
// tree by descriptors, as tar and find do, has paths that start in each directory.
const maxStartDirs = 1 << 14

// openStartDirs opens the starting directories: those in which the application's
// relative paths started, which // tells in a path (docs/compile.md). The kernel
// looks a path up by the component, so each then costs what it cost the
// application. The calling thread is bound by the guard; without a jail all paths
// start at the root.
//
// Another process can move such a directory out of the root. The descriptors
// belong to the jail's own mount, which is what keeps ".." from leading on
// there.
func (e *engine) openStartDirs() {
	if !e.guard.Jailed() || e.Backend != Posix {
		return
	}
	most := maxStartDirs
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		most = int(min(maxStartDirs, limit.Cur/4))
	}
	for i, text := range e.texts {
		dir, rest, ok := strings.Cut(text, "//")
		if !ok || dir == "" || rest == "" || rest[0] == '/' {
			continue
		}
		fd, known := e.startDirs[dir]
		if !known {
			if len(e.startDirs) == most {
				continue
			}
			n := sandbox.NewName(dir)
			fd = e.guard.Open(&n, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			e.startDirs[dir] = fd
		}
		if fd >= 0 {
			e.names[i].StartAt(uintptr(fd), rest)
		}
	}
}

func (e *engine) closeStartDirs() {
	for _, fd := range e.startDirs {
		if fd >= 0 {
			e.guard.Shut(fd)
		}
	}
}
