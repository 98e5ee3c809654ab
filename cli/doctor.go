package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"pianola/compile"
	"pianola/format"
	"pianola/format/script"
	"pianola/record"
	"pianola/replay"
)

func doctorCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "doctor",
		Usage:     "say whether this machine and user can record and replay",
		UsageText: "pianola doctor [--json]",
		Description: "Tries everything that recording and replaying need, and says what to do where something is\n" +
			"missing. The exit status is 1 then.\n\n" +
			"Example: pianola doctor",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print one JSON document"}},
		Action: runDoctor,
	})
}

// finding is one line of the doctor's.
type finding struct {
	What  string `json:"what"`
	OK    bool   `json:"ok"`
	Found string `json:"found,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func runDoctor(c *cli.Context) error {
	if c.NArg() > 0 {
		return usage(c, "want no operands")
	}
	findings, err := recorderFindings()
	if err != nil {
		return err
	}
	findings = append(findings, replayFinding(c.Context))
	ok := true
	for _, f := range findings {
		ok = ok && f.OK
	}
	if c.Bool("json") {
		err = printJSON(struct {
			OK       bool      `json:"ok"`
			Findings []finding `json:"findings"`
		}{ok, findings})
	} else {
		printFindings(os.Stdout, findings)
	}
	if err == nil && !ok {
		err = &exitError{status: ExitFailure}
	}
	return err
}

func printFindings(w io.Writer, findings []finding) {
	for _, f := range findings {
		mark := "ok"
		if !f.OK {
			mark = "missing"
		}
		fmt.Fprintf(w, "%-8s %s", mark, f.What)
		if f.Found != "" {
			fmt.Fprintf(w, ": %s", f.Found)
		}
		fmt.Fprintln(w)
		if f.Hint != "" {
			fmt.Fprintf(w, "%8s hint: %s\n", "", f.Hint)
		}
	}
}

func recorderFindings() ([]finding, error) {
	s, err := record.Probe()
	if err != nil {
		return nil, err
	}
	if s.OK() {
		return []finding{{What: "record", OK: true, Found: fmt.Sprintf(
			"Linux %s; an event costs the application %d ns", s.Kernel, s.Cost.Inside+s.Cost.Outside)}}, nil
	}
	var found []finding
	for _, p := range s.Problems {
		found = append(found, finding{What: "record: " + p.What, Found: p.Err.Error(), Hint: p.Hint})
	}
	return found, nil
}

// checkup is replayed by the doctor.
const checkup = `# pianola script 1
1 0.000001000 mkdir("/d", 0700) = 0 <0.000001000>
1 0.000001000 openat(AT_FDCWD, "/d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000>
1 0.000001000 pwrite64(3, 0x1000, 4096, 0) = 4096 <0.000001000>
1 0.000001000 fsync(3) = 0 <0.000001000>
1 0.000001000 pread64(3, 0x1000, 4096, 0) = 4096 <0.000001000>
1 0.000001000 close(3) = 0 <0.000001000>
1 0.000001000 unlink("/d/f") = 0 <0.000001000>
1 0.000001000 rmdir("/d") = 0 <0.000001000>
`

// replayFinding replays a few events in a directory of the working directory.
func replayFinding(ctx context.Context) finding {
	f := finding{What: "replay"}
	r, err := tryReplay(ctx)
	switch {
	case err != nil:
		f.Found = err.Error()
		f.Hint = "choose a working directory that can be written to, and Linux 5.6 or newer"
	case r.Differed > 0:
		f.Found = fmt.Sprintf("%d of %d results differ", r.Differed, r.Executed)
		f.Hint = "try a working directory on another file system"
	default:
		f.OK = true
		f.Found = "a file was written, synced and read in the working directory"
	}
	return f
}

func tryReplay(ctx context.Context) (*replay.Result, error) {
	trace, err := spool("")
	if err != nil {
		return nil, err
	}
	defer trace.Close()
	_, err = compileTo(trace, func() (format.Reader, error) {
		return script.NewReader(strings.NewReader(checkup), "checkup"), nil
	}, compile.Options{})
	if err != nil {
		return nil, err
	}
	t, err := traceOf(trace)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(".", "pianola-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return replay.Run(ctx, t, replay.Options{Root: filepath.Join(dir, "root")})
}
