package replay

import (
	"strings"

	"golang.org/x/sys/unix"
)

// maxBegins bounds the directories that are open for paths to begin in; an
// application has few working directories. Other paths are looked up whole.
const maxBegins = 256

// openBegins opens the directories in which the application's relative paths
// began, which // tells in a path (docs/compile.md). The kernel looks a path up
// by the component, so each then costs what it cost the application. The calling
// thread is bound by the guard; without a jail all paths begin at the root.
func (e *engine) openBegins() {
	if !e.guard.jailed || e.Backend != Posix {
		return
	}
	for i, text := range e.texts {
		dir, rest, ok := strings.Cut(text, "//")
		if !ok || dir == "" || rest == "" || rest[0] == '/' {
			continue
		}
		fd, known := e.begins[dir]
		if !known {
			if len(e.begins) == maxBegins {
				continue
			}
			n := newName(dir)
			fd = e.guard.open(&n, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			e.begins[dir] = fd
		}
		if fd >= 0 {
			e.names[i].dir, e.names[i].rest = uintptr(fd), cString(rest)
		}
	}
}

func (e *engine) closeBegins() {
	for _, fd := range e.begins {
		if fd >= 0 {
			e.guard.shut(fd)
		}
	}
}
