package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// sample is what one run of something gave, by the name of the figure.
type sample map[string]float64

// process runs a command in a directory and returns what it wrote to stdout. A command
// that fails is an error with the end of its stderr.
func process(ctx context.Context, dir string, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	// A command of the shell ends with what it has started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	if ctx.Err() != nil {
		ended(cmd)
		return "", ctx.Err()
	}
	if err != nil {
		name, _, _ := strings.Cut(strings.Join(command, " "), "\n") // not all lines of the shell's
		return "", fmt.Errorf("%s: %w: %s", name, err, lastLines(messages.String()))
	}
	return out.String(), nil
}

// patience is how long what a command has started may take to end once it was told to.
const patience = 5 * time.Second

// ended returns when nothing is left of what a command has started.
func ended(cmd *exec.Cmd) {
	if cmd.Process == nil {
		return
	}
	for begin := time.Now(); syscall.Kill(-cmd.Process.Pid, 0) == nil; time.Sleep(patience / 100) {
		if time.Since(begin) > patience {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			return
		}
	}
}

// lastLines returns the last lines of a text on one line.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// write makes a file that the function fills. It keeps nothing in memory: the peak of
// this process is the least that the kernel reports for its children.
func write(path string, fill func(io.Writer)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fill(w)
	return errors.Join(w.Flush(), f.Close())
}
