package importer

import (
	"bytes"
	"errors"

	"pianola/format"
)

// iozone parses a telemetry file of iozone (-X, -Y):
//
//	OFFSET LENGTH DELAY
//
// in bytes and milliseconds. iozone computes for the delay before the transfer.
// Lines that begin with "#" are comments.
type iozone struct {
	write bool
	begun bool
	clock int64
	h     format.Header
}

var iozonePath = []byte("iozone")

func (p *iozone) header() *format.Header {
	p.h.Set(MetaSource, Iozone.String())
	p.h.Set(MetaUnknown, "durations, threads, name of the file, direction")
	return &p.h
}

func (p *iozone) finish() {}

// telemetry parses a line.
func telemetry(line []byte) (offset, length, delay int64, ok bool) {
	a, rest := field(line, ' ')
	b, rest := field(rest, ' ')
	c, rest := field(rest, ' ')
	offset, ok1 := number(a)
	length, ok2 := number(b)
	millis, err := format.ParseSeconds(c)
	ok = ok1 && ok2 && err == nil && millis >= 0 && len(bytes.TrimSpace(rest)) == 0
	return offset, length, millis / 1000, ok
}

func isTelemetry(line []byte) bool {
	_, _, _, ok := telemetry(line)
	return ok
}

func (p *iozone) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	if line = bytes.TrimLeft(line, " \t"); len(line) == 0 || line[0] == '#' {
		return queue, nil
	}
	offset, length, delay, ok := telemetry(line)
	if !ok {
		return queue, errors.New("expected offset, length and delay in milliseconds")
	}
	e := format.Event{TID: 1, Start: p.clock, Dur: format.Unknown}
	if !p.begun {
		p.begun = true
		open := e
		open.Op, open.Ret, open.Str[0], open.Args[1] = format.OpOpen, firstFD, iozonePath, format.RDWR
		queue = append(queue, open)
	}
	if p.clock += delay; p.clock > maxNanos {
		return queue, errors.New("time out of range")
	}
	e.Start, e.Op, e.Ret = p.clock, format.OpPread64, length
	if p.write {
		e.Op = format.OpPwrite64
	}
	e.Args = [format.MaxArgs]int64{firstFD, 0, length, offset}
	return append(queue, e), nil
}
