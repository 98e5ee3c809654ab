package sides

import (
	"errors"
	"io"

	"pianola/compare"
	"pianola/compile"
	"pianola/compile/source"
	"pianola/experiment"
	"pianola/format"
	"pianola/format/bin"
	"pianola/profile"
)

// Run reads a recording as it would be at a pace, or a log, which has its own pace already.
// It compiles a script with the options. paced says how the run differs from the recording;
// nil if it does not.
func Run(r *source.Reader, name string, o compile.Options, pace format.Pace) (run experiment.Run, paced *compare.Paced, err error) {
	src, err := r.Open(name)
	if err != nil {
		return run, nil, err
	}
	defer src.Close()
	if src.Log || src.IsLowered() && pace.Recorded() {
		events, err := src.Events()
		if err != nil {
			return run, nil, err
		}
		run, err = runOf(events, o.Names, r.Limits.Reading())
		return run, nil, source.Named(name, err)
	}
	t, err := src.Trace(o)
	if err != nil {
		return run, nil, err
	}
	defer t.Close()
	run, paced, err = at(t.Trace, pace, o.Names, r.Limits.Reading())
	return run, paced, source.Named(name, err)
}

// At reads a trace as it would be at a pace, within so many bytes of memory. paced says how
// the run differs from the recording; nil if it does not.
func At(t *bin.Trace, pace format.Pace, memory int64) (run experiment.Run, paced *compare.Paced, err error) {
	return at(t, pace, true, memory)
}

func at(t *bin.Trace, pace format.Pace, names bool, memory int64) (run experiment.Run, paced *compare.Paced, err error) {
	events, err := t.EventsAt(pace)
	if err != nil {
		return run, nil, err
	}
	run, err = runOf(events, names, memory)
	if err != nil || pace.Recorded() {
		return run, nil, err
	}
	recorded, err := runTime(t.Events())
	return run, &compare.Paced{Speed: pace.Speed, Recorded: recorded}, err
}

// runOf returns the run of a reader. Its files have the names of the application, or else
// those below the root.
func runOf(events format.Reader, names bool, memory int64) (run experiment.Run, err error) {
	if !names {
		events = format.WithoutNames(events)
	}
	c := &profile.Collector{Rows: profile.RowsWithin(memory)}
	if err := c.Read(events); err != nil {
		return run, err
	}
	return experiment.Run{Meta: events.Header().Meta, Profile: c.Profile()}, nil
}

// runTime returns when the last event of a reader ends, in seconds.
func runTime(r format.Reader) (seconds float64, err error) {
	batch, last := make([]format.Event, 256), int64(0)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			last = max(last, batch[i].End())
		}
		switch {
		case errors.Is(err, io.EOF):
			return format.Seconds(last), nil
		case err != nil:
			return 0, err
		}
	}
}
