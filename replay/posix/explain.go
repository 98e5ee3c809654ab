package posix

import "pianola/format"

// refusedDirect is the reason if an open with O_DIRECT fails: not all file
// systems have it.
const refusedDirect = "the file system refuses O_DIRECT"

// missingNames is the reason if a listing is not whole.
const missingNames = "number of names missing from the listing"

// noOpenFiles and noDescriptors are the reasons if there is no room for another
// descriptor: the limit of this process, and that of Limits.
const (
	noOpenFiles   = "the limit of open files (ulimit -n) is too low: recorded processes of several threads share it, with each other and with the replay's own files"
	noDescriptors = "--limit descriptors is too low"
)

// reason returns why a result can differ.
func (w *worker) reason(r *format.Record, got int64) string {
	if r.Op.Info().Acts.Any(format.Opens) && got == errInvalid && r.Args[1]&format.DIRECT != 0 {
		return refusedDirect
	}
	if r.Op == format.OpGetdents64 && r.Args[1]&format.Listing != 0 && r.Ret == 0 && got > 0 {
		return missingNames
	}
	switch {
	case r.Ret < 0 || got != errNoFD:
		return ""
	case r.Ret >= w.e.Limits.Descriptors:
		return noDescriptors
	}
	return noOpenFiles
}

// pathOf returns the path that a record is about: its first string, or the path
// of its first descriptor of a file. A descriptor that the event itself closed
// has none.
func (w *worker) pathOf(r *format.Record) string {
	for i, a := range r.Op.Info().Args {
		switch {
		case a.Kind == format.Path && r.Args[i] >= 0 && r.Args[i] < int64(len(w.e.texts)):
			return w.e.texts[r.Args[i]]
		case a.Kind == format.FD:
			if s := w.lookup(r.Args[i]); s != 0 {
				return w.e.texts[s.name()]
			}
		}
	}
	return ""
}
