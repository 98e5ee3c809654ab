package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake plays candidates: "trace=X" makes another trace, "memory" needs no root.
type fake struct {
	t        *testing.T
	compiled []string
	runs     []string
	files    []*os.File
	stop     func(candidate string, run int) error
	times    map[string]int
}

type fakeSetup struct {
	*fake
	c Candidate
}

func (s *fakeSetup) Making() (steps []string) {
	for _, step := range s.c {
		if name, _ := Cut(step); name == "trace" {
			steps = append(steps, step)
		}
	}
	return steps
}

func (s *fakeSetup) Compile() (*os.File, error) {
	key := strings.Join(s.Making(), "+")
	s.compiled = append(s.compiled, key)
	if key == "trace=bad" {
		return nil, os.ErrInvalid
	}
	f, err := os.Create(filepath.Join(s.t.TempDir(), "trace"))
	require.NoError(s.t, err)
	if key != "trace=same" {
		_, err = f.WriteString(key)
		require.NoError(s.t, err)
	}
	s.files = append(s.files, f)
	return f, nil
}

func (s *fakeSetup) Rooted() bool { return s.c.String() != "memory" }

// Beside returns the arguments of the steps "beside".
func (s *fakeSetup) Beside() (dirs []string) {
	for _, step := range s.c {
		if name, dir := Cut(step); name == "beside" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func (s *fakeSetup) Replay(_ context.Context, trace *os.File, root string) (Run, error) {
	name := s.c.String()
	s.times[name]++
	s.runs = append(s.runs, name+" "+root)
	if s.stop != nil {
		if err := s.stop(name, s.times[name]); err != nil {
			return Run{}, err
		}
	}
	for _, dir := range append(s.Beside(), root) {
		if dir != "" {
			require.NoError(s.t, os.MkdirAll(dir, 0o700))
			require.NoError(s.t, os.WriteFile(filepath.Join(dir, "left"), nil, 0o600))
		}
	}
	return Run{Profile: run(10, 1, 1)}, nil
}

func experiment(t *testing.T, candidates ...Candidate) (*Experiment, *fake) {
	t.Helper()
	f := &fake{t: t, times: map[string]int{}}
	dir := t.TempDir()
	e := &Experiment{
		Runs: 3, Candidates: append([]Candidate{nil}, candidates...),
		Setup:   func(c Candidate) (Setup, error) { return &fakeSetup{f, c}, nil },
		NewRoot: func() (string, error) { return os.MkdirTemp(dir, "root-") },
		Clear:   func(root string) error { return os.Remove(filepath.Join(root, "left")) },
		Show:    func(int, *Trial) {},
		Warn:    func(err error) { t.Error(err) },
	}
	return e, f
}

// perform does all of an experiment and returns the error of its runs.
func perform(t *testing.T, ctx context.Context, e *Experiment) error {
	t.Helper()
	require.NoError(t, e.Plan())
	_, err := e.Compile()
	require.NoError(t, err)
	require.NoError(t, e.OpenRoots())
	return e.Run(ctx)
}

func TestExperiment(t *testing.T) {
	e, f := experiment(t, Candidate{"trace=a"}, Candidate{"trace=a", "cache=cold"}, Candidate{"trace=same"}, Candidate{"memory"})
	var done []int
	e.Show = func(n int, _ *Trial) { done = append(done, n) }
	require.NoError(t, perform(t, t.Context(), e))
	require.Equal(t, []string{"", "trace=a", "trace=same"}, f.compiled, "each trace once")
	require.Len(t, f.runs, 12, "what changes nothing is not replayed")
	require.Len(t, done, 15)
	require.Equal(t, 14, done[14])
	for i, trial := range e.Report.Trials {
		same := trial.Candidate.String() == "trace=same"
		require.Equal(t, same, trial.Unchanged, i)
		require.Equal(t, same, trial.Idle, i)
		require.Equal(t, same, trial.Runs() == 0, i)
	}
	root := e.roots[0]
	require.Equal(t, []string{root, root, root, root, ""}, e.roots)
	require.FileExists(t, filepath.Join(root, "left"), "what is there stays from run to run")
	e.Close()
	require.NoDirExists(t, root)
	for _, file := range f.files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}
}

// Each candidate is tried on each root, and once where it needs none.
func TestRootsOfAnExperiment(t *testing.T) {
	dir := t.TempDir()
	full, empty, missing := filepath.Join(dir, "full"), filepath.Join(dir, "empty"), filepath.Join(dir, "missing")
	for _, keep := range []bool{false, true} {
		require.NoError(t, os.MkdirAll(empty, 0o700))
		require.NoError(t, os.MkdirAll(full, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(full, "precious"), nil, 0o600))
		e, _ := experiment(t, Candidate{"memory"}, Candidate{"cache=cold"})
		e.Roots, e.Keep = []Root{{"", full}, {"slow", empty}, {"", missing}}, keep
		require.NoError(t, perform(t, t.Context(), e))
		var trials []string
		for _, trial := range e.Report.Trials {
			trials = append(trials, trial.Candidate.String()+" "+filepath.Base(trial.Root.Dir))
		}
		require.Equal(t, []string{"baseline full", "memory .", "cache=cold full", "baseline empty", "cache=cold empty", "baseline missing", "cache=cold missing"}, trials)
		e.Close()
		require.FileExists(t, filepath.Join(full, "left"), "what held something is left alone")
		require.DirExists(t, empty)
		if keep {
			require.FileExists(t, filepath.Join(empty, "left"))
			require.DirExists(t, missing)
		} else {
			require.NoFileExists(t, filepath.Join(empty, "left"))
			require.NoDirExists(t, missing)
		}
	}
}

// Files of replays outside the root are removed as well.
func TestBesideTheRoot(t *testing.T) {
	dir := t.TempDir()
	made, full := filepath.Join(dir, "made"), filepath.Join(dir, "full")
	require.NoError(t, os.MkdirAll(full, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(full, "precious"), nil, 0o600))
	e, _ := experiment(t, Candidate{"beside=" + made, "beside=" + full}, Candidate{"a", "beside=" + made})
	require.NoError(t, perform(t, t.Context(), e))
	require.FileExists(t, filepath.Join(made, "left"), "what is there stays from run to run")
	e.Close()
	require.NoDirExists(t, made)
	require.FileExists(t, filepath.Join(full, "left"), "what held something is left alone")
}

func TestExperimentEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	fails := func(name string, run int) func(string, int) error {
		return func(candidate string, n int) error {
			if candidate == name && n == run {
				return broken
			}
			return nil
		}
	}
	e, f := experiment(t, Candidate{"a"}, Candidate{"b"})
	f.stop = fails("a", 2)
	require.NoError(t, perform(t, t.Context(), e))
	require.ErrorIs(t, e.Report.Trials[1].Err, broken, "a candidate is given up")
	require.Equal(t, map[string]int{Baseline: 3, "a": 2, "b": 3}, f.times)
	require.False(t, e.Report.Interrupted)
	e.Close()

	e, f = experiment(t, Candidate{"a"})
	f.stop = fails(Baseline, 2)
	require.ErrorIs(t, perform(t, t.Context(), e), broken, "the baseline ends it")
	require.True(t, e.Report.Interrupted)
	require.Equal(t, 1, e.Report.Trials[0].Runs())
	e.Close()

	e, f = experiment(t, Candidate{"a"})
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = func(string, int) error {
		if len(f.runs) == 3 {
			cancel()
		}
		return nil
	}
	require.ErrorIs(t, perform(t, ctx, e), context.Canceled)
	require.True(t, e.Report.Interrupted)
	require.Len(t, f.runs, 3)
	e.Close()
}

func TestExperimentThatCannotBegin(t *testing.T) {
	e, f := experiment(t, Candidate{"trace=a"}, Candidate{"trace=bad"})
	require.NoError(t, e.Plan())
	_, err := e.Compile()
	require.ErrorIs(t, err, os.ErrInvalid)
	e.Close()
	for _, file := range f.files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}

	e, _ = experiment(t)
	e.Setup = func(Candidate) (Setup, error) { return nil, os.ErrInvalid }
	require.ErrorIs(t, e.Plan(), os.ErrInvalid)

	e, _ = experiment(t)
	e.NewRoot = func() (string, error) { return "", os.ErrPermission }
	require.NoError(t, e.Plan())
	require.ErrorIs(t, e.OpenRoots(), os.ErrPermission)
	e.Close()
}

// With only candidates that change nothing, nothing is replayed. Other options make a
// difference, whatever the trace.
func TestIdleExperiment(t *testing.T) {
	e, f := experiment(t, Candidate{"trace=same"})
	require.NoError(t, perform(t, t.Context(), e))
	require.Empty(t, f.runs)
	require.Equal(t, "no candidate changes the trace: nothing was replayed", e.Report.Conclusion())
	out := text(t, &e.Report)
	require.Contains(t, out, "trace=same: the trace is that of the baseline, and was not replayed\n")
	require.NotContains(t, out, "run time")
	e.Close()

	e, f = experiment(t, Candidate{"trace=same", "cache=cold"})
	require.NoError(t, perform(t, t.Context(), e))
	require.Len(t, f.runs, 6)
	e.Close()
}
