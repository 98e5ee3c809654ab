package replay

import (
	"fmt"
	"io"
	"os"
	"unsafe"
)

// entry is the part of a log event that is not in the trace.
type entry struct {
	start int64 // nanoseconds since the start of the replay
	dur   int64 // nanoseconds
	ret   int64
	wait  int64 // nanoseconds before the start that the thread waited for others
}

const entrySize = int64(unsafe.Sizeof(entry{}))

// spillEntries is how many entries are held if not all fit into memory. The
// worker stops while half of them are written, for less than the gap that it
// uses. With more entries the stops would be fewer, but noticeably long.
const spillEntries = 8192

// log holds the entries of one thread. Those that do not fit into memory are in
// a file without a name. Its memory is allocated before the first event.
type log struct {
	entries []entry // the youngest; length in use, capacity fixed
	spilled int64   // how many are in the file
	file    *os.File
	offset  int64 // of the first in the file
}

// newLogs makes a log for each thread, given their numbers of events, within a
// number of bytes of memory.
func newLogs(lengths []int64, memory int64) ([]log, error) {
	var total int64
	for _, n := range lengths {
		total += n
	}
	room := memory / entrySize
	logs := make([]log, len(lengths))
	var file *os.File
	if total > room {
		f, err := os.CreateTemp("", "pianola-log-")
		if err != nil {
			return nil, fmt.Errorf("create the log file: %w", err)
		}
		if err := os.Remove(f.Name()); err != nil {
			return nil, fmt.Errorf("unlink the log file: %w", err)
		}
		file = f
	}
	var offset int64
	for i, n := range lengths {
		l := &logs[i]
		size := n
		if file != nil {
			size = min(n, max(room/int64(len(lengths)), 1), spillEntries)
			l.file, l.offset = file, offset
			offset += n * entrySize
		}
		l.entries = make([]entry, size)
		// The first touch of a page would delay an event.
		for at := int64(0); at < size; at += pageSize / entrySize {
			l.entries[at].dur = 0
		}
		l.entries = l.entries[:0]
	}
	return logs, nil
}

func (l *log) len() int64 { return l.spilled + int64(len(l.entries)) }

// crowded reports whether the next gap should be used to write out entries.
func (l *log) crowded() bool { return l.file != nil && len(l.entries) > cap(l.entries)/2 }

// full reports whether entries must be written out before the next is added.
func (l *log) full() bool { return len(l.entries) == cap(l.entries) }

func (l *log) spill() error {
	if l.file == nil {
		return fmt.Errorf("write the log: more events than the %d of the trace", cap(l.entries))
	}
	if _, err := l.file.WriteAt(bytesOf(l.entries), l.offset+l.spilled*entrySize); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	l.spilled += int64(len(l.entries))
	l.entries = l.entries[:0]
	return nil
}

// read fills entries with those from position i, and returns how many.
func (l *log) read(i int64, entries []entry) (int, error) {
	if i >= l.len() {
		return 0, io.EOF
	}
	if i >= l.spilled {
		return copy(entries, l.entries[i-l.spilled:]), nil
	}
	n := min(int64(len(entries)), l.spilled-i)
	if _, err := l.file.ReadAt(bytesOf(entries[:n]), l.offset+i*entrySize); err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	return int(n), nil
}

// bytesOf returns the memory of entries. No other process reads the file.
func bytesOf(entries []entry) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(entries))), int64(len(entries))*entrySize)
}
