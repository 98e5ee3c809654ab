package source

import (
	"errors"
	"fmt"
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
		one, err := r.inspect(o, name)
		if err != nil {
			return nil, err
		}
		if one.Kind != importer.Script || one.Dialect != script.Recorded {
			return nil, fmt.Errorf("%s: not a recording of ranks", name)
		}
		s.Recording = one.Recording
		file := s.file(name)
		parts = append(parts, nodes.Source{Name: name, Open: func() (nodes.ReadCloser, error) {
			one, err := importer.Inspect([]importer.File{file}, o)
			if err != nil {
				return nil, err
			}
			r, err := one.Open()
			if err != nil {
				return nil, err
			}
			return nodeReader{tolerant{r}, r}, nil
		}})
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
