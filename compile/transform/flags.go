package transform

import (
	"strings"

	"pianola/format"
	"pianola/format/process"
)

// opensFile reports whether an open that succeeded is known to have opened a
// regular file: the recording says so, or the flags demand it.
func opensFile(e *format.Event, flags int64) bool {
	if typ := e.FileType(); typ != format.TypeUnknown {
		return typ == format.TypeReg && flags&format.PATH == 0
	}
	return flags&(format.CREAT|format.TRUNC) != 0 && flags&format.PATH == 0
}

// isFile reports whether a description is that of a regular file on storage, as
// far as the recording shows.
func isFile(d *process.Description) bool {
	switch {
	case d.Flags&(format.RDONLY|format.WRONLY|format.RDWR) == 0, d.Flags&format.PATH != 0:
		return false // not opened by a name
	case d.File.ID == process.Others, isPseudo(d.File.Name), strings.Contains(d.File.Name, ":["):
		return false
	}
	return d.Type == format.TypeReg || d.Type == format.TypeUnknown
}

// isPseudo reports whether an absolute path is in a pseudo file system, by the
// usual mount points.
func isPseudo(path string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "proc", "sys":
		return true
	case "dev":
		return rest != "shm" && !strings.HasPrefix(rest, "shm/")
	}
	return false
}
