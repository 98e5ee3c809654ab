// Package launcher reads from the environment where in a parallel program a process is: its
// rank, and its place among the ranks of its node. The launchers set that: mpich's hydra, Open
// MPI, Slurm's srun, and those that set RANK and WORLD_SIZE.
package launcher

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Place is where a process is in a parallel program.
type Place struct {
	Rank, Size       int    // of the program: the own number, from 0, and how many there are
	Local, LocalSize int    // of the node: the same
	Node             string // its name as the launcher has it; empty if that says none
	Job              string // tells the program from others: PIANOLA_RUN, or what the launcher calls it; empty if that says none
}

// ErrNone says that no launcher has started the process.
var ErrNone = errors.New("no launcher has set the rank of this process")

// launcher names the variables of one.
type launcher struct {
	name                               string
	rank, size, local, localSize, node string
	job                                []string // together they tell programs apart
	localDefault                       bool     // without the variables of the node, the process is alone on it
}

// launchers, the innermost first: srun's variables are also there for what mpiexec starts
// within a job.
var launchers = []launcher{
	{name: "the environment", rank: "PIANOLA_RANK", size: "PIANOLA_SIZE", local: "PIANOLA_LOCAL_RANK", localSize: "PIANOLA_LOCAL_SIZE", localDefault: true},
	{name: "hydra", rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALRANKID", localSize: "MPI_LOCALNRANKS", node: "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"},
	{name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", local: "OMPI_COMM_WORLD_LOCAL_RANK", localSize: "OMPI_COMM_WORLD_LOCAL_SIZE", job: []string{"PMIX_NAMESPACE"}},
	{name: "Slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", local: "SLURM_LOCALID", localSize: "SLURM_STEP_TASKS_PER_NODE", node: "SLURMD_NODENAME", job: []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{name: "the environment", rank: "RANK", size: "WORLD_SIZE", local: "LOCAL_RANK", localSize: "LOCAL_WORLD_SIZE", localDefault: true},
	{name: "Kubernetes", rank: "JOB_COMPLETION_INDEX", size: "PIANOLA_SIZE", local: "PIANOLA_LOCAL_RANK", localSize: "PIANOLA_LOCAL_SIZE", localDefault: true},
}

// Find returns the place of the process with these variables. lookup is os.LookupEnv or
// the like.
func Find(lookup func(string) (string, bool)) (Place, error) {
	for _, l := range launchers {
		if _, ok := lookup(l.rank); !ok {
			continue
		}
		if _, ok := lookup(l.local); !ok && !l.localDefault {
			continue
		}
		p, err := l.place(lookup)
		if err != nil {
			return Place{}, fmt.Errorf("%s: %w", l.name, err)
		}
		return p, nil
	}
	return Place{}, ErrNone
}

func (l *launcher) place(lookup func(string) (string, bool)) (p Place, err error) {
	p.LocalSize = 1
	for _, v := range []struct {
		name string
		to   *int
		node bool
	}{{l.rank, &p.Rank, false}, {l.size, &p.Size, false}, {l.local, &p.Local, true}, {l.localSize, &p.LocalSize, true}} {
		text, ok := lookup(v.name)
		if !ok && v.node && l.localDefault {
			continue
		}
		if v.name == "SLURM_STEP_TASKS_PER_NODE" {
			node, _ := lookup("SLURM_NODEID")
			text = tasks(text, node)
		}
		if *v.to, err = strconv.Atoi(text); err != nil {
			return p, fmt.Errorf("%s is %q, not a number", v.name, text)
		}
	}
	p.Node, _ = lookup(l.node)
	p.Job, _ = lookup("PIANOLA_RUN")
	if p.Job == "" {
		var job []string
		for _, name := range l.job {
			word, _ := lookup(name)
			job = append(job, word)
		}
		p.Job = strings.Trim(strings.Join(job, "."), ".")
	}
	if p.Rank < 0 || p.Rank >= p.Size || p.Local < 0 || p.Local >= p.LocalSize || p.LocalSize > p.Size {
		return p, fmt.Errorf("rank %d of %d, and %d of %d on its node, is not possible", p.Rank, p.Size, p.Local, p.LocalSize)
	}
	return p, nil
}

// tasks returns from a list such as 2(x3),1 how many tasks the node with a number has; an
// empty text if the list does not say.
func tasks(list, node string) string {
	n, err := strconv.Atoi(node)
	if err != nil {
		return ""
	}
	for word := range strings.SplitSeq(list, ",") {
		count, times, repeated := strings.Cut(strings.TrimSuffix(word, ")"), "(x")
		nodes := 1
		if repeated {
			if nodes, err = strconv.Atoi(times); err != nil {
				return ""
			}
		}
		if n -= nodes; n < 0 {
			return count
		}
	}
	return ""
}
