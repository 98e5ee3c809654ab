package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// The bounds of what a pattern can ask for.
const (
	maxText     = 1 << 20           // bytes of the pattern itself
	maxNesting  = 32                // steps within steps
	maxThreads  = 4096              // of all groups
	maxFiles    = 1 << 20           // files and directories at one time
	maxTransfer = 1 << 30           // bytes of one read or write
	maxOffset   = 1 << 50           // bytes that a file can have
	maxCount    = 1_000_000_000_000 // repetitions of one step
	maxNanos    = 1 << 60           // time that a thread can take
	maxVars     = 1000              // variables of one group
	maxWaits    = 1 << 18           // that compile finds at pipes: a barrier of n threads takes 2n
	maxIdle     = 1 << 20           // steps in turn that make no event
	maxFDs      = 1 << 16           // descriptors of a process
	maxOpen     = 1 << 20           // of all processes
	version     = 1                 // of the language
)

// DefaultCalls is how many calls a pattern may make by default. Its trace takes
// some gigabytes.
const DefaultCalls = 100_000_000

// Error is a fault of a pattern, in its text or found out while it was played.
type Error struct {
	File string
	Line int
	Msg  string

	Limit bool // it makes more calls than Reader.Limit
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// Pattern is a pattern that was read and checked.
type Pattern struct {
	file string
	doc  document
	slot int    // variables of a thread
	all  bool   // there is a barrier of all threads
	some []bool // by group: there is a barrier of its threads
}

// Is reports whether a text with this beginning is a pattern: its first line other than
// comments begins with "pattern:".
func Is(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\ufeff")) // the mark of some editors
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && string(line) != "---" {
			return bytes.HasPrefix(line, []byte("pattern:"))
		}
	}
	return false
}

// Parse reads a pattern. The name is that of the file, for errors.
func Parse(r io.Reader, name string) (*Pattern, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("%s: the pattern is longer than %d bytes", name, maxText)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var root, more yaml.Node
	if err := d.Decode(&root); errors.Is(err, io.EOF) {
		return nil, &Error{File: name, Line: 1, Msg: "an empty pattern"}
	} else if err != nil {
		return nil, located(err, name)
	}
	if err := d.Decode(&more); err == nil {
		return nil, &Error{File: name, Line: more.Line, Msg: "unexpected second document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, located(err, name)
	}
	p := &Pattern{file: name}
	if err := decode(root.Content[0], &p.doc); err != nil {
		return nil, p.named(err)
	}
	if err := p.resolve(); err != nil {
		return nil, p.named(err)
	}
	return p, nil
}

// named puts the name of the file into an error.
func (p *Pattern) named(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.File = p.file
	}
	return err
}

// fault returns an error at a line, to which named adds the file.
func fault(line int, format string, args ...any) error {
	return &Error{Line: line, Msg: fmt.Sprintf(format, args...)}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s:.*))$`)

// located takes the line out of what the parser of YAML says.
func located(err error, name string) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{File: name, Line: 1, Msg: err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	return &Error{File: name, Line: max(line, 1), Msg: m[2]}
}
