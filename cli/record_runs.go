package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/record"
)

// numbered returns the names of the files of n recordings: trace-1.txt and so on, or
// only the name for one.
func numbered(name string, n int) (names []string) {
	if n == 1 {
		return []string{name}
	}
	stem, packed := strings.CutSuffix(name, ".zst")
	ext := filepath.Ext(stem)
	stem = strings.TrimSuffix(stem, ext)
	if packed {
		ext += ".zst"
	}
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d%s", stem, i+1, ext))
	}
	return names
}

// takeAll records into each of the files, and ends with the first command that fails.
// It creates all files before the first recording, and removes those that remain
// empty. A file on standard input is read from the same place each time.
func (s *recorder) takeAll(names []string) (results []record.Result, err error) {
	var outs []destination
	defer func() {
		for _, out := range outs[len(results):] {
			_ = out.finish(false)
		}
	}()
	for _, name := range names {
		out, err := s.kept.open(name, s.who)
		if err != nil {
			if _, ok := errors.AsType[*files.SameFileError](err); ok {
				return nil, err
			}
			return nil, &exitError{ExitRecord, err}
		}
		outs = append(outs, out)
	}
	place, err := os.Stdin.Seek(0, io.SeekCurrent)
	seekable := err == nil
	for i, out := range outs {
		if seekable && i > 0 {
			if _, err := os.Stdin.Seek(place, io.SeekStart); err != nil {
				return results, &exitError{ExitRecord, fmt.Errorf("standard input: %w", err)}
			}
		}
		if err := s.prepare(); err != nil {
			return results, err
		}
		r, err := s.take(out)
		results = append(results, r)
		switch left := len(names) - i - 1; {
		case err != nil:
			return results, err
		case s.Context.Context.Err() != nil && left > 0:
			return results, errInterrupted
		case r.Status != 0 && len(names) > 1:
			console.Warn("%s: run %d of %d: the command ended with status %d", s.Command.Name, i+1, len(names), r.Status)
			return results, nil
		}
	}
	return results, nil
}

// prepare runs the shell command before a recording. Its output goes to standard error,
// because standard output is the recorded command's.
func (s *recorder) prepare() error {
	if s.setup == "" {
		return nil
	}
	c := exec.CommandContext(s.Context.Context, "sh", "-c", s.setup)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	if s.who != nil {
		c.Env = s.options.Env
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &s.who.credential}
	}
	switch err := c.Run(); {
	case s.Context.Context.Err() != nil:
		return errInterrupted
	case err != nil:
		return &exitError{ExitRecord, fmt.Errorf("--setup: %s: %w", s.setup, err)}
	}
	return nil
}
