package cli

import (
	"fmt"

	"pianola/compare"
	"pianola/compile"
	"pianola/compile/source"
	"pianola/format"
	"pianola/internal/console"
	"pianola/page"
	"pianola/stats"
)

// pacing reads the recordings of an application as they would be at the pace of the
// replays that they are compared with. look is called with each file first.
type pacing struct {
	format.Pace
	of       string    // the first log of a replay, "" for none
	other    string    // one with another pace
	needed   bool      // there is a recording
	recorded []float64 // run times as recorded, in seconds
}

// look looks at a file of a side, 0 for the application, and its header.
func (p *pacing) look(side int, name string, h *format.Header, k kind) {
	switch {
	case side == 0:
		p.needed = p.needed || k == recorded
		return
	case k == recorded:
		return
	}
	switch pace := format.PaceOf(h); {
	case p.of == "":
		p.of, p.Pace = name, pace
	case pace != p.Pace:
		p.other = name
	}
}

// check returns an error if recordings are compared with replays at several speeds.
func (p *pacing) check() error {
	if p.needed && p.other != "" {
		return console.WithHint(fmt.Errorf("%s and %s were replayed at different speeds", p.of, p.other), "compare the replays of each speed by themselves")
	}
	return nil
}

// paced says how the recordings that were read differ, nil if they don't.
func (p *pacing) paced() *compare.Paced {
	if p.recorded == nil {
		return nil
	}
	return &compare.Paced{Speed: p.Speed, Recorded: stats.Median(p.recorded)}
}

// readRun is readRun for the side of the application. The log of a replay has its own
// pace already.
func (p *pacing) readRun(side, name string, o compile.Options) (run page.Run, err error) {
	if p.Recorded() {
		return readRun(side, name, o)
	}
	src, err := recordings.Open(name)
	if err != nil {
		return run, err
	}
	defer src.Close()
	if src.Log {
		return readRun(side, name, o)
	}
	t, err := src.Trace(o)
	if err != nil {
		return run, err
	}
	defer t.Close()
	events, err := t.EventsAt(p.Pace)
	if err != nil {
		return run, source.Named(name, err)
	}
	if !o.Names {
		events = format.WithoutNames(events)
	}
	read, err := profileWithin(events, recordings.Limits.Reading())
	if err != nil {
		return run, source.Named(name, err)
	}
	recorded, err := runTime(t.Events())
	if err != nil {
		return run, source.Named(name, err)
	}
	p.recorded = append(p.recorded, recorded)
	return page.Run{Name: side, Meta: t.Header().Meta, Profile: read}, nil
}
