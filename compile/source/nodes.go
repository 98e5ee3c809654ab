package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pianola/compile/nodes"
	"pianola/format"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/table"
)

// inspectNodes reads the recordings of the nodes of a run in a directory.
func (r *Reader) inspectNodes(o importer.Options, dir string) (*Source, error) {
	names, err := recordingsIn(dir)
	if err != nil {
		return nil, err
	}
	s := r.source(dir)
	var parts []nodes.Source
	for _, name := range names {
		one, err := importer.Inspect([]importer.File{s.file(name)}, o)
		if err != nil {
			return nil, err
		}
		if one.Kind != importer.Script || one.Dialect != script.Recorded {
			return nil, fmt.Errorf("%s: not a recording of ranks", name)
		}
		s.Recording = one
		parts = append(parts, part(name, one))
	}
	if s.nodes, err = nodes.Inspect(parts); err != nil {
		if errors.Is(err, nodes.ErrOtherRun) {
			err = console.WithHint(err, "a directory holds one run: remove the files of the other one, and record into a new directory")
		}
		return nil, err
	}
	s.warnOfNodes()
	return s, nil
}

// part returns a recording that is one of several.
func part(name string, one *importer.Recording) nodes.Source {
	return nodes.Source{Name: name, Open: func() (nodes.ReadCloser, error) {
		r, err := one.Open()
		if err != nil {
			return nil, err
		}
		return nodeReader{tolerant{r}, r}, nil
	}}
}

// lookBeside detects the formats of files and reads them side by side. Files of strace -ff or IOProf
// are of one recording. Recordings that come with intermediate scripts are compiled first.
func (s *Source) lookBeside(o importer.Options, all []importer.File) (*Source, error) {
	var parts []nodes.Source
	var apart []importer.File // of one recording
	var lowered []*Source
	for _, f := range all {
		one, err := importer.Inspect([]importer.File{f}, o)
		switch {
		case err != nil:
			return nil, err
		case one.Kind == importer.Strace || one.Kind == importer.IOProf:
			apart = append(apart, f)
			continue
		case one.Kind == importer.Script && one.Dialect == script.Unrecognised:
			return nil, fmt.Errorf("%s: no events", f.Name)
		case one.Log:
			return nil, errLog(f.Name)
		case one.Dialect == script.Intermediate:
			other := s.reader.source(f.Name)
			other.Recording, lowered = one, append(lowered, other)
			continue
		case one.Kind == importer.Script && one.Dialect != script.Recorded:
			return nil, fmt.Errorf("%s: a script of the %s dialect is not read together with other recordings", f.Name, one.Dialect)
		}
		s.Recording, parts = one, append(parts, part(f.Name, one))
	}
	if len(apart) > 0 {
		one, err := importer.Inspect(apart, o)
		if err != nil {
			return nil, err
		}
		s.Recording, parts = one, append(parts, part(apart[0].Name, one))
	}
	if len(parts) > 1 {
		var err error
		if s.nodes, err = nodes.Beside(parts); err != nil {
			return nil, err
		}
	}
	if len(lowered) == 0 {
		return s, nil
	}
	list := lowered
	if len(parts) > 0 {
		s.reader.Console.Say("%s: compiled first, because an intermediate script is another input", s.name)
		t, err := s.Trace(s.Options())
		if err != nil {
			return nil, err
		}
		s.trace = t.file
		list = slices.Insert(list, 0, s)
	}
	joint := s.reader.source(s.name)
	joint.Recording, joint.beside = lowered[0].Recording, list
	return joint, nil
}

// nodeReader is a reader of the recording of a node.
type nodeReader struct {
	tolerant
	file *importer.Reader
}

// Close closes the file.
func (r nodeReader) Close() error { return r.file.Close() }

// firstOf lists ranks or nodes in a message, which stays short.
func firstOf(words []string) string {
	const shown = 16
	if len(words) > shown {
		words = append(words[:shown:shown], "…")
	}
	return strings.Join(words, ", ")
}

// warnOfNodes says what is wrong with the recordings of a run.
func (s *Source) warnOfNodes() {
	dir, run := s.name, s.nodes
	if n := len(run.Missing); n > 0 {
		var words []string
		for _, r := range run.Missing {
			words = append(words, fmt.Sprint(r))
		}
		console.Warn("%s: warning: %s without a recording: %s", dir, table.Plural(n, "rank"), firstOf(words))
	}
	if n := len(run.Endless); n > 0 {
		console.Warn("%s: warning: %s without an end: %s", dir, table.Plural(n, "recording"), firstOf(run.Endless))
	}
	for _, m := range run.Moved {
		console.Warn("%s: warning: the clock of node %s is moved by %s s, because messages were received before they were sent", dir, m.Node, format.AppendSeconds(nil, m.Nanos))
	}
	for _, p := range run.Unclear {
		console.Warn("%s: warning: messages from node %s to node %s are received before they are sent, whatever the clocks", dir, p.From, p.To)
	}
}
