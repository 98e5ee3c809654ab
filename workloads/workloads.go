// Package workloads reads a library of workloads: a directory for each, which holds
//
//	record.sh       makes the recording again
//	trace.bin       the compiled trace, at most 1 MiB
//	workload.yaml   the card: what it is, and figures of the trace
//	profile.svg     its profile
//
// The library of Pianola is in the directory of this package. The figures of a card are
// computed from its trace (figuresOf); a test holds that they are.
package workloads

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"pianola/internal/glob"
)

// Card describes a workload.
type Card struct {
	Name      string   `yaml:"-" json:"name"`
	Dir       string   `yaml:"-" json:"directory"`
	Program   string   `yaml:"program" json:"program"`
	Version   string   `yaml:"version" json:"version"`
	Does      string   `yaml:"does" json:"does"`             // in a sentence
	Sensitive []string `yaml:"sensitive" json:"sensitive"`   // the properties of storage that decide its run time
	Quick     bool     `yaml:"quick,omitempty" json:"quick"` // one of the few that tell the most in a minute
	Licence   string   `yaml:"licence" json:"licence"`       // of the trace, by its SPDX identifier
	Figures   Figures  `yaml:"figures" json:"figures"`
}

// Trace returns the name of the compiled trace.
func (c *Card) Trace() string { return filepath.Join(c.Dir, "trace.bin") }

// The bounds of a library, because one can come from a stranger.
const (
	maxCard      = 64 << 10 // bytes
	maxWorkloads = 1 << 10
	maxName      = 32 // bytes
)

const cardName = "workload.yaml"

// ErrUnknown is the error of a name that no workload has.
var ErrUnknown = errors.New("no such workload")

// List returns the cards of all workloads in a directory, by name. A directory without
// workloads has none.
func List(dir string) (cards []*Card, err error) {
	names, err := filepath.Glob(filepath.Join(glob.EscapePath(dir), "*", cardName))
	if err != nil {
		return nil, err
	}
	if len(names) > maxWorkloads {
		return nil, fmt.Errorf("%s: more than %d workloads", dir, maxWorkloads)
	}
	for _, name := range names {
		card, err := Load(dir, filepath.Base(filepath.Dir(name)))
		if err != nil {
			return nil, err
		}
		cards = append(cards, card)
	}
	return cards, nil
}

// Load returns the card of a workload in a directory.
func Load(dir, name string) (*Card, error) {
	if !isName(name) {
		return nil, fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	file := filepath.Join(dir, name, cardName)
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w in %s", name, ErrUnknown, dir)
		}
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCard+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxCard:
		return nil, fmt.Errorf("%s: larger than %d KiB", file, maxCard>>10)
	}
	c := &Card{Name: name, Dir: filepath.Join(dir, name)}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// isName reports whether a word can name a workload. It is the name of a directory, and
// stands in tables and in lists with commas.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Find returns the directory of the library that belongs to a program: that of its
// repository, where the program is in bin, or share/pianola/workloads beside bin. It
// returns false if there is neither.
func Find(program string) (dir string, ok bool) {
	above := filepath.Dir(filepath.Dir(program))
	for _, dir := range []string{filepath.Join(above, "workloads"), filepath.Join(above, "share", "pianola", "workloads")} {
		if cards, _ := filepath.Glob(filepath.Join(glob.EscapePath(dir), "*", cardName)); len(cards) > 0 {
			return dir, true
		}
	}
	return "", false
}
