package importer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pianola/format"
)

// ioprof parses a log of IOProf, of one process:
//
//	Time:SECONDS:MICROS:TICKS
//	Name:/usr/bin/app
//	Args:--fast
//	TpS:21943238
//	PID:22209
//	PPID:22075
//	open:START:END:0:0:7:some/file
//	read:START:END:922:0:7
//	endoflog-file
//
// with times in ticks, TpS to a second. The number after END is the result, the
// sixth field the descriptor. The line Time is repeated at the end.
type ioprof struct {
	h       format.Header
	epoch   int64 // of the start, nanoseconds since 1970
	base    int64 // of the start, ticks
	tps     int64 // ticks in a second
	timed   bool
	pid     int32
	command string
	files   names
	skipped map[string]int64
}

// The functions of the C library that IOProf logs. The log has neither the
// offset of pread nor the arguments of fseek.
var ioprofOps = map[string]format.Op{
	"open": format.OpOpen, "open64": format.OpOpen, "fopen": format.OpOpen, "fopen64": format.OpOpen, "creat": format.OpOpen,
	"read": format.OpRead, "fread": format.OpRead, "readv": format.OpRead,
	"write": format.OpWrite, "fwrite": format.OpWrite, "writev": format.OpWrite,
	"lseek": format.OpLseek, "lseek64": format.OpLseek,
	"fsync": format.OpFsync, "fdatasync": format.OpFdatasync,
	"close": format.OpClose, "fclose": format.OpClose,
}

const ioprofEnd = "endoflog-file"

// isIOProf reports whether a line is the first of a log: "Time:1:2:3".
func isIOProf(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("Time:"))
	if !ok {
		return false
	}
	_, _, err := ioprofTime(rest)
	return err == nil
}

func ioprofTime(text []byte) (epoch, ticks int64, err error) {
	a, rest := field(text, ':')
	b, rest := field(rest, ':')
	seconds, ok1 := number(a)
	micros, ok2 := number(b)
	ticks, ok3 := number(rest)
	if !ok1 || !ok2 || !ok3 || seconds > maxNanos/1_000_000_000 || micros >= 1e6 {
		return 0, 0, errors.New("malformed time, expected seconds, microseconds and ticks")
	}
	return seconds*1e9 + micros*1e3, ticks, nil
}

func (p *ioprof) header() *format.Header {
	p.h.Set(MetaSource, IOProf.String())
	p.h.Set(format.MetaTool, "IOProf") // so that compile notices a log without an end
	p.h.Set(MetaUnknown, "flags of open, errors, whence of lseek, threads")
	return &p.h
}

func (p *ioprof) finish() {
	if len(p.skipped) == 0 {
		return
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p.skipped)) {
		words = append(words, fmt.Sprintf("%s=%d", name, p.skipped[name]))
	}
	p.h.Set(MetaSkipped, strings.Join(words, " "))
}

// skip counts a line without an event.
func (p *ioprof) skip(name []byte) {
	const maxKinds = 1024
	if p.skipped == nil {
		p.skipped = make(map[string]int64)
	}
	key := string(name)
	if _, ok := p.skipped[key]; !ok && len(p.skipped) >= maxKinds {
		key = "other"
	}
	p.skipped[key]++
}

func (p *ioprof) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	word, rest := field(line, ':')
	var ok bool
	switch string(word) {
	case "":
		return queue, nil
	case ioprofEnd:
		p.h.Set(format.MetaLost, "0")
		return queue, nil
	case "Time":
		epoch, ticks, err := ioprofTime(rest)
		if err == nil && !p.timed {
			p.epoch, p.base, p.timed = epoch, ticks, true
			p.h.Set(format.MetaStart, time.Unix(0, epoch).UTC().Format(time.RFC3339Nano))
		}
		return queue, err
	case "Name", "Args":
		if len(rest) > 0 {
			p.command = strings.TrimLeft(p.command+" "+string(rest), " ")
			if len(p.command) > maxLine {
				return queue, errors.New("command too long")
			}
			p.h.Set(format.MetaCommand, p.command)
		}
		return queue, nil
	case "TpS":
		if p.tps, ok = number(rest); !ok || p.tps == 0 {
			return queue, errors.New("malformed number of ticks in a second")
		}
		return queue, nil
	case "PID", "PPID":
		n, ok := number(rest)
		if !ok || n <= 0 || n > 1<<31-1 {
			return queue, errors.New("malformed process id")
		}
		if string(word) == "PID" {
			p.pid = int32(n)
		}
		return queue, nil
	}
	if p.tps == 0 || !p.timed || p.pid == 0 {
		return queue, errors.New("a call before Time, TpS and PID")
	}
	e := format.Event{TID: p.pid}
	taken, err := p.call(&e, word, rest)
	if err != nil || !taken {
		return queue, err
	}
	return append(queue, e), nil
}

// call parses "START:END:RESULT:…:FD[:PATH]". It returns false, and counts the line, if
// it is not an event.
func (p *ioprof) call(e *format.Event, name, rest []byte) (taken bool, err error) {
	var words [5][]byte
	for i := range words {
		words[i], rest = field(rest, ':')
	}
	start, ok1 := number(words[0])
	end, ok2 := number(words[1])
	if !ok1 || !ok2 || start < p.base || end < start {
		return false, errors.New("malformed call, expected NAME:START:END:RESULT:…:FD in ticks since Time")
	}
	if e.Start, ok1 = scale(uint64(start-p.base), 1e9, uint64(p.tps)); ok1 {
		e.Dur, ok1 = scale(uint64(end-start), 1e9, uint64(p.tps))
	}
	if !ok1 {
		return false, errors.New("time out of range")
	}
	var known bool
	if e.Op, known = ioprofOps[string(name)]; !known {
		p.skip(name)
		return false, nil
	}
	result, ok := number(words[2])
	fd, okFD := number(words[4])
	if !ok || !okFD {
		// The log does not have the errno.
		if bytes.HasPrefix(words[2], []byte("-")) || bytes.HasPrefix(words[4], []byte("-")) {
			p.skip(append([]byte("failed "), name...))
			return false, nil
		}
		return false, errors.New("malformed call, expected NAME:START:END:RESULT:…:FD")
	}
	if fd > 1<<31-1 {
		return false, errors.New("descriptor out of range")
	}
	e.Args[0], e.Ret = fd, result
	switch e.Op {
	case format.OpOpen:
		if len(rest) == 0 {
			return false, errors.New("open without a path")
		}
		n, err := p.files.add(rest)
		if err != nil {
			return false, err
		}
		e.Args[0], e.Args[1], e.Str[0], e.Ret = 0, format.RDWR, p.files.text[n], fd
	case format.OpRead, format.OpWrite:
		e.Args[2] = result // the log does not have the requested size
	case format.OpLseek:
		e.Args[1] = result
	default:
		e.Ret = 0
	}
	return true, nil
}
