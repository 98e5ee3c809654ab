// Package files opens the files that a command reads and writes. No output destroys an
// input, and none is left incomplete.
package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Set holds the files that a command reads and writes. An output that is the same file as
// an input or as another output would destroy it, whatever its name. So every file is
// claimed before it is opened, and all outputs are claimed before the first one is created.
// A command with a conflict fails before it writes anything. Its methods may be called
// concurrently.
type Set struct {
	mu              sync.Mutex
	inputs, outputs []claim
	unfinished      sync.Map // names of temporary files of outputs that are not complete, and of directories
}

// claim is a file and its name on the command line.
type claim struct {
	name string
	info fs.FileInfo // nil if the file does not exist yet
	dir  fs.FileInfo // for an output that does not exist yet: its directory
	base string      // and its name in the directory
}

// SameFileError is the error of a command line on which an output is the same
// file as an input or another output.
type SameFileError struct{ output, other, as string }

func (e *SameFileError) Error() string {
	switch {
	case e.output == e.other && e.as == "input":
		return e.output + ": both an input and an output"
	case e.output == e.other:
		return e.output + ": two outputs in one file"
	}
	return fmt.Sprintf("%s: the output is the same file as the %s %s", e.output, e.as, e.other)
}

// Claim claims a file that is read.
func (s *Set) Claim(name string, info fs.FileInfo) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !info.Mode().IsRegular() {
		return nil
	}
	for _, o := range s.outputs {
		if o.info != nil && os.SameFile(o.info, info) {
			return &SameFileError{o.name, name, "input"}
		}
	}
	for _, i := range s.inputs {
		if i.name == name && os.SameFile(i.info, info) {
			return nil // a file may be an input several times
		}
	}
	s.inputs = append(s.inputs, claim{name: name, info: info})
	return nil
}

// Words claims the words of another program's command line that name files.
func (s *Set) Words(words []string) error {
	for _, word := range words {
		if info, err := os.Stat(word); err == nil {
			if err := s.Claim(word, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// ClaimOutput claims a file to write, and returns the file that has the name now,
// nil for none. Only standard output, "-", and files that are not regular may
// be claimed several times: outputs to them follow one another.
func (s *Set) ClaimOutput(name string) (fs.FileInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := claim{name: name}
	if name == "-" {
		info, err := os.Stdout.Stat()
		if err != nil {
			return nil, err
		}
		o.info = info
	} else if info, err := os.Stat(name); err == nil {
		o.info = info
	} else if o.dir, err = os.Stat(filepath.Dir(name)); err != nil {
		return nil, fmt.Errorf("create %s: %w", name, Cause(err))
	} else {
		o.base = filepath.Base(name)
	}
	if o.info != nil && !o.info.Mode().IsRegular() {
		return o.info, nil
	}
	for _, i := range s.inputs {
		if o.info != nil && os.SameFile(o.info, i.info) {
			return nil, &SameFileError{name, i.name, "input"}
		}
	}
	for _, other := range s.outputs {
		if o.same(&other) && !(name == "-" && other.name == "-") {
			return nil, &SameFileError{name, other.name, "output"}
		}
	}
	s.outputs = append(s.outputs, o)
	return o.info, nil
}

// Release drops the claim on an output, which may be read or written from then on.
func (s *Set) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outputs = slices.DeleteFunc(s.outputs, func(o claim) bool { return o.name == name })
}

// same reports whether two outputs are one file, or will be once they exist.
func (o *claim) same(other *claim) bool {
	if o.info == nil || other.info == nil {
		return o.info == nil && other.info == nil && o.base == other.base && os.SameFile(o.dir, other.dir)
	}
	return os.SameFile(o.info, other.info)
}
