package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"pianola/format"
)

// Block traces hold the requests that reached a volume: when, where and how many
// bytes. Public sets of them are tables of text, each with columns and units of its
// own.

// layout is a kind of block trace.
type layout struct {
	name    string
	comma   byte
	columns []column
	unknown string
}

// column is what a column of a block trace holds.
type column uint8

const (
	ignored column = iota
	windowsTime
	nanosTime
	microsTime
	secondsTime
	secondsFraction // decimal
	volume          // a part of the volume's name
	direction       // R, W, Read, Write
	directionBit    // 0 read, 1 write
	offsetBytes
	offsetSectors
	lengthBytes
	lengthSectors
	ticksTaken // 100 ns
)

const (
	sector   = 512
	ticksAll = "threads, flags of open, reads from the page cache"
)

// layouts are the block traces that are known, by the collection that made each
// known. A line tells them apart.
var layouts = []layout{
	{"MSR Cambridge block trace", ',', []column{windowsTime, volume, volume, direction, offsetBytes, lengthBytes, ticksTaken}, ticksAll},
	{"Alibaba block trace", ',', []column{volume, direction, offsetBytes, lengthBytes, microsTime}, "durations, " + ticksAll},
	{"SPC block trace", ',', []column{volume, offsetSectors, lengthBytes, direction, secondsFraction}, "durations, " + ticksAll},
	{"Tencent block trace", ',', []column{secondsTime, offsetSectors, lengthSectors, directionBit, volume}, "durations, fractions of seconds, " + ticksAll},
	{"FIU block trace", ' ', []column{nanosTime, ignored, ignored, offsetSectors, lengthSectors, direction, volume, volume, ignored}, "durations, " + ticksAll},
}

// blockLine is a line of a block trace.
type blockLine struct {
	time   int64 // nanoseconds
	taken  int64 // nanoseconds, format.Unknown
	offset int64
	length int64
	op     format.Op
	volume []byte
}

// parse fills b from a line. It says which column, from 1, is malformed, 0 for none.
func (l *layout) parse(line []byte, b *blockLine) (bad int) {
	*b = blockLine{taken: format.Unknown, volume: append(b.volume[:0], "volume"...)}
	for i, c := range l.columns {
		word, rest := field(line, l.comma)
		last := i+1 == len(l.columns)
		if last && len(bytes.TrimSpace(rest)) > 0 || !last && len(rest) == 0 {
			return i + 1
		}
		if line = rest; !b.set(c, bytes.TrimSpace(word)) {
			return i + 1
		}
	}
	if b.offset > maxOffset-b.length {
		return len(l.columns)
	}
	return 0
}

// maxOffset bounds the end of a request, in bytes.
const maxOffset = 1 << 62

// set takes the value of a column.
func (b *blockLine) set(c column, word []byte) (ok bool) {
	switch c {
	case ignored:
		return len(word) > 0
	case volume:
		b.volume = append(append(b.volume, '-'), bytes.ReplaceAll(word, []byte("/"), []byte("_"))...)
		return len(word) > 0 && len(word) < 256
	case direction, directionBit:
		b.op, ok = directions[strings.ToLower(string(word))]
		return ok && (c == directionBit) == (word[0] <= '9')
	case secondsFraction:
		nanos, err := format.ParseSeconds(word)
		b.time = nanos
		return err == nil && nanos >= 0 && nanos <= maxNanos
	}
	v, ok := number(word)
	if !ok {
		return false
	}
	switch c {
	case offsetBytes, offsetSectors:
		b.offset = v * scaleOf[c]
		return v <= maxOffset/scaleOf[c]
	case lengthBytes, lengthSectors:
		b.length = v * scaleOf[c]
		return v <= maxOffset/scaleOf[c]
	case ticksTaken:
		b.taken, ok = scale(uint64(v), 100, 1)
		return ok
	case windowsTime:
		// The clock counts 100 ns from 1601; only differences are used.
		b.time = v
		return true
	}
	b.time, ok = scale(uint64(v), uint64(scaleOf[c]), 1)
	return ok
}

var (
	directions = map[string]format.Op{
		"r": format.OpPread64, "read": format.OpPread64, "0": format.OpPread64,
		"w": format.OpPwrite64, "write": format.OpPwrite64, "1": format.OpPwrite64,
	}
	scaleOf = map[column]int64{
		nanosTime: 1, microsTime: 1e3, secondsTime: 1e9,
		offsetBytes: 1, offsetSectors: sector, lengthBytes: 1, lengthSectors: sector,
	}
)

// layoutOf returns the layout of a line, or nil.
func layoutOf(line []byte) *layout {
	var b blockLine
	for i := range layouts {
		if layouts[i].parse(line, &b) == 0 {
			return &layouts[i]
		}
	}
	return nil
}

// isBlockTrace reports whether a file begins with a line of a block trace.
func isBlockTrace(head []byte) bool { return layoutOf(firstLine(head)) != nil }

// firstLine returns the first line that is neither empty nor a comment.
func firstLine(head []byte) []byte {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// blockTrace parses a block trace.
type blockTrace struct {
	h      format.Header
	layout *layout
	fold   int64
	t      *tracks
	line   blockLine
	base   int64 // time of the first line
	begun  bool
}

func openBlockTrace(r io.Reader, name string, o Options) (format.Reader, error) {
	return newLines(r, name, &blockTrace{fold: o.Fold, t: newTracks()}), nil
}

func (p *blockTrace) finish() {}

func (p *blockTrace) header() *format.Header {
	if p.layout != nil {
		p.h.Set(MetaSource, p.layout.name)
		p.h.Set(MetaUnknown, p.layout.unknown)
	}
	return &p.h
}

func (p *blockTrace) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
		return queue, nil
	}
	if p.layout == nil {
		if p.layout = layoutOf(line); p.layout == nil {
			return queue, errors.New("not a request of a block trace")
		}
	}
	b := &p.line
	if bad := p.layout.parse(line, b); bad != 0 {
		return queue, fmt.Errorf("malformed column %d of a line of the %s", bad, p.layout.name)
	}
	if !p.begun {
		p.begun, p.base = true, b.time
	}
	e := format.Event{Start: b.time - p.base, Dur: b.taken, Op: b.op}
	if p.layout.columns[0] == windowsTime {
		e.Start *= 100
	}
	if e.Start < -maxNanos || e.Start > maxNanos {
		return queue, errors.New("time out of range")
	}
	return addRequest(queue, p.t, e, b.volume, b.offset, b.length, p.fold)
}

// addRequest appends a request of a volume, by a thread that is free then. Offsets
// are folded into a volume of fold bytes, unless that is 0.
func addRequest(queue []format.Event, t *tracks, e format.Event, volume []byte, offset, length, fold int64) ([]format.Event, error) {
	if fold > 0 {
		length = min(length, fold)
		offset = min(offset%fold, fold-length)
	}
	file, err := t.files.add(volume)
	if err != nil {
		return queue, err
	}
	if e.TID, err = t.lane(volume, e.Start, e.Start+max(e.Dur, 0)); err != nil {
		return queue, err
	}
	return t.transfer(queue, e, file, length, offset)
}
