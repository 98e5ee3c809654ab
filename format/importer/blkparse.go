package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"pianola/format"
)

// blkparse parses what blkparse(1) prints of a trace of the block layer:
//
//	8,0    3        1     0.000000000   697  D   W 223490 + 8 [kjournald]
//
// device, processor, number, seconds, process, action, kind, first sector + sectors.
// A request takes from D, when the driver has it, to C, when it is complete. Lines of
// other actions, and the sums at the end, say nothing more.
type blkparse struct {
	h       format.Header
	fold    int64
	t       *tracks
	flying  map[flight]int64 // when it was issued, nanoseconds
	name    []byte
	summary bool
	lost    int64 // completions without an issue
}

// flight is a request that the driver has.
type flight struct {
	major, minor    int64
	sector, sectors int64
	kind            byte
}

// maxFlights bounds the requests in flight. Linux has at most some ten thousand a
// device.
const maxFlights = 1 << 20

func openBlkparse(r io.Reader, name string, o Options) (format.Reader, error) {
	return newLines(r, name, &blkparse{fold: o.Fold, t: newTracks(), flying: map[flight]int64{}}), nil
}

func isBlkparse(head []byte) bool {
	var b blkLine
	return b.parse(firstLine(head))
}

func (p *blkparse) header() *format.Header {
	p.h.Set(MetaSource, "blkparse")
	p.h.Set(MetaUnknown, ticksAll)
	return &p.h
}

func (p *blkparse) finish() {
	if n := p.lost + int64(len(p.flying)); n > 0 {
		format.Skipped{"unfinished": n}.Remark(&p.h)
	}
}

// blkLine is a line of blkparse.
type blkLine struct {
	flight
	time   int64 // nanoseconds
	action byte
	sized  bool
}

// parse reports whether the line is one of an action.
func (b *blkLine) parse(line []byte) (ok bool) {
	*b = blkLine{}
	device, rest := field(line, ' ')
	major, minor, ok := bytes.Cut(device, []byte{','})
	if !ok {
		return false
	}
	var ok1, ok2, ok3 bool
	b.major, ok1 = number(major)
	b.minor, ok2 = number(minor)
	cpu, rest := field(rest, ' ')
	_, ok3 = number(cpu)
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	seq, rest := field(rest, ' ')
	seconds, rest := field(rest, ' ')
	pid, rest := field(rest, ' ')
	action, rest := field(rest, ' ')
	kind, rest := field(rest, ' ')
	nanos, err := format.ParseSeconds(seconds)
	_, ok1 = number(seq)
	_, ok2 = number(pid)
	if err != nil || !ok1 || !ok2 || nanos < 0 || nanos > maxNanos || len(action) == 0 || len(action) > 2 || len(kind) == 0 {
		return false
	}
	b.time, b.action, b.kind = nanos, action[0], kind[0]
	if b.kind == 'F' && len(kind) > 1 && kind[1] == 'W' && bytes.IndexByte(rest, '+') >= 0 {
		b.kind = 'W' // a flush and then a write
	}
	if len(action) == 2 {
		b.action = 0 // such as UT
	}
	first, rest := field(rest, ' ')
	plus, rest := field(rest, ' ')
	count, _ := field(rest, ' ')
	if string(plus) == "+" {
		b.sector, ok1 = number(first)
		b.sectors, ok2 = number(count)
		b.sized = ok1 && ok2 && b.sector < maxOffset/sector && b.sectors < maxOffset/sector
		return b.sized
	}
	return true
}

func (p *blkparse) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' || p.summary {
		return queue, nil
	}
	var b blkLine
	if !b.parse(line) {
		// The sums begin with CPU0 (sda): or Total (sda):
		if bytes.HasPrefix(line, []byte("CPU")) || bytes.HasPrefix(line, []byte("Total")) {
			p.summary = true
			return queue, nil
		}
		return queue, errors.New("malformed line of blkparse, expected MAJOR,MINOR CPU NUMBER SECONDS PID ACTION KIND SECTOR + SECTORS")
	}
	if !b.sized && b.kind != 'F' {
		return queue, nil
	}
	switch b.action {
	case 'D':
		if len(p.flying) == maxFlights {
			return queue, fmt.Errorf("more than %d requests in flight", maxFlights)
		}
		p.flying[b.flight] = b.time
	case 'C':
		begin, ok := p.flying[b.flight]
		if !ok {
			p.lost++
			return queue, nil
		}
		delete(p.flying, b.flight)
		return p.request(queue, &b, begin)
	}
	return queue, nil
}

// request appends one that is complete.
func (p *blkparse) request(queue []format.Event, b *blkLine, begin int64) ([]format.Event, error) {
	e := format.Event{Start: begin, Dur: max(b.time-begin, 0)}
	p.name = fmt.Appendf(p.name[:0], "volume-%d-%d", b.major, b.minor)
	switch {
	case b.kind == 'F' || b.sectors == 0:
		file, err := p.t.files.add(p.name)
		if err != nil {
			return queue, err
		}
		if e.TID, err = p.t.lane(p.name, begin, b.time); err != nil {
			return queue, err
		}
		queue, fd, err := p.t.descriptor(queue, e.TID, file, begin)
		if err != nil {
			return queue, err
		}
		e.Op, e.Args[0] = format.OpFsync, fd
		return append(queue, e), nil
	case b.kind == 'R':
		e.Op = format.OpPread64
	case b.kind == 'W':
		e.Op = format.OpPwrite64
	default:
		return queue, nil // a discard
	}
	return addRequest(queue, p.t, e, p.name, b.sector*sector, b.sectors*sector, p.fold)
}
