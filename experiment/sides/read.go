package sides

import (
	"errors"
	"fmt"
	"io"
	"os"

	"pianola/compare"
	"pianola/compile"
	"pianola/experiment"
	"pianola/format"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/files"
	"pianola/profile"
)

// Recording is an open recording, compiled trace, or log of a replay.
type Recording interface {
	IsLog() bool
	IsCompiled() bool                                // it is read as it is: a trace, as text too, or a log
	Events() (format.Reader, error)                  // as they are; valid until Close
	Trace(o compile.Options) (f *os.File, err error) // the compiled trace, which the caller closes
	Close() error
}

// Reader reads recordings.
type Reader struct {
	Open   func(name string) (Recording, error) // the caller closes it
	Files  *files.Set
	Memory func() int64 // bytes that a trace or a profile may take
}

// Run reads a recording as it would be at a pace, or a log, which has its own pace already.
// It compiles a script with the options. paced says how the run differs from the recording;
// nil if it does not.
func (r *Reader) Run(name string, o compile.Options, pace format.Pace) (run experiment.Run, paced *compare.Paced, err error) {
	src, err := r.Open(name)
	if err != nil {
		return run, nil, err
	}
	defer src.Close()
	if src.IsLog() || src.IsCompiled() && pace.Recorded() {
		events, err := src.Events()
		if err != nil {
			return run, nil, err
		}
		run, err = runOf(events, o.Names, r.Memory())
		return run, nil, named(name, err)
	}
	f, err := src.Trace(o)
	if err != nil {
		return run, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return run, nil, err
	}
	t, err := bin.OpenPart(f, info.Size(), r.Memory(), nil)
	if err == nil {
		run, paced, err = At(t, pace, o.Names, r.Memory())
	}
	return run, paced, named(name, err)
}

// At reads a trace as it would be at a pace, within so many bytes of memory. Files have the
// application's names, or else those below the root. paced says how the run differs from the
// recording; nil if it does not.
func At(t *bin.Trace, pace format.Pace, names bool, memory int64) (run experiment.Run, paced *compare.Paced, err error) {
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

// runOf returns the run of a reader, whose files have the names that At describes.
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

// named prefixes an error with the name of the file, unless it has its own position.
func named(name string, err error) error {
	if _, ok := errors.AsType[*script.SyntaxError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
