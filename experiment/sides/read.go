package sides

import (
	"pianola/compile"
	"pianola/compile/source"
	"pianola/experiment"
	"pianola/experiment/compare"
	"pianola/experiment/replays"
	"pianola/format"
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
		if !o.Names {
			events = format.WithoutNames(events)
		}
		run.Profile, err = profile.ReadWithin(events, r.Limits.Reading())
		run.Meta = events.Header().Meta
		return run, nil, source.Named(name, err)
	}
	t, err := src.Trace(o)
	if err != nil {
		return run, nil, err
	}
	defer t.Close()
	run.Profile, paced, err = replays.Recording(t.Trace, pace, o.Names, r.Limits.Reading())
	run.Meta = t.Header().Meta
	return run, paced, source.Named(name, err)
}
