package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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
// with times in ticks, TpS to a second. Two numbers and the descriptor follow END. The
// line Time is repeated at the end. IOProf's folder sl is an index of the logs: a link to
// each has the name TICKS_TICKS, of both lines Time, with 0 at the end of a log that is
// still written.
type ioprof struct {
	name    string // of the file, without its folder
	h       format.Header
	epoch   int64 // of the start, nanoseconds since 1970
	base    int64 // of the start, ticks
	last    int64 // of the end, ticks
	tps     int64 // ticks in a second
	timed   bool
	pid     int32
	parent  int32
	command string
	files   names
	skipped format.Skipped
}

// ioprofCall is a function of the C library that IOProf logs.
type ioprofCall struct {
	op format.Op // OpNone for one that changes nothing, or makes a socket

	// moves is how many bytes a call moves if the log need not tell, else 0.
	moves int64

	// vague is whether a result of 0 can mean that the log has none.
	vague bool

	// makes says of what the result is: the first number that is not 0.
	makes ioprofResult
}

// ioprofResult is the result of a function that the paper shows no line of.
type ioprofResult uint8

const (
	makesNothing ioprofResult = iota
	makesProcess
	makesSocket
	makesConnection // to a client
)

// ioprofCalls has no function whose effect the log leaves open: fcntl without its command,
// exec without the program, and ungetc.
var ioprofCalls = map[string]ioprofCall{
	"open": {op: format.OpOpen}, "open64": {op: format.OpOpen}, "creat": {op: format.OpOpen}, "creat64": {op: format.OpOpen},
	"fopen": {op: format.OpOpen}, "fopen64": {op: format.OpOpen}, "fdopen": {},
	"close": {op: format.OpClose}, "fclose": {op: format.OpClose},
	"read": {op: format.OpRead}, "readv": {op: format.OpRead}, "fread": {op: format.OpRead}, "pread": {op: format.OpPread64},
	"fgets": {op: format.OpRead}, "gets": {op: format.OpRead}, "fscanf": {op: format.OpRead}, "vfscanf": {op: format.OpRead},
	"fgetc": {op: format.OpRead, moves: 1}, "getc": {op: format.OpRead, moves: 1},
	"write": {op: format.OpWrite}, "writev": {op: format.OpWrite}, "fwrite": {op: format.OpWrite}, "pwrite": {op: format.OpPwrite64},
	"fputs": {op: format.OpWrite}, "puts": {op: format.OpWrite}, "fprintf": {op: format.OpWrite}, "vfprintf": {op: format.OpWrite},
	"fputc": {op: format.OpWrite, moves: 1}, "putc": {op: format.OpWrite, moves: 1},
	"lseek": {op: format.OpLseek}, "lseek64": {op: format.OpLseek}, "rewind": {op: format.OpLseek},
	"fseek": {op: format.OpLseek, vague: true}, "fseek64": {op: format.OpLseek, vague: true}, "fsetpos": {op: format.OpLseek, vague: true},
	"dup": {op: format.OpDup, vague: true}, "dup2": {op: format.OpDup2, vague: true},
	"fork": {op: format.OpFork, vague: true, makes: makesProcess}, "socket": {vague: true, makes: makesSocket}, "accept": {vague: true, makes: makesConnection},
	"fsync": {op: format.OpFsync}, "fdatasync": {op: format.OpFdatasync},
	"recv": {op: format.OpRecvfrom}, "recvfrom": {op: format.OpRecvfrom}, "recvmsg": {op: format.OpRecvmsg},
	"send": {op: format.OpSendto}, "sendto": {op: format.OpSendto}, "sendmsg": {op: format.OpSendmsg},
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
	p.h.Set(MetaUnknown, "flags of open, errors, whence of seeks, offsets of pread and pwrite that are 0, threads, peers of sockets, descriptors that exec closes")
	return &p.h
}

func (p *ioprof) finish() {
	p.skipped.Remark(&p.h)
	first, last, _ := strings.Cut(p.name, "_")
	begin, ok := number([]byte(first))
	end, okEnd := number([]byte(last))
	_, ended := p.h.Value(format.MetaLost)
	switch {
	case !ok || !okEnd || begin != p.base: // it is not the name of a link
	case end == 0 && !ended:
		p.h.Set(format.MetaIncomplete, p.name+" (still written)")
	case end != 0 && end != p.last:
		p.h.Set(format.MetaIncomplete, p.name+" (another end)")
	}
}

// close compares the times of day with the ticks, at the end of a log.
func (p *ioprof) close(epoch, ticks int64) {
	p.last = ticks
	wall := epoch - p.epoch
	ran, ok := scale(uint64(max(ticks-p.base, 0)), 1e9, uint64(max(p.tps, 1)))
	if off := max(ran-wall, wall-ran); !ok || ticks < p.base || off > 1e6+max(ran, wall)/1000 {
		p.h.Set(format.MetaDrift, fmt.Sprintf("%d ticks, %d per second, in %.6f s", ticks-p.base, p.tps, float64(wall)/1e9))
	}
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
		switch {
		case err != nil:
		case p.timed:
			p.close(epoch, ticks)
		default:
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
		} else {
			p.parent = int32(n)
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

// call parses "START:END:NUMBER:NUMBER:FD[:PATH]". It returns false if it is not an event;
// it counts the line if it can have changed something. A new socket is an event without an
// operation, which sockets takes out.
//
// The first number is the result. The second can be the offset of a pread or pwrite. The
// paper does not say whether it is the result of a call that writes: it is taken as that
// if the first is 0, and so for seeks and copies of descriptors.
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
	of, known := ioprofCalls[string(name)]
	if !known {
		p.skipped.Add(string(name), 1)
		return false, nil
	}
	result, ok := number(words[2])
	second, okSecond := number(words[3])
	fd, okFD := number(words[4])
	if !ok || !okFD && of.makes != makesProcess {
		// The log does not have the errno.
		if bytes.HasPrefix(words[2], []byte("-")) || bytes.HasPrefix(words[4], []byte("-")) {
			p.skipped.Add("failed "+string(name), 1)
			return false, nil
		}
		return false, errors.New("malformed call, expected NAME:START:END:RESULT:…:FD")
	}
	offset := int64(0)
	switch {
	case of.makes != makesNothing:
		result = cmp.Or(result, second, fd)
	case !okSecond:
	case result == 0 && of.op.Info().Class != format.ClassRead:
		result = second
	default:
		offset = second
	}
	if of.vague && result == 0 {
		p.skipped.Add(string(name), 1)
		return false, nil
	}
	if of.moves > 0 {
		result = of.moves
	}
	if fd > 1<<31-1 || (of.makes != makesNothing || of.op == format.OpDup || of.op == format.OpDup2) && result > 1<<31-1 {
		return false, errors.New("descriptor or process id out of range")
	}
	e.Op, e.Args[0], e.Ret = of.op, fd, result
	switch e.Op {
	case format.OpNone:
		e.Args[0] = int64(of.makes)
		return of.makes != makesNothing, nil
	case format.OpFork:
		e.Args[0] = 0
	case format.OpPread64, format.OpPwrite64:
		e.Args[2], e.Args[3] = result, offset
		// If the log has no offsets, the calls are not all at the beginning of the file.
		if offset == 0 && e.Op == format.OpPread64 {
			e.Op = format.OpRead
		} else if offset == 0 {
			e.Op = format.OpWrite
		}
	case format.OpOpen:
		if len(rest) == 0 {
			return false, errors.New("open without a path")
		}
		n, err := p.files.add(rest)
		if err != nil {
			return false, err
		}
		e.Args[0], e.Args[1], e.Str[0], e.Ret = 0, format.RDWR, p.files.text[n], fd
	case format.OpRead, format.OpWrite, format.OpRecvfrom, format.OpSendto:
		e.Args[2] = result // the log does not have the requested size
	case format.OpLseek, format.OpDup2:
		e.Args[1] = result
	case format.OpDup, format.OpRecvmsg, format.OpSendmsg:
	default:
		e.Ret = 0
	}
	return true, nil
}
