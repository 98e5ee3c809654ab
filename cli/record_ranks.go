package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v2"

	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/launcher"
	"pianola/record"
	"pianola/record/ranks"
)

// checkRanks checks the options of a recording of ranks.
func checkRanks(c *cli.Context, who *account) error {
	if err := checkMode(c, "ranks"); err != nil {
		return err
	}
	switch {
	case c.String("tracer") == "ptrace":
		return usage(c, "--ranks needs eBPF")
	case who != nil:
		return usage(c, "--ranks can't run under sudo, because sudo closes the launcher's connection; run the launcher as root, or give pianola capabilities")
	case !c.IsSet("o"):
		return usage(c, "--ranks needs -o DIR for the recordings")
	}
	return nil
}

// takeRanks records the ranks of this node, or becomes one of them. It returns only once the
// recording has ended, or after an error.
func (s *recorder) takeRanks(dir string) error {
	place, err := launcher.Find(os.LookupEnv)
	if err != nil {
		if errors.Is(err, launcher.ErrNone) {
			err = console.WithHint(err, "start pianola by the launcher: mpiexec -n 4 pianola record --ranks …, or srun")
		}
		return &exitError{ExitRecord, err}
	}
	if place.Node == "" {
		if place.Node, err = os.Hostname(); err != nil {
			return &exitError{ExitRecord, err}
		}
	}
	if place.Local > 0 {
		return s.becomeRank(dir, place)
	}
	name := format.NodeName(place.Node)
	if s.options.NoHost {
		name = fmt.Sprintf("node%d", place.Rank)
	}
	node, err := ranks.NewNode(dir, name, place, func(err error) { console.Warn("record: node %s: %v", name, err) })
	if err != nil {
		return &exitError{ExitRecord, err}
	}
	defer node.Close()
	out, err := s.kept.open(ranks.Name(dir, name), nil)
	if err != nil {
		return &exitError{ExitRecord, err}
	}
	s.options.Ranks = node
	r, err := s.take(out)
	if err == nil && r.Status != 0 {
		err = &exitError{status: r.Status}
	}
	return err
}

// becomeRank waits until the recorder of the node follows this process, and executes the
// command in it.
func (s *recorder) becomeRank(dir string, p launcher.Place) error {
	o := &s.options
	if err := o.Complete(); err != nil {
		return &exitError{ExitRecord, err}
	}
	path, err := o.Program()
	if err == nil {
		if path, err = filepath.Abs(path); err != nil {
			return &exitError{ExitRecord, err}
		}
		defer endOn(s.Context.Context)() // the command gets the signals once it is executed
		if err = ranks.Join(dir, p); err != nil {
			return &exitError{ExitRecord, err}
		}
		err = record.NewStartError(o.Command[0], syscall.Exec(path, o.Command, o.Env))
	}
	if start, ok := errors.AsType[*record.StartError](err); ok {
		return &exitError{start.Status, err}
	}
	return &exitError{ExitRecord, err}
}
