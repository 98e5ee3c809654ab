package replay

import (
	"strings"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// maxBegins bounds the directories that are open for paths to begin in, as does
// a quarter of the descriptors that the process may have. Other paths are looked
// up whole. An application has few working directories, but what walks a tree
// by descriptors, as tar and find do, begins paths in each directory.
const maxBegins = 1 << 14

// openBegins opens the directories in which the application's relative paths
// began, which // tells in a path (docs/compile.md). The kernel looks a path up
// by the component, so each then costs what it cost the application. The calling
// thread is bound by the guard; without a jail all paths begin at the root.
//
// Another process can move such a directory out of the root. The descriptors
// belong to the jail's own mount, which is what keeps ".." from leading on
// there.
func (e *engine) openBegins() {
	if !e.guard.Jailed() || e.Backend != Posix {
		return
	}
	most := maxBegins
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		most = int(min(maxBegins, limit.Cur/4))
	}
	for i, text := range e.texts {
		dir, rest, ok := strings.Cut(text, "//")
		if !ok || dir == "" || rest == "" || rest[0] == '/' {
			continue
		}
		fd, known := e.begins[dir]
		if !known {
			if len(e.begins) == most {
				continue
			}
			n := sandbox.NewName(dir)
			fd = e.guard.Open(&n, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			e.begins[dir] = fd
		}
		if fd >= 0 {
			e.names[i].StartAt(uintptr(fd), rest)
		}
	}
}

func (e *engine) closeBegins() {
	for _, fd := range e.begins {
		if fd >= 0 {
			e.guard.Shut(fd)
		}
	}
}
