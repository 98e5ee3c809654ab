package sides

import (
	"errors"
	"fmt"
	"os"

	"pianola/compare"
	"pianola/compile"
	"pianola/experiment"
	"pianola/experiment/replays"
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
		if !o.Names {
			events = format.WithoutNames(events)
		}
		run.Profile, err = profile.ReadWithin(events, r.Memory())
		run.Meta = events.Header().Meta
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
		run.Profile, paced, err = replays.Recording(t, pace, o.Names, r.Memory())
		run.Meta = t.Header().Meta
	}
	return run, paced, named(name, err)
}

// named prefixes an error with the name of the file, unless it has its own position.
func named(name string, err error) error {
	if _, ok := errors.AsType[*script.SyntaxError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
