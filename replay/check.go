package replay

import (
	"fmt"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/replay/engine"
)

// check verifies the trace, selects the events, and adds the notes about a model.
func (e *playing) check() (err error) {
	if err := check(e.Trace, &e.Limits); err != nil {
		return err
	}
	if e.Engine.Only, err = e.selected(e.Trace); err != nil {
		return err
	}
	if e.Engine.Only != nil && e.Timing == engine.Compute && checkDurations(e.Trace) != nil {
		e.Note("the trace has no durations, so events that this backend does not play take no time")
	}
	if e.usesRecordedDurations() {
		if err := checkDurations(e.Trace); err != nil {
			return err
		}
		if e.Backend == Memory {
			e.Note("each call takes the duration that the model derives from the recorded one, and this includes the memory backend's own time")
		}
	}
	if e.Device != nil && e.Device.Fitted != nil {
		if e.Backend.Has().Recorded {
			e.Note("reads that miss the page cache, and syncs, take the time of the fitted model")
		} else {
			e.Note("reads that miss the page cache, and syncs, take no less than the fitted model says")
		}
	}
	return nil
}

// check verifies the threads and the size of a trace, of which other processes can
// replay some threads.
func check(t format.Trace, l *Limits) error {
	h := t.Header()
	first := 0 // threads that exist from the start, and rings
	for i, th := range h.Threads {
		if isForeign(t, int32(i+1)) {
			continue
		}
		if th.Parent == 0 || th.Ring != format.ViaCall {
			first++
		}
	}
	if first > l.Threads {
		return fmt.Errorf("%d threads exceed the limit of %d: %w", first, l.Threads, limit.Of("threads"))
	}
	for i, th := range h.Threads {
		if th.Parent < 0 || int(th.Parent) > len(h.Threads) || int(th.Parent) == i+1 {
			return fmt.Errorf("thread %d: its parent, thread %d, does not exist", i+1, th.Parent)
		}
		if h.Ring(th.Parent) != format.ViaCall {
			return fmt.Errorf("thread %d: its parent, thread %d, is a ring, and rings create no threads", i+1, th.Parent)
		}
	}
	if err := checkTexts(t, l); err != nil {
		return err
	}
	if err := checkLog(t, l); err != nil {
		return err
	}
	return nil
}

// nameBytes is the memory of a string of a trace as a sandbox.Name, besides three times its
// length.
const nameBytes = 128

// checkTexts bounds the memory of the strings of a trace. They may take up to
// half of Limits.Memory, on top of it.
func checkTexts(t format.Trace, l *Limits) error {
	var size int64
	add := func(s string) { size += 3*int64(len(s)) + nameBytes }
	for _, s := range t.Strings() {
		add(s)
	}
	for _, d := range t.Header().Descriptors {
		add(d.Path)
	}
	if size > l.Memory/2 {
		return fmt.Errorf("the names in the trace take %d bytes, more than half of %d: %w", size, l.Memory, limit.Of("memory"))
	}
	return nil
}

// checkLog bounds the file of a log that does not fit into memory.
func checkLog(t format.Trace, l *Limits) error {
	var events int64
	for i := range max(len(t.Header().Threads), 1) {
		events += t.Len(int32(i + 1))
	}
	if size := events * engine.EntrySize; size > l.Memory/4 && size > l.Bytes {
		return fmt.Errorf("the log of %d events takes more than %d bytes: %w", events, l.Bytes, limit.Of("bytes"))
	}
	return nil
}
