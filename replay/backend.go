package replay

import (
	"context"
	"fmt"
	"strings"

	"pianola/format"
	"pianola/internal/option"
	"pianola/replay/program"
)

// Backend executes the events of traces: one of those below, or one made by NewBackend.
// Backends are comparable.
type Backend struct{ *backend }

type backend struct {
	name string
	open func(context.Context, format.Trace) (Player, error) // nil for those of this package
	Features
}

// Features are what a backend has.
type Features struct {
	Roots     bool // the kernel executes the events, on files below directories
	Files     bool // the files of the trace are prepared
	Device    bool // Options.Device can change how long calls take
	Recorded  bool // with Options.Device, calls take their recorded durations as changed by it
	Ranks     bool // several processes can replay one trace
	Simulated bool // events happen on a simulated clock
}

var onKernel = backend{name: "posix", Features: Features{Roots: true, Files: true, Device: true, Ranks: true}}

// The backends of this package.
var (
	Posix     = Backend{}                                                                                               // the kernel, on files below the root
	Null      = Backend{&backend{name: "null", Features: Features{Ranks: true}}}                                        // no-op: each event has its recorded result at once
	Memory    = Backend{&backend{name: "memory", Features: Features{Files: true, Device: true, Recorded: true}}}        // a file system in the memory of this process
	Simulated = Backend{&backend{name: "simulated", Features: Features{Device: true, Recorded: true, Simulated: true}}} // no-op on a simulated clock: each event has its recorded result, and takes as long as recorded
)

// of returns what describes the backend.
func (b Backend) of() *backend {
	if b.backend == nil {
		return &onKernel
	}
	return b.backend
}

// Has returns the features of the backend.
func (b Backend) Has() Features { return b.of().Features }

// Player is a backend that was opened for one trace.
type Player = program.Player

// NewBackend returns a backend with a name for logs and messages. It is opened
// once for each replayed trace. Calls of Play must return soon after the
// context of open is done. NewBackend panics if open is nil or a command line
// can't hold the name.
func NewBackend(name string, open func(context.Context, format.Trace) (Player, error)) Backend {
	if name == "" || open == nil || strings.ContainsAny(name, "=:+, ") {
		panic(fmt.Sprintf("replay: backend %q needs a valid name and an open function", name))
	}
	return Backend{&backend{name: name, open: open}}
}

func (b Backend) String() string { return b.of().name }

// opener returns the function that opens the backend for a trace, nil for those
// of this package.
func (b Backend) opener() func(context.Context, format.Trace) (Player, error) {
	return b.of().open
}

// Backends returns those of this package.
func Backends() []Backend { return []Backend{Posix, Null, Memory, Simulated} }

// ParseBackend returns the backend with a name, from this package or from more.
func ParseBackend(name string, more ...Backend) (Backend, error) {
	all := append(Backends(), more...)
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = b.String()
	}
	i, err := option.Names[uint8]{What: "backend", All: names}.Parse(name)
	if err != nil {
		return Posix, err
	}
	return all[i], nil
}
