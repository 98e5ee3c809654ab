package transform

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"pianola/format"
)

// Func puts a transform before a recording. The reader that it returns reads
// the events of r as they are needed; if it is an io.Closer, a Chain closes it
// before what it reads from.
type Func func(r format.Reader) (format.Reader, error)

// Transform is a transform by its name.
type Transform struct {
	// Name is how the transform is asked for, as NAME or NAME=ARG. A name
	// that ends with a colon is asked for as NAME:ARG.
	Name string

	Arg   string // how the argument is written, with "=": "=SIZE", or "[=N]" for one that can be left out; "" for none
	Doc   string // what it does, in one line without a full stop
	Keeps string // what of the program's meaning it keeps, in one line without a full stop

	// New returns the transform with an argument, "" where there is none.
	New func(arg string) (Func, error)
}

var registry struct {
	sync.Mutex
	byName map[string]Transform
}

// Register adds a transform. It panics where the name is taken or can't be
// asked for.
func Register(t Transform) {
	registry.Lock()
	defer registry.Unlock()
	switch _, taken := registry.byName[t.Name]; {
	case taken:
		panic("transform: " + t.Name + " is registered twice")
	case t.Name == "" || t.New == nil || strings.ContainsAny(strings.TrimSuffix(t.Name, ":"), "=:+"):
		panic(fmt.Sprintf("transform: %q can't be registered", t.Name))
	}
	if registry.byName == nil {
		registry.byName = make(map[string]Transform)
	}
	registry.byName[t.Name] = t
}

// All returns the transforms by name.
func All() []Transform {
	registry.Lock()
	defer registry.Unlock()
	var all []Transform
	for _, t := range registry.byName {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Transform) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Parse returns the transform of NAME, NAME=ARG or NAME:ARG.
func Parse(text string) (Func, error) {
	name, arg, given := text, "", false
	if i := strings.IndexAny(text, "=:"); i >= 0 {
		name, arg, given = text[:i], text[i+1:], true
		if text[i] == ':' {
			name = text[:i+1]
		}
	}
	registry.Lock()
	t, ok := registry.byName[name]
	registry.Unlock()
	switch {
	case !ok:
		return nil, fmt.Errorf("no transform %q", name)
	case given && t.Arg == "":
		return nil, fmt.Errorf("transform %s takes no argument", name)
	case arg == "" && (given || t.Arg != "" && t.Arg[0] != '['):
		return nil, fmt.Errorf("transform %s%s: the argument is missing", name, t.Arg)
	}
	f, err := t.New(arg)
	if err != nil {
		return nil, fmt.Errorf("transform %s: %w", text, err)
	}
	return f, nil
}
