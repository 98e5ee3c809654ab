package replay

import (
	"errors"
	"fmt"
	"io"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/internal/spin"
	"pianola/replay/device"
	"pianola/replay/fileset"
)

// A model of a device (package device) delays the end of a call. The model starts
// from the call's own time on posix, and from its recorded duration in memory,
// which hides the time of the memory. The worker waits until the end, as it waits
// for an event that is due, and the log has the whole duration.

// modelled is the device that all traces of a run share.
type modelled struct {
	lock spin.Lock
	*device.Device
}

// ofTrace is a model for the events of one trace. It implements engine.Model.
type ofTrace struct {
	*modelled
	demands *device.Demands // of a fitted model; else nil
}

// Covers implements engine.Model.
func (m *ofTrace) Covers(op format.Op) bool { return device.Covers(op) }

// Until implements engine.Model.
func (m *ofTrace) Until(thread int32, event int64, op format.Op, result, begin, took int64) int64 {
	asked := device.At(m.demands.Thread(thread), event)
	m.lock.Take()
	defer m.lock.Give()
	return m.End(op, asked, result, begin, took)
}

// usesRecordedDurations reports whether calls take their recorded durations.
func (o *Options) usesRecordedDurations() bool {
	return o.Device != nil && o.Backend.Has().Recorded || o.Backend.Has().Simulated
}

// starts are the initial states of the model of a page cache, by fileset.Cache. The state
// that the preparation leaves is unknown; the recorded one stands for it.
var starts = [...]device.Start{
	fileset.CacheRecorded: device.StartRecorded, fileset.CacheWarm: device.StartWarm, fileset.CacheCold: device.StartCold, fileset.CacheAsIs: device.StartRecorded,
}

// errUnmerged is the error of a fitted model for a trace that is not a file.
var errUnmerged = errors.New("a fitted model takes a compiled trace, whose events can be read in their order")

// computeDemands finds the demands of each trace's events on a fitted model. They take at
// most a quarter of its memory.
func computeDemands(all []*playing) error {
	known := make(map[format.Trace]*device.Demands)
	for _, e := range all {
		if e.Device == nil || e.Device.Fitted == nil {
			continue
		}
		if e.model.demands = known[e.Trace]; e.model.demands != nil {
			continue
		}
		t, ok := e.Trace.(interface{ Events() format.Reader })
		if !ok {
			return errUnmerged
		}
		c := e.Device.Fitted.Cache
		c.Start = starts[e.Cache]
		demands, err := device.DemandsOf(t.Events(), c, e.Limits.Memory/4)
		if errors.Is(err, device.ErrMemory) {
			return fmt.Errorf("%w: %w", err, limit.Of("memory"))
		}
		if err != nil {
			return err
		}
		known[e.Trace], e.model.demands = demands, demands
	}
	return nil
}

// ErrNoDurations is the error of a trace without durations if calls take their recorded ones.
var ErrNoDurations = errors.New("the trace has no durations, and a model over the memory backend needs them")

// checkDurations returns ErrNoDurations, or nil.
func checkDurations(t format.Trace) error {
	batch := make([]int64, 1024)
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
