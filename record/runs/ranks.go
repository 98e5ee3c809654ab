package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/launcher"
	"pianola/record"
	"pianola/record/ranks"
)

// FindPlace returns the place that the launcher of a parallel program has given this process.
func FindPlace() (launcher.Place, error) {
	place, err := launcher.Find(os.LookupEnv)
	if errors.Is(err, launcher.ErrNone) {
		err = console.WithHint(err, "start pianola by the launcher: mpiexec -n 4 pianola record --ranks …, or srun")
	}
	if err == nil && place.Node == "" {
		place.Node, err = os.Hostname()
	}
	return place, err
}

// TakeNode records the ranks of this node into a directory. It is for the first rank of the node,
// which runs the command itself; the others become ranks. Errors are those of Take.
func (r *Recorder) TakeNode(ctx context.Context, dir string, place launcher.Place) (record.Result, error) {
	name := format.NodeName(place.Node)
	if r.Record.NoHost {
		name = fmt.Sprintf("node%d", place.Rank)
	}
	node, err := ranks.NewNode(dir, name, place, func(err error) { console.Warn("record: node %s: %v", name, err) })
	if err != nil {
		return record.Result{}, err
	}
	defer node.Close()
	out, err := r.Kept.Open(ranks.Name(dir, name))
	if err != nil {
		return record.Result{}, err
	}
	r.Record.Ranks = node
	return r.take(ctx, out)
}

// BecomeRank waits until the recorder of the node, which writes to a directory, follows this
// process, and executes the command in it. It returns only with an error, which is a
// *record.StartError where there is no such command.
func (r *Recorder) BecomeRank(dir string, place launcher.Place) error {
	o := &r.Record
	if err := o.Complete(); err != nil {
		return err
	}
	path, err := o.Program()
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		err = ranks.Join(dir, place)
	}
	if err != nil {
		return err
	}
	return record.NewStartError(o.Command[0], syscall.Exec(path, o.Command, o.Env))
}
