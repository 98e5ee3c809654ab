package transform

import (
	"fmt"
	"slices"
	"strings"

	"pianola/format"
)

// Func applies a transform to a recording. The reader that it returns reads the
// events of r on demand. If it is an io.Closer, a Chain closes it before r.
type Func func(r format.Reader) (format.Reader, error)

// Transform is a named transform.
type Transform struct {
	Name  string // on the command line: NAME, or NAME=ARG with an argument
	Arg   Arg    // the zero Arg for none
	Doc   string // what it does, in one line without a full stop
	Keeps string // which properties of the recording it keeps, in one line without a full stop

	// Needs is what it needs that a compiled trace does not have, as the end of a
	// sentence, and what does without; empty for nothing.
	Needs string

	// New returns the transform with an argument, "" for none.
	New func(arg string) (Func, error)
}

// Arg describes the argument of a transform.
type Arg struct {
	Form     string // what it looks like, for people: SIZE
	Optional bool   // it can be left out
}

// String returns what follows the name in a usage: "=SIZE", or "[=SIZE]" for an
// optional argument.
func (a Arg) String() string {
	switch {
	case a.Form == "":
		return ""
	case a.Optional:
		return "[=" + a.Form + "]"
	}
	return "=" + a.Form
}

// Set is transforms in the order of their names, without duplicates.
type Set []Transform

// Builtin returns the transforms of this package.
func Builtin() Set {
	return Set{
		blockTransform,
		bufferedTransform,
		cloneTransform,
		coalesceTransform,
		directTransform,
		dropTransform,
		mmapTransform,
		onlyTransform,
		prefetchTransform,
		readaheadTransform,
		rerootTransform,
		scaleComputeTransform,
		sessionsTransform,
		syncTransform,
		uringBatchTransform,
		vectoredTransform,
	}
}

// With returns a set with additional transforms. It panics if a name is taken
// or invalid.
func (s Set) With(more ...Transform) Set {
	all := slices.Clone(s)
	for _, t := range more {
		if t.Name == "" || t.New == nil || strings.ContainsAny(t.Name, "=:+") {
			panic(fmt.Sprintf("transform: %q is not a valid name", t.Name))
		}
		i, taken := all.find(t.Name)
		if taken {
			panic("transform: duplicate " + t.Name)
		}
		all = slices.Insert(all, i, t)
	}
	return all
}

// Has reports whether there is a transform with a name.
func (s Set) Has(name string) bool {
	_, ok := s.find(name)
	return ok
}

func (s Set) find(name string) (place int, found bool) {
	return slices.BinarySearchFunc(s, name, func(t Transform, name string) int { return strings.Compare(t.Name, name) })
}

// Parse returns the transform of NAME or NAME=ARG.
func (s Set) Parse(text string) (Func, error) {
	name, arg, given := strings.Cut(text, "=")
	i, ok := s.find(name)
	if !ok {
		return nil, fmt.Errorf("no transform %q", name)
	}
	switch t := &s[i]; {
	case given && t.Arg.Form == "":
		return nil, fmt.Errorf("transform %s takes no argument", name)
	case arg == "" && (given || t.Arg.Form != "" && !t.Arg.Optional):
		return nil, fmt.Errorf("transform %s%v: the argument is missing", name, t.Arg)
	}
	f, err := s[i].New(arg)
	if err != nil {
		return nil, fmt.Errorf("transform %s: %w", text, err)
	}
	return f, nil
}

// ParseCompiled does the same for a transform of a compiled trace. A transform that
// needs what that does not have is an error.
func (s Set) ParseCompiled(text string) (Func, error) {
	f, err := s.Parse(text)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(text, "=")
	if i, _ := s.find(name); s[i].Needs != "" {
		return nil, fmt.Errorf("transform %s takes a recording: %s", text, s[i].Needs)
	}
	return f, nil
}
