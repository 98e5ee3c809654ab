package importer

import (
	"bytes"
	"errors"
	"fmt"

	"pianola/format"
)

var (
	fioPrefix = []byte("fio version ")
	fioV2Line = []byte("fio version 2 iolog")
	fioV3Line = []byte("fio version 3 iolog")
)

// fio parses an iolog of fio:
//
//	v2: FILE ACTION [OFFSET LENGTH]
//	v3: MICROS FILE ACTION [OFFSET LENGTH]
//
// Times of v3 are microseconds since the start, as fio 3.33 writes them. The
// offset of a wait, of v2 only, is in microseconds.
type fio struct {
	version Kind
	begun   bool
	h       format.Header
	clock   int64 // nanoseconds since the start
	files   names
	fds     []int32 // by number of the file, 0 if it is closed
	free    []bool  // by descriptor - firstFD: it was used and is free again
	low     int     // no descriptor below it is free
}

// firstFD is the first descriptor of a file, after the standard ones.
const firstFD = 3

// fioIO is the actions on an open file.
var fioIO = map[string]format.Op{
	"read": format.OpPread64, "write": format.OpPwrite64, "trim": format.OpFallocate,
	"sync": format.OpFsync, "datasync": format.OpFdatasync, "sync_file_range": format.OpSyncFileRange, "syncfs": format.OpSyncfs,
}

func (p *fio) header() *format.Header {
	p.h.Set(MetaSource, p.version.String())
	p.h.Set(MetaUnknown, "durations, threads, flags of open")
	return &p.h
}

func (p *fio) finish() {}

func (p *fio) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	if !p.begun {
		p.begun = true
		if line = bytes.TrimRight(line, " \t"); !bytes.Equal(line, fioV2Line) && !bytes.Equal(line, fioV3Line) {
			return queue, fmt.Errorf("%q: only versions 2 and 3 of fio's iolog are supported", line)
		}
		return queue, nil
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return queue, nil
	}
	if p.version == FioV3 {
		var word []byte
		word, line = field(line, ' ')
		micros, ok := number(word)
		if ok {
			p.clock, ok = scale(uint64(micros), 1e3, 1)
		}
		if !ok {
			return queue, errors.New("malformed time, expected microseconds")
		}
	}
	name, rest := field(line, ' ')
	action, rest := field(rest, ' ')
	file, err := p.files.add(name)
	if err != nil {
		return queue, err
	}
	if file == len(p.fds) {
		p.fds = append(p.fds, 0)
	}
	e := format.Event{TID: 1, Start: p.clock, Dur: format.Unknown}
	if op, ok := fioIO[string(action)]; ok {
		if err := p.transfer(&e, op, file, rest); err != nil {
			return queue, err
		}
		return append(queue, e), nil
	}
	switch string(action) {
	case "add", "open", "close":
		if len(rest) > 0 {
			return queue, fmt.Errorf("unexpected text after %s", action)
		}
		if string(action) == "add" || !p.manage(&e, string(action), file) {
			return queue, nil
		}
		return append(queue, e), nil
	case "wait":
		if p.version == FioV3 {
			return queue, errors.New("version 3 has no action wait")
		}
		micros, _, err := offsetLength(rest)
		if err != nil {
			return queue, err
		}
		wait, ok := scale(uint64(micros), 1e3, 1)
		if p.clock += wait; !ok || p.clock > maxNanos {
			return queue, errors.New("time out of range")
		}
		return queue, nil
	case "":
		return queue, errors.New("expected a file and an action")
	}
	return queue, fmt.Errorf("unknown action %q", action)
}

// offsetLength parses the two numbers at the end of a line.
func offsetLength(text []byte) (offset, length int64, err error) {
	a, rest := field(text, ' ')
	b, rest := field(rest, ' ')
	offset, ok1 := number(a)
	length, ok2 := number(b)
	if !ok1 || !ok2 || len(rest) > 0 {
		return 0, 0, errors.New("expected an offset and a length in bytes")
	}
	return offset, length, nil
}

// manage opens or closes a file. It reports whether that is an event: like fio,
// it ignores the opening of an open file and the closing of a closed one.
func (p *fio) manage(e *format.Event, action string, file int) bool {
	if (action == "open") == (p.fds[file] != 0) {
		return false
	}
	if action == "open" {
		// The log does not have the flags. These allow reads and writes, and do
		// not claim that fio created the file.
		e.Op, e.Str[0], e.Args[1] = format.OpOpen, p.files.text[file], format.RDWR
		p.fds[file] = p.take()
		e.Ret = int64(p.fds[file])
		return true
	}
	e.Op, e.Args[0] = format.OpClose, int64(p.fds[file])
	i := int(p.fds[file] - firstFD)
	p.free[i], p.low = true, min(p.low, i)
	p.fds[file] = 0
	return true
}

// take returns the lowest free descriptor.
func (p *fio) take() int32 {
	for p.low < len(p.free) && !p.free[p.low] {
		p.low++
	}
	if p.low == len(p.free) {
		p.free = append(p.free, false)
	}
	p.free[p.low] = false
	return int32(p.low + firstFD)
}

// transfer makes the event of an action on an open file.
func (p *fio) transfer(e *format.Event, op format.Op, file int, rest []byte) error {
	offset, length, err := offsetLength(rest)
	if err != nil {
		return err
	}
	if p.fds[file] == 0 {
		return fmt.Errorf("%q is not open", p.files.text[file])
	}
	e.Op, e.Args[0] = op, int64(p.fds[file])
	switch op {
	case format.OpPread64, format.OpPwrite64:
		e.Args[2], e.Args[3], e.Ret = length, offset, length
	case format.OpFallocate:
		e.Args[1], e.Args[2], e.Args[3] = punchHole, offset, length
	case format.OpSyncFileRange:
		e.Args[1], e.Args[2] = offset, length
	}
	return nil
}

// punchHole is the mode of fallocate for a trim:
// FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE.
const punchHole = 1 | 2
