package transform

import (
	"strings"

	"pianola/format"
	"pianola/format/follow"
)

// openFlags holds where the flags of open stand among the arguments of an
// operation, -1 where there are none.
var openFlags = func() (at [format.NumOps]int) {
	for op := range at {
		at[op] = -1
		if format.Op(op).Valid() {
			for i, a := range format.Op(op).Info().Args {
				if a.Flags == format.OpenFlags {
					at[op] = i
				}
			}
		}
	}
	return at
}()

// Values of format.ReadWriteFlags.
const (
	rwfDsync  = 2
	rwfSync   = 4
	rwfAppend = 0x10
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
// far as the recording tells.
func isFile(d *follow.Description) bool {
	switch {
	case d.Flags&(format.RDONLY|format.WRONLY|format.RDWR) == 0, d.Flags&format.PATH != 0:
		return false // not opened by a name
	case d.File.ID == follow.Others, isPseudo(d.File.Name), strings.Contains(d.File.Name, ":["):
		return false
	}
	return d.Type == format.TypeReg || d.Type == format.TypeUnknown
}

// isPseudo reports whether an absolute path lies in a file system that shows the
// kernel and not storage, by where those are mounted.
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
