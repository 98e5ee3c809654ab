package testkit

import (
	"encoding/binary"
	"io"
	"math/rand/v2"

	"pianola/format"
)

// Reader returns events in batches of at most Batch, and then Err. Its header is Head.
type Reader struct {
	Events []format.Event
	Batch  int
	Err    error
	Head   format.Header
}

func (r *Reader) Read(events []format.Event) (int, error) {
	if len(r.Events) == 0 {
		return 0, r.Err
	}
	n := copy(events[:min(r.Batch, len(events))], r.Events)
	r.Events = r.Events[n:]
	return n, nil
}

func (r *Reader) Header() *format.Header { return &r.Head }

// ReadAll returns copies of all events, read in batches of size, and the error that
// ended them unless it is io.EOF.
func ReadAll(r interface {
	Read([]format.Event) (int, error)
}, size int) (events []format.Event, err error) {
	batch := make([]format.Event, size)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			events = append(events, batch[i].Clone())
		}
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
	}
}

// Event returns an event of thread 1; its times are in microseconds.
func Event(op format.Op, start, dur, ret int64) format.Event {
	return format.Event{Op: op, TID: 1, Start: start * 1000, Dur: dur * 1000, Ret: ret}
}

// Application returns the events of a synthetic program that reads its input, computes,
// and writes and syncs a checkpoint every five seconds. slow scales the durations of
// calls, and so the run time.
func Application(seed uint64, slow float64) (events []format.Event) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var now int64
	call := func(op format.Op, nanos float64, ret, compute int64) {
		dur := int64(nanos * slow * (0.5 + rnd.Float64()))
		events = append(events, format.Event{Op: op, TID: 1, Start: now, Dur: dur, Ret: ret})
		now += dur + compute
	}
	call(format.OpOpenat, 40e3, 3, 1e6)
	for range 3000 {
		call(format.OpRead, 900e3, 1<<20, 200e3)
	}
	for range 6 {
		for range 1500 {
			call(format.OpNewfstatat, 90e3, 0, 2e6)
			call(format.OpPread64, 60e3, 4096, 1e6)
		}
		for range 400 {
			call(format.OpWrite, 600e3, 1<<20, 10e3)
		}
		call(format.OpFsync, 180e6, 0, 0)
		call(format.OpClose, 9e3, 0, 0)
	}
	return events
}

// EventSeeds are seed inputs for fuzz tests that use Events.
var EventSeeds = []string{
	"",
	"\x08\x00\x00\x00\x00\x10\x00\x00\x00\x10\x00\x00\x00",
	"\x08\x00\x00\x00\x80\x10\x00\x00\x00\xff\x00\x00\x00\x09\x01\x00\x00\x00\x10\x00\x00\x00\xff\xff\xff\xff",
	"\x13\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x08\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00",
}

// Events decodes the bytes of a fuzz test into events, 13 bytes each: operation, start,
// duration and result. Half of the starts are shifted by a large amount.
func Events(data []byte) (events []format.Event) {
	for ; len(data) >= 13; data = data[13:] {
		e := format.Event{
			Op:    format.Op(data[0]),
			Start: int64(int32(binary.LittleEndian.Uint32(data[1:]))),
			Dur:   int64(int32(binary.LittleEndian.Uint32(data[5:]))),
			Ret:   int64(int32(binary.LittleEndian.Uint32(data[9:]))),
		}
		if data[0]&1 != 0 {
			e.Start <<= 29
		}
		events = append(events, e)
	}
	return events
}
