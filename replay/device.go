package replay

import (
	"errors"
	"fmt"
	"io"

	"pianola/device"
	"pianola/format"
	"pianola/replay/fileset"
)

// A model of a device (package device) has a call end later than it did: on posix
// its own time is what the model starts from, in memory its recorded duration,
// which hides that of the memory. The worker waits until then, as it waits for an
// event that is due, and the log has the whole.

// modelled is the device that all workers of a run share.
type modelled struct {
	lock spinLock
	*device.Device
}

// seen is the set of operations that a model is about.
var seen = func() (s [format.NumOps]bool) {
	for op := range s {
		s[op] = device.Sees(format.Op(op))
	}
	return s
}()

// usesRecordedDurations reports whether calls take their recorded durations.
func (o *Options) usesRecordedDurations() bool {
	return o.Device != nil && o.Backend.Has().Recorded || o.Backend.Has().Simulated
}

// until returns when a call ends by the model that began at a time and took so long.
func (m *modelled) until(op format.Op, q device.Demand, result, begin, took int64) int64 {
	m.lock.take()
	defer m.lock.give()
	return m.End(op, q, result, begin, took)
}

// starts are what the model of a page cache begins with, by what a replay does. What the
// preparation leaves is not known, and taken for what was recorded.
var starts = [...]device.Start{
	fileset.CacheRecorded: device.StartRecorded, fileset.CacheWarm: device.StartWarm, fileset.CacheCold: device.StartCold, fileset.CacheAsIs: device.StartRecorded,
}

// errUnmerged is the error of a fitted model for a trace that is no file.
var errUnmerged = errors.New("a fitted model takes a compiled trace, whose events can be read in their order")

// ask finds what the events of each engine's trace ask of a fitted model. They take a
// quarter of its memory at most.
func (s *stage) ask() error {
	known := make(map[format.Trace]*device.Demands)
	for _, e := range s.engines {
		if e.Device == nil || e.Device.Fitted == nil {
			continue
		}
		if e.demands = known[e.trace]; e.demands != nil {
			continue
		}
		t, ok := e.trace.(interface{ Events() format.Reader })
		if !ok {
			return errUnmerged
		}
		c := e.Device.Fitted.Cache
		c.Start = starts[e.Cache]
		demands, err := device.DemandsOf(t.Events(), c, e.Limits.Memory/4)
		if errors.Is(err, device.ErrMemory) {
			return fmt.Errorf("%w: %w", err, limitOf("memory"))
		}
		if err != nil {
			return err
		}
		known[e.trace], e.demands = demands, demands
	}
	return nil
}

// served waits until the call of an event ends by the model, and returns the time
// then. Reading ahead moves the record.
func (w *worker) served(r *format.Record, got, issued, end int64) int64 {
	e := w.e
	took := max(end-issued-e.cost-w.ran, 0)
	if e.usesRecordedDurations() {
		if took = w.nanos[w.at]; took < 0 {
			return end // not recorded
		}
	}
	until := e.device.until(r.Op, device.At(w.asked, w.event), got, issued, took) + e.cost + w.ran
	if until <= end {
		return end
	}
	near := e.margin
	if e.Wait == Sleep {
		near = 0
	}
	return w.waitUntil(until, near)
}

// ErrNoDurations is the error of a trace without durations, where calls take them.
var ErrNoDurations = errors.New("the trace has no durations, and a model over the memory backend needs them")

// checkDurations returns ErrNoDurations, or nil.
func checkDurations(t format.Trace) error {
	batch := make([]int64, batchRecords)
	for thread := range int32(max(len(t.Header().Threads), 1)) {
		durations := t.Durations(thread + 1)
		for {
			n, err := durations.Read(batch)
			for _, nanos := range batch[:n] {
				if nanos != format.Unknown {
					return nil
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("durations of thread %d: %w", thread+1, err)
			}
		}
	}
	return ErrNoDurations
}
