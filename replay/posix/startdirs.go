package posix

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// maxStartDirs bounds the open starting directories of paths. Another bound is
// a quarter of the descriptors that the process may have. Paths in other
// directories are looked up from the root. An application has few working
// directories, but a program that walks a tree by descriptors, such as tar and
// find, has paths that start in each directory.
const maxStartDirs = 1 << 14

// startDir is a directory that paths start in.
type startDir struct {
	path string
	in   *sandbox.Branch // in which it lies; nil for the root
}

// openStartDirs opens the directories in which the application's relative paths
// started, marked by // in a path (docs/reference/script.md). A lookup takes time for
// each component, so each path then costs what it cost the application. The
// guard binds the calling thread. Without a jail all paths start at the root.
//
// Another process can move such a directory out of the root. The descriptors
// belong to the jail's own mount, so ".." does not lead out of it.
func (e *Executor) openStartDirs() {
	if !e.guard.Jailed() || e.InMemory {
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
		start := startDir{dir, e.names[i].Branch()}
		fd, known := e.startDirs[start]
		if !known {
			if len(e.startDirs) == most {
				e.Note(fmt.Sprintf("paths start in more than %d directories, so those in the others are looked up from the root, which takes longer", most))
				continue
			}
			n := sandbox.NewName(dir)
			if start.in != nil {
				n.SetBranch(start.in)
			}
			fd = e.guard.Open(&n, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			e.startDirs[start] = fd
			if fd < 0 && !isOfPath(unix.Errno(-fd)) {
				e.Note(fmt.Sprintf("some paths are looked up from the root instead of the directory where they start, which takes longer: open it: %v", unix.Errno(-fd)))
			}
		}
		if fd >= 0 {
			e.names[i].StartAt(uintptr(fd), rest)
		}
	}
}

// isOfPath reports whether an error of an open is about the path. Then the calls on the
// path have it, too.
func isOfPath(err unix.Errno) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.ENAMETOOLONG:
		return true
	}
	return false
}

func (e *Executor) closeStartDirs() {
	for _, fd := range e.startDirs {
		if fd >= 0 {
			e.guard.CloseFD(fd)
		}
	}
}
