package engine

import (
	"fmt"
	"io"
	"os"
	"unsafe"
)

// Entry is the part of a log event that is not in the trace.
type Entry struct {
	Start int64 // nanoseconds since the start of the replay
	Dur   int64 // nanoseconds
	Ret   int64
	Wait  int64 // nanoseconds before the start that the thread waited for others
}

// EntrySize is the size of an Entry in memory, in bytes.
const EntrySize = int64(unsafe.Sizeof(Entry{}))

// spillEntries is how many entries are held if not all fit into memory. The
// worker stops while half of them are written, for less than the gap that it
// uses. With more entries the stops would be fewer, but noticeably long.
const spillEntries = 8192

// Log holds the entries of one thread. Those that do not fit into memory are in
// a file without a name. Its memory is allocated before the first event.
type Log struct {
	entries []Entry // the youngest; length in use, capacity fixed
	spilled int64   // how many are in the file
	file    *os.File
	offset  int64 // of the first in the file
}

// newLogs makes a log for each thread, given their numbers of events, within a
// number of bytes of memory.
func newLogs(lengths []int64, memory int64) ([]Log, error) {
	var total int64
	for _, n := range lengths {
		total += n
	}
	room := memory / EntrySize
	logs := make([]Log, len(lengths))
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
			offset += n * EntrySize
		}
		l.entries = make([]Entry, size)
		// The first touch of a page would delay an event.
		for at := int64(0); at < size; at += pageSize / EntrySize {
			l.entries[at].Dur = 0
		}
		l.entries = l.entries[:0]
	}
	return logs, nil
}

// Len returns the number of entries.
func (l *Log) Len() int64 { return l.spilled + int64(len(l.entries)) }

// Spilled reports whether some entries did not fit into memory.
func (l *Log) Spilled() bool { return l.spilled > 0 }

// crowded reports whether the next gap should be used to write out entries.
func (l *Log) crowded() bool { return l.file != nil && len(l.entries) > cap(l.entries)/2 }

// full reports whether entries must be written out before the next is added.
func (l *Log) full() bool { return len(l.entries) == cap(l.entries) }

func (l *Log) spill() error {
	if l.file == nil {
		return fmt.Errorf("write the log: more events than the %d of the trace", cap(l.entries))
	}
	if _, err := l.file.WriteAt(BytesOf(l.entries), l.offset+l.spilled*EntrySize); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	l.spilled += int64(len(l.entries))
	l.entries = l.entries[:0]
	return nil
}

// Read fills entries with those from position i, and returns how many. The
// error at the end is io.EOF. Several goroutines may call it after the end of the run.
func (l *Log) Read(i int64, entries []Entry) (int, error) {
	if i >= l.Len() {
		return 0, io.EOF
	}
	if i >= l.spilled {
		return copy(entries, l.entries[i-l.spilled:]), nil
	}
	n := min(int64(len(entries)), l.spilled-i)
	if _, err := l.file.ReadAt(BytesOf(entries[:n]), l.offset+i*EntrySize); err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	return int(n), nil
}

// BytesOf returns the memory of entries. No other process reads the file.
func BytesOf(entries []Entry) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(entries))), int64(len(entries))*EntrySize)
}

// Append adds entries that another process has made.
func (l *Log) Append(entries []Entry) error {
	for len(entries) > 0 {
		if l.full() {
			if err := l.spill(); err != nil {
				return err
			}
		}
		n := min(len(entries), cap(l.entries)-len(l.entries))
		l.entries = append(l.entries, entries[:n]...)
		entries = entries[n:]
	}
	return nil
}

// pageSize is that of the machine or less, in bytes.
const pageSize = 4096
