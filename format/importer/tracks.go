package importer

import (
	"fmt"

	"pianola/format"
)

// Sources of requests, not of calls, say neither which thread made them nor what is
// open. What follows gives them both: a thread for each request that is in flight at
// the same time as others of its group, such as a volume or a rank, and an open of
// a file before its first use by a thread.

// tracks numbers threads and opens files for them.
type tracks struct {
	files  names
	groups map[string][]lane
	next   int32            // the number of the last thread
	open   map[use]int32    // descriptor
	last   map[int32]int32  // of a thread: its last descriptor
	made   map[string]int32 // threads by what the source calls them
}

// use is a file that a thread uses.
type use struct {
	tid  int32
	file int
}

// lane is a thread of a group.
type lane struct {
	tid int32
	end int64 // of its last request, nanoseconds
}

const (
	// maxLanes bounds the threads of one group. Requests beyond wait for the one
	// that is free first.
	maxLanes = 1024

	// maxTracks bounds all threads, and maxOpen the files that all of them have open.
	maxTracks = 1 << 16
	maxOpen   = 1 << 20
)

func newTracks() *tracks {
	return &tracks{groups: map[string][]lane{}, open: map[use]int32{}, last: map[int32]int32{}, made: map[string]int32{}}
}

// thread returns the number of the thread that the source calls so.
func (t *tracks) thread(name []byte) (int32, error) {
	if tid, ok := t.made[string(name)]; ok {
		return tid, nil
	}
	tid, err := t.number()
	if err == nil {
		t.made[string(name)] = tid
	}
	return tid, err
}

func (t *tracks) number() (int32, error) {
	if t.next == maxTracks {
		return 0, fmt.Errorf("more than %d threads", maxTracks)
	}
	t.next++
	return t.next, nil
}

// lane returns a thread of the group that is idle from begin on, where the request
// takes until end. Of those that are idle it takes the one that became so last, so
// that there are as few as can be.
func (t *tracks) lane(group []byte, begin, end int64) (int32, error) {
	lanes := t.groups[string(group)]
	best := -1
	for i, l := range lanes {
		if l.end <= begin && (best < 0 || l.end > lanes[best].end) {
			best = i
		}
	}
	if best < 0 && len(lanes) == maxLanes {
		best = 0
		for i, l := range lanes {
			if l.end < lanes[best].end {
				best = i
			}
		}
	}
	if best < 0 {
		tid, err := t.number()
		if err != nil {
			return 0, err
		}
		best, lanes = len(lanes), append(lanes, lane{tid: tid})
		t.groups[string(group)] = lanes
	}
	lanes[best].end = max(lanes[best].end, end)
	return lanes[best].tid, nil
}

// descriptor returns the descriptor by which a thread uses a file. Before its first
// use it appends an open to queue, at the time of that.
func (t *tracks) descriptor(queue []format.Event, tid int32, file int, at int64) ([]format.Event, int64, error) {
	if fd, ok := t.open[use{tid, file}]; ok {
		return queue, int64(fd), nil
	}
	if len(t.open) == maxOpen {
		return queue, 0, fmt.Errorf("more than %d files are open", maxOpen)
	}
	fd := max(t.last[tid]+1, firstFD)
	t.last[tid], t.open[use{tid, file}] = fd, fd
	return append(queue, format.Event{TID: tid, Start: at, Dur: format.Unknown, Op: format.OpOpen, Ret: int64(fd),
		Str: [format.MaxStrings][]byte{t.files.text[file]}, Args: [format.MaxArgs]int64{0, format.RDWR}}), int64(fd), nil
}

// transfer appends a read or write of a file at an offset, by a thread.
func (t *tracks) transfer(queue []format.Event, e format.Event, file int, length, offset int64) ([]format.Event, error) {
	queue, fd, err := t.descriptor(queue, e.TID, file, e.Start)
	if err != nil {
		return queue, err
	}
	e.Args, e.Ret = [format.MaxArgs]int64{fd, 0, length, offset}, length
	return append(queue, e), nil
}
