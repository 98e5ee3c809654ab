package replay

import (
	"errors"
	"fmt"

	"pianola/format"
	"pianola/format/filter"
	"pianola/replay/fileset"
)

// Output is a backend that gets events beside Options.Backend. It has threads of its own,
// which play at their own pace, and a Result of its own, in Result.Beside. A result that
// differs ends no strict replay.
type Output struct {
	Name    string  // for reports
	Backend Backend // not Simulated
	Root    string  // its directory, if it has one
	Only    string  // expression that selects its events (package filter), in a trace without rings; "" for all
}

// outputs returns the options of each backend: those of Backend, then those of Beside.
func (o *Options) outputs() []Options {
	all := []Options{*o}
	for i := range o.Beside {
		b := &o.Beside[i]
		one := *o
		one.Backend, one.Root, one.only, one.Strict = b.Backend, b.Root, b.Only, false
		if !b.Backend.Has().Roots {
			one.Maps, one.Keep = nil, false
			if one.Prepare == fileset.PrepareNever {
				one.Prepare = fileset.PrepareAuto
			}
		}
		all = append(all, one)
	}
	return all
}

// CheckBeside returns an error for what several backends can't do.
func (o *Options) CheckBeside() error {
	rooted, simulated := 0, false
	for _, one := range o.outputs() {
		has := one.Backend.Has()
		if simulated = simulated || has.Simulated; has.Roots {
			rooted++
		}
	}
	switch {
	case len(o.Beside) == 0:
		return nil
	case simulated:
		return errors.New("the simulated backend has a clock of its own, so no other backend can play with it")
	case o.Session != nil || o.Device != nil || o.Prepare == fileset.PrepareOnly:
		return errors.New("several processes, a modelled device, and a preparation without a replay go with one backend only")
	case o.Change != nil:
		return errors.New("a program changes the events of one backend only")
	case len(o.Maps) > 0 && rooted > 1:
		return errors.New("paths are mapped for one backend with a root only")
	}
	return nil
}

// selected returns the events that a narrowed backend plays; nil for all.
func (o *Options) selected(t format.Trace) (filter.Selection, error) {
	if o.only == "" {
		return nil, nil
	}
	for _, th := range t.Header().Threads {
		if th.Ring != format.ViaCall {
			return nil, fmt.Errorf("filter %q: a backend gets all events of a trace with rings", o.only)
		}
	}
	read, ok := t.(filter.Trace)
	if !ok {
		return nil, fmt.Errorf("filter %q: it takes a compiled trace, whose events can be read in their order", o.only)
	}
	var always []format.Class
	if o.Backend.Has().Files { // it knows by events of processes which descriptors these have
		always = []format.Class{format.ClassProcess}
	}
	return filter.Select(read, o.only, o.Limits.Memory/4, always...)
}
