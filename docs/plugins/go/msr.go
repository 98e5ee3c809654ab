package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/format/importer"
)

// msr is the format of the block traces of MSR Cambridge, which the SNIA
// distributes: lines of
//
//	TIMESTAMP,HOST,DISK,Read|Write,OFFSET,SIZE,RESPONSETIME
//
// with times in units of 100 ns, and bytes. Each disk is a file. Pianola reads these traces
// itself, with their response times. A format that a program adds is tried first, so that
// this example leaves the response times out and plays all requests by one thread.
var msr = importer.Format{
	Name: "MSR Cambridge",
	Is: func(head []byte) bool {
		line, _, _ := bytes.Cut(head, []byte("\n"))
		_, err := parseRequest(line)
		return err == nil
	},
	Open: func(r io.Reader, name string) (format.Reader, error) {
		m := &msrLog{first: -1}
		h := &format.Header{}
		h.Set(importer.MetaSource, "MSR Cambridge")
		h.Set(importer.MetaUnknown, "durations, threads")
		return importer.NewLines(r, name, h, m.parse), nil
	},
}

// disks bounds the number of a disk; descriptors of disks begin at firstFD.
const (
	disks   = 64
	firstFD = 3
)

// msrLog is what has to be remembered from line to line.
type msrLog struct {
	first int64 // timestamp of the first request
	open  [disks]bool
}

func (m *msrLog) parse(queue []format.Event, line []byte) ([]format.Event, error) {
	q, err := parseRequest(line)
	if err != nil {
		return queue, err
	}
	if m.first < 0 {
		m.first = q.time
	}
	if q.time < m.first || q.time-m.first > 1<<54 {
		return queue, errors.New("time out of range")
	}
	e := format.Event{TID: 1, Start: (q.time - m.first) * 100, Dur: format.Unknown}
	fd := firstFD + q.disk
	if !m.open[q.disk] {
		m.open[q.disk] = true
		open := e
		open.Op, open.Ret, open.Str[0], open.Args[1] = format.OpOpen, fd, fmt.Append(nil, "disk", q.disk), format.RDWR
		queue = append(queue, open)
	}
	e.Op, e.Ret, e.Args = q.op, q.size, [format.MaxArgs]int64{fd, 0, q.size, q.offset}
	return append(queue, e), nil
}

type request struct {
	time, disk, offset, size int64
	op                       format.Op
}

var directions = map[string]format.Op{"Read": format.OpPread64, "Write": format.OpPwrite64}

func parseRequest(line []byte) (q request, err error) {
	f := strings.Split(strings.TrimSpace(string(line)), ",")
	if len(f) != 7 {
		return q, fmt.Errorf("%d fields, not 7", len(f))
	}
	for i, n := range []*int64{0: &q.time, 2: &q.disk, 4: &q.offset, 5: &q.size} {
		if n == nil {
			continue
		}
		if *n, err = strconv.ParseInt(f[i], 10, 64); err != nil || *n < 0 {
			return q, fmt.Errorf("%q is not a number", f[i])
		}
	}
	q.op = directions[f[3]]
	switch {
	case q.op == 0:
		return q, fmt.Errorf("%q is neither Read nor Write", f[3])
	case q.disk >= disks:
		return q, fmt.Errorf("more than %d disks", disks)
	}
	return q, nil
}
