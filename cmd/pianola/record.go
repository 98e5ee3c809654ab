package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/record"
)

func recordCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "record",
		Usage:     "run a command and record its I/O system calls",
		UsageText: "pianola record [-o trace.txt] [--user NAME] [--ring MiB] -- COMMAND [ARG…]",
		Description: "The command keeps its own standard input, output and error; all its threads and children are\n" +
			"recorded. The exit status is the command's; 125 where pianola failed, 126 where the command\n" +
			"can't be executed, 127 where there is none. Under sudo the command runs as who called.\n\n" +
			"Example: pianola record -o sqlite.txt -- sqlite3 app.db '.read load.sql'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Value: "trace.txt", Usage: "write the script to `FILE`, compressed if its name ends in .zst"},
			&cli.StringFlag{Name: "user", Usage: "run the command as the user `NAME`; root to stay root under sudo"},
			&cli.IntFlag{Name: "ring", Value: record.DefaultRingBytes >> 20, Usage: "size of the buffer between kernel and recorder, in `MiB`"},
		},
		Action: runRecord,
	})
}

// maxRing is the largest buffer that a recorder takes, in MiB.
const maxRing = 1024

func runRecord(c *cli.Context) error {
	if c.NArg() == 0 {
		return usage(c, "no command given")
	}
	if n := c.Int("ring"); n < 1 || n > maxRing {
		return usage(c, "--ring: %d is not from 1 to %d", n, maxRing)
	}
	name := c.String("o")
	if filepath.Ext(name) == ".gz" {
		return usage(c, "-o: a script is compressed with zstd, in a file whose name ends in .zst")
	}
	who, err := findAccount(c.String("user"))
	if err != nil {
		return usage(c, "--user: %v", err)
	}
	out, err := createRecording(name)
	if err != nil {
		return &exitError{exitRecord, err}
	}
	o := record.Options{Command: c.Args().Slice(), RingBytes: c.Int("ring") << 20}
	if who != nil {
		o.Credential, o.Env = &who.credential, who.environment()
		if out.file.fresh {
			// Where the file can't be given away, it stays root's.
			_ = out.file.Chown(int(o.Credential.Uid), int(o.Credential.Gid))
		}
	}
	// An interrupt is the command's affair; record passes on what concerns it.
	r, err := record.Run(context.WithoutCancel(c.Context), o, out)
	if ferr := out.finish(err == nil); err == nil {
		err = ferr
	}
	printLost(os.Stderr, &r, c.Int("ring"))
	if start, ok := errors.AsType[*record.StartError](err); ok {
		return &exitError{start.Status, err}
	}
	if err != nil {
		if errors.Is(err, record.ErrPermission) {
			err = &hint{err, "pianola doctor says what is missing"}
		}
		if r.Elapsed > 0 {
			err = fmt.Errorf("%w; the command ended with status %d", err, r.Status)
		}
		return &exitError{exitRecord, err}
	}
	if r.Status != 0 {
		return &exitError{status: r.Status}
	}
	return nil
}

// printLost says which events could not be recorded, and what helps.
func printLost(w io.Writer, r *record.Result, ring int) {
	if r.Lost == 0 {
		return
	}
	var ops []string
	for _, op := range slices.Sorted(maps.Keys(r.LostByOp)) {
		ops = append(ops, fmt.Sprintf("%s=%d", op, r.LostByOp[op]))
	}
	fmt.Fprintf(w, "pianola: record: %d events lost, %d recorded: %s\n", r.Lost, r.Events, strings.Join(ops, " "))
	var processors []string
	for cpu, n := range r.LostByCPU {
		if n > 0 {
			processors = append(processors, fmt.Sprintf("%d on processor %d", n, cpu))
		}
	}
	if len(processors) == 0 {
		return // a larger buffer would not have helped
	}
	fmt.Fprintf(w, "pianola: record: the buffer was full for %s\n", strings.Join(processors, ", "))
	if ring < maxRing {
		fmt.Fprintf(w, "hint: a larger buffer loses fewer: --ring %d\n", min(4*ring, maxRing))
	}
}
