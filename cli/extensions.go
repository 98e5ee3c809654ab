package cli

import (
	"fmt"

	"pianola/format/importer"
	"pianola/pattern"
	"pianola/replay"
	"pianola/transform"
)

// Option adds something to the command. It panics where the name is taken or no
// command line can hold it.
type Option func(*extended)

// extended is what the command has of each kind that can be added to.
type extended struct {
	transforms transform.Set
	importers  []importer.Format // asked in their order, before those of the package
	backends   []replay.Backend  // besides those of the package
}

// extensions is what Main was given. It does not change once a command runs.
var extensions = extended{transforms: transform.Builtin(), importers: []importer.Format{patterns}}

// patterns makes a pattern a recording like any other.
var patterns = importer.Format{Name: "pattern", Is: pattern.Is, Open: openPattern}

// WithTransform adds a transform, for compile --with and lab --try.
func WithTransform(t transform.Transform) Option {
	return func(e *extended) { e.transforms = e.transforms.With(t) }
}

// WithImporter adds a format of recordings. It is asked before all formats that
// were there.
func WithImporter(f importer.Format) Option {
	return func(e *extended) {
		if f.Name == "" || f.Is == nil || f.Open == nil {
			panic("cli: an importer without a name, Is or Open")
		}
		for _, have := range e.importers {
			if have.Name == f.Name {
				panic("cli: importer " + f.Name + " is there twice")
			}
		}
		e.importers = append([]importer.Format{f}, e.importers...)
	}
}

// WithBackend adds a backend, for replay --backend and lab --try.
func WithBackend(b replay.Backend) Option {
	return func(e *extended) {
		if _, err := replay.ParseBackend(b.String(), e.backends...); err == nil {
			panic(fmt.Sprintf("cli: backend %v is there twice", b))
		}
		e.backends = append(e.backends, b)
	}
}
