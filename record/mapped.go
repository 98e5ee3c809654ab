package record

import (
	"bufio"
	"fmt"
	"os"
	"strings"

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
