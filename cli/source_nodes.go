package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pianola/format"
	"pianola/format/importer"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/nodes"
	"pianola/table"
)

// recordingsIn returns the names of the recordings in a directory that record --ranks has
// written, and whether the name is that of a directory.
func recordingsIn(name string) (all []string, ok bool, err error) {
	if !isDir(name) {
		return nil, false, nil // the open of the file reports what is wrong
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, true, err
	}
	for _, e := range entries {
		if strings.HasSuffix(strings.TrimSuffix(e.Name(), ".zst"), ".txt") {
			all = append(all, filepath.Join(name, e.Name()))
		}
	}
	if len(all) == 0 {
		return nil, true, console.WithHint(fmt.Errorf("%s: no recordings in this directory", name), "pianola record --ranks -o DIR writes a file NODE.txt for each node")
	}
	return all, true, nil
}

// inspectNodes reads the recordings of the nodes of a run.
func inspectNodes(o importer.Options, dir string, names []string) (*sources, error) {
	s := newSources()
	var parts []nodes.Source
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			s.total += info.Size()
		}
		one, err := inspect(o, name)
		if err != nil {
			return nil, err
		}
		if one.Kind != importer.Script || one.Dialect != script.Recorded {
			return nil, fmt.Errorf("%s: not a recording of ranks", name)
		}
		s.Recording = one.Recording
		parts = append(parts, nodes.Source{Name: name, Open: func() (nodes.ReadCloser, error) {
			one, err := importer.Inspect([]importer.File{s.file(name)}, o)
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
	var err error
	if s.nodes, err = nodes.Inspect(parts); err != nil {
		if errors.Is(err, nodes.ErrOtherRun) {
			err = console.WithHint(err, "a directory holds one run: remove the files of the other one, and record into a new directory")
		}
		return nil, err
	}
	s.warnOfNodes(dir)
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
func (s *sources) warnOfNodes(dir string) {
	run := s.nodes
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

// isDir reports whether a name is that of a directory.
func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
