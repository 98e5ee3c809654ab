package cli

import (
	"fmt"

	"pianola/compile/transform"
	"pianola/format/importer"
	"pianola/replay"
)

// Option adds something to the command. It panics if the name is taken or can't
// be written on a command line.
type Option func(*extended)

// extended is what a program can add to the command.
type extended struct {
	transforms transform.Set
	importers  []importer.Format // tried in order, before those of package importer
	backends   []replay.Backend  // besides those of package replay
}

// extensions is what Main was given. It is immutable once a command runs.
var extensions = extended{transforms: transform.Builtin()}

// WithTransform adds a transform, for compile --with and lab --try.
func WithTransform(t transform.Transform) Option {
	return func(e *extended) { e.transforms = e.transforms.With(t) }
}

// WithImporter adds a format of recordings. It is tried before all formats
// added so far and the built-in ones.
func WithImporter(f importer.Format) Option {
	return func(e *extended) {
		if f.Name == "" || f.Is == nil || f.Open == nil {
			panic("cli: an importer without a name, Is or Open")
		}
		for _, have := range e.importers {
			if have.Name == f.Name {
				panic("cli: duplicate importer " + f.Name)
			}
		}
		e.importers = append([]importer.Format{f}, e.importers...)
	}
}

// WithBackend adds a backend, for replay --backend and lab --try.
func WithBackend(b replay.Backend) Option {
	return func(e *extended) {
		if _, err := replay.ParseBackend(b.String(), e.backends...); err == nil {
			panic(fmt.Sprintf("cli: duplicate backend %v", b))
		}
		e.backends = append(e.backends, b)
	}
}
