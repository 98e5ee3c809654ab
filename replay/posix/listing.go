package posix

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// The listing of a directory in which the trace has created or removed names is
// compared as a whole (format.Listing).

// listing counts the names that a directory's descriptor has returned.
type listing struct {
	fd    uintptr
	names int64
}

const (
	minEntries = 280     // bytes that hold an entry of any name
	maxEntries = 1 << 20 // bytes of entries that a call returns at most
)

// list makes a call of a listing. At the end of the recorded listing, it reads on to the
// end of the replay's. If names are missing, the result is their number.
func (w *worker) list(s fdEntry, r *format.Record) int64 {
	size := min(max(r.Args[2], minEntries), maxEntries) // a temporary name can be longer than the recorded one
	if int64(len(w.entries)) < size {
		w.entries = make([]byte, size)
	}
	l := w.listingOf(s.real(), r.Args[1]&format.ListingStart != 0)
	for {
		got := w.sys.Call(unix.SYS_GETDENTS64, s.real(), uintptr(unsafe.Pointer(&w.entries[0])), uintptr(size))
		if got > 0 {
			l.names += countNames(w.entries[:min(got, size)])
		}
		if got < 0 || r.Ret != 0 {
			return got
		}
		if got == 0 {
			missing := max(r.Args[1]&format.ListingLeast-l.names, 0)
			w.listings = slices.DeleteFunc(w.listings, func(l listing) bool { return l.fd == s.real() })
			if id := s.name(); w.e.split != nil && int(id) < len(w.e.split) && w.e.split[id] {
				return 0
			}
			return missing
		}
	}
}

// listingOf returns the listing of a descriptor, and restarts it if the second argument
// is true. The next call makes it invalid.
func (w *worker) listingOf(fd uintptr, anew bool) *listing {
	i := slices.IndexFunc(w.listings, func(l listing) bool { return l.fd == fd })
	if i < 0 {
		i = len(w.listings)
		w.listings = append(w.listings, listing{fd: fd})
	}
	if anew {
		w.listings[i].names = 0
	}
	return &w.listings[i]
}

// countNames returns how many names are in the entries of a directory, besides "."
// and "..".
func countNames(entries []byte) (n int64) {
	const length, name = 16, 19 // places in a struct linux_dirent64
	for len(entries) > name {
		size := int(binary.NativeEndian.Uint16(entries[length:]))
		if size <= name || size > len(entries) {
			break
		}
		if text, _, _ := bytes.Cut(entries[name:size], []byte{0}); string(text) != "." && string(text) != ".." {
			n++
		}
		entries = entries[size:]
	}
	return n
}
