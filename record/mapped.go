package record

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// Mapped is a part of a file that a process has in memory.
type Mapped struct {
	Start, End uint64 // addresses
	Offset     uint64 // in the file, of Start
	File       format.Inode
	Path       string // the last one, if the file is deleted
	Deleted    bool   // the file has no path any more; another one can have it
	Private    bool   // written pages are the process's own
	Writable   bool
	Executable bool
}

// MappedFiles returns what the process of a thread has mapped of files, in the order of
// addresses, as /proc/PID/maps shows it.
func MappedFiles(tid int32) (files []Mapped, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", tid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m, ok := parseMapped(lines.Text()); ok {
			files = append(files, m)
		}
	}
	return files, lines.Err()
}

// Describe returns the line of a header for a file that a process has mapped. ok is false if it
// can't be reached any more.
func (m *Mapped) Describe(pid int32) (f format.File, ok bool) {
	own, err := unix.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return f, false
	}
	defer unix.Close(own)
	var st unix.Stat_t
	if unix.Fstat(own, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return f, false
	}
	f = format.File{Path: m.Path, Type: format.TypeReg, Mode: st.Mode & 0o7777, Size: st.Size, Cached: -1}
	if n, dirty := CachedPages(own); n != UnknownCached {
		f.Cached, f.Dirty = int64(n), int64(dirty)
	}
	return f, true
}

// unescapeMaps undoes how the kernel writes a newline, the only character that it
// replaces there.
var unescapeMaps = strings.NewReplacer(`\012`, "\n")

// parseMapped reads a line of /proc/PID/maps. ok is false if it shows no file.
//
//	7f5c1a000000-7f5c1a021000 rw-p 00001000 08:01 1234   /usr/lib/libc.so
func parseMapped(line string) (m Mapped, ok bool) {
	at := strings.IndexByte(line, '/')
	if at < 0 {
		return Mapped{}, false // memory of no file
	}
	var protection string
	dev := &m.File.Dev
	n, _ := fmt.Sscanf(line, "%x-%x %s %x %x:%x %d", &m.Start, &m.End, &protection, &m.Offset, &dev.Major, &dev.Minor, &m.File.Ino)
	if n < 7 || len(protection) < 4 {
		return Mapped{}, false
	}
	m.Writable, m.Executable, m.Private = protection[1] == 'w', protection[2] == 'x', protection[3] == 'p'
	path, deleted := strings.CutSuffix(line[at:], " (deleted)")
	m.Path, m.Deleted = unescapeMaps.Replace(path), deleted
	return m, true
}
