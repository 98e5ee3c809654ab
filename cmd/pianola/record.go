package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/urfave/cli/v2"

	"pianola/format/script"
	"pianola/record"
)

func recordCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "record",
		Usage:     "run a command and record its I/O system calls",
		UsageText: "pianola record [-o trace.txt] -- COMMAND [ARG…]",
		Description: "The command keeps its own standard input, output and error; all its threads and children are\n" +
			"recorded. The exit status is the command's; 125 where pianola failed, 126 where the command\n" +
			"can't be executed, 127 where there is none.\n\n" +
			"Example: pianola record -o sqlite.txt -- sqlite3 app.db '.read load.sql'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Value: "trace.txt", Usage: "write the script to `FILE`"},
			&cli.IntFlag{Name: "ring", Value: record.DefaultRingBytes >> 20, Usage: "size of the buffer between kernel and recorder, in `MiB`"},
		},
		Action: runRecord,
	})
}

func runRecord(c *cli.Context) error {
	if c.NArg() == 0 {
		return usage(c, "no command given")
	}
	if n := c.Int("ring"); n < 1 || n > 2048 {
		return usage(c, "--ring: %d is not from 1 to 2048", n)
	}
	f, err := createScript(c.String("o"))
	if err != nil {
		return &exitError{exitRecord, err}
	}
	// An interrupt is the command's affair; record passes on what concerns it.
	r, err := record.Run(context.WithoutCancel(c.Context), record.Options{Command: c.Args().Slice(), RingBytes: c.Int("ring") << 20}, script.NewWriter(f))
	if err := f.finish(err == nil); err != nil {
		return &exitError{exitRecord, err}
	}
	if start, ok := errors.AsType[*record.StartError](err); ok {
		return &exitError{start.Status, err}
	}
	if err != nil {
		if errors.Is(err, record.ErrPermission) {
			err = &hint{err, "pianola doctor says what is missing"}
		}
		return &exitError{exitRecord, err}
	}
	if r.Lost > 0 {
		fmt.Fprintf(os.Stderr, "pianola: record: %d events lost, %d recorded\nhint: a larger buffer loses fewer: --ring %d\n", r.Lost, r.Events, c.Int("ring")*4)
	}
	if r.Status != 0 {
		return &exitError{status: r.Status}
	}
	return nil
}

// scriptFile is the output of a recording. It is written in place, so that a
// killed recorder leaves what it had; but what stood in the file before is
// only touched by the first write, when the command is running.
type scriptFile struct {
	*os.File
	fresh   bool // there was no file before
	written bool
}

func createScript(name string) (*scriptFile, error) {
	if name == "-" {
		// The command's own output goes there.
		return nil, fmt.Errorf("-o -: the script can't be mixed with the command's output")
	}
	_, err := os.Stat(name)
	f, err2 := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_CLOEXEC, 0o644)
	if err2 != nil {
		return nil, err2
	}
	return &scriptFile{File: f, fresh: os.IsNotExist(err)}, nil
}

func (f *scriptFile) Write(p []byte) (int, error) {
	if !f.written {
		f.written = true
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			if err := f.Truncate(0); err != nil {
				return 0, err
			}
		}
	}
	return f.File.Write(p)
}

// finish closes the file, and removes it where it holds nothing of use.
func (f *scriptFile) finish(ok bool) error {
	if !ok && !f.written && f.fresh {
		os.Remove(f.Name())
	}
	return f.Close()
}
