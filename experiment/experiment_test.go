package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/experiment/compare"
	"pianola/profile"
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

func experiment(t *testing.T, candidates ...Candidate) (*Experiment, *Subject, *fake) {
	t.Helper()
	f := &fake{t: t, times: map[string]int{}}
	dir := t.TempDir()
	e := &Experiment{
		Runs: 3, Candidates: append([]Candidate{nil}, candidates...),
		NewRoot: func() (string, error) { return os.MkdirTemp(dir, "root-") },
		Clear:   func(root string) error { return os.Remove(filepath.Join(root, "left")) },
		Show:    func(*Subject, *Side, int, int, int) {},
		Warn:    func(err error) { t.Error(err) },
	}
	s := &Subject{
		Setup: func(c Candidate) (Setup, error) { return &fakeSetup{f, c}, nil },
		Application: func(*os.File) (Run, *compare.Paced, error) {
			return Run{Profile: run(10, 1, 1)}, nil, nil
		},
	}
	return e, s, f
}

// perform does all of an experiment and returns why it ended early.
func perform(t *testing.T, ctx context.Context, e *Experiment, s *Subject) error {
	t.Helper()
	require.NoError(t, e.Plan(s))
	early, err := e.Play(ctx, s)
	require.NoError(t, err)
	return early
}

func TestExperiment(t *testing.T) {
	e, s, f := experiment(t, Candidate{"trace=a"}, Candidate{"trace=a", "cache=cold"}, Candidate{"trace=same"}, Candidate{"memory"})
	var done []int
	e.Show = func(_ *Subject, _ *Side, _, n, all int) {
		require.Equal(t, 15, all)
		done = append(done, n)
		if n == 14 {
			require.FileExists(t, filepath.Join(s.played[0].root, "left"), "what is there stays from run to run")
		}
	}
	require.NoError(t, perform(t, t.Context(), e, s))
	require.Equal(t, []string{"", "trace=a", "trace=same"}, f.compiled, "each trace once")
	require.Len(t, f.runs, 12, "what changes nothing is not replayed")
	require.Len(t, done, 15)
	require.Equal(t, 14, done[14])
	require.Equal(t, Recorded, s.Sides[0].Kind)
	for i, side := range s.Sides[1:] {
		same := side.Candidate.String() == "trace=same"
		require.Equal(t, same, side.Unchanged, i)
		require.Equal(t, same, side.Idle, i)
		require.Equal(t, same, len(side.Runs) == 0, i)
	}
	root := s.played[0].root
	var roots []string
	for _, p := range s.played {
		roots = append(roots, p.root)
	}
	require.Equal(t, []string{root, root, root, root, ""}, roots)
	require.NoDirExists(t, root)
	for _, file := range f.files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}
}

// A command is recorded in turn with the replays, until it does not do the same any more.
// The root that was made is gone meanwhile.
func TestRecordedInTurn(t *testing.T) {
	for _, test := range []struct{ recordings, same, want, calls int }{{3, 3, 3, 3}, {2, 3, 2, 2}, {1, 3, 1, 1}, {3, 2, 2, 3}} {
		e, s, f := experiment(t)
		recorded := 0
		s.Recordings = test.recordings
		s.Record = func(context.Context) (Run, bool, error) {
			recorded++
			if recorded > 1 {
				require.NotEmpty(t, f.runs)
				require.NoDirExists(t, s.made)
			}
			return Run{Profile: run(10, 1, 1)}, recorded <= test.same, nil
		}
		require.NoError(t, perform(t, t.Context(), e, s))
		require.Equal(t, test.calls, recorded)
		require.Len(t, s.Sides[0].Runs, test.want)
		require.Len(t, s.Sides[1].Runs, 3)
	}

	e, s, f := experiment(t)
	s.Recordings = 3
	s.Record = func(context.Context) (Run, bool, error) { return Run{}, false, os.ErrPermission }
	require.NoError(t, e.Plan(s))
	_, err := e.Play(t.Context(), s)
	require.ErrorIs(t, err, os.ErrPermission)
	require.Empty(t, f.compiled)
}

// Each candidate is tried on each root, and once where it needs none.
func TestRootsOfAnExperiment(t *testing.T) {
	dir := t.TempDir()
	full, empty, missing := filepath.Join(dir, "full"), filepath.Join(dir, "empty"), filepath.Join(dir, "missing")
	for _, keep := range []bool{false, true} {
		require.NoError(t, os.MkdirAll(empty, 0o700))
		require.NoError(t, os.MkdirAll(full, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(full, "precious"), nil, 0o600))
		e, s, _ := experiment(t, Candidate{"memory"}, Candidate{"cache=cold"})
		s.Roots, e.Keep = []Root{{"", full}, {"slow", empty}, {"", missing}}, keep
		require.NoError(t, perform(t, t.Context(), e, s))
		var sides []string
		for _, side := range s.Sides[1:] {
			sides = append(sides, side.Candidate.String()+" "+filepath.Base(side.Root.Dir))
		}
		require.Equal(t, []string{"baseline full", "memory .", "cache=cold full", "baseline empty", "cache=cold empty", "baseline missing", "cache=cold missing"}, sides)
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
	e, s, _ := experiment(t, Candidate{"beside=" + made, "beside=" + full}, Candidate{"a", "beside=" + made})
	require.NoError(t, perform(t, t.Context(), e, s))
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
	e, s, f := experiment(t, Candidate{"a"}, Candidate{"b"})
	f.stop = fails("a", 2)
	require.NoError(t, perform(t, t.Context(), e, s))
	require.ErrorIs(t, s.Sides[2].Err, broken, "a candidate is given up")
	require.Equal(t, map[string]int{Baseline: 3, "a": 2, "b": 3}, f.times)
	require.False(t, e.Report.Interrupted)

	e, s, f = experiment(t, Candidate{"a"})
	f.stop = fails(Baseline, 2)
	require.ErrorIs(t, perform(t, t.Context(), e, s), broken, "the baseline ends it")
	require.True(t, e.Report.Interrupted)
	require.Len(t, s.Sides[1].Runs, 1)

	e, s, f = experiment(t)
	s.Workload, s.Roots = true, []Root{{"a", t.TempDir()}, {"b", t.TempDir()}}
	f.stop = fails(Baseline, 1)
	require.NoError(t, perform(t, t.Context(), e, s), "of workloads, any side can be missing")
	require.Len(t, f.runs, 4, "the other side goes on")

	e, s, f = experiment(t, Candidate{"a"})
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = func(string, int) error {
		if len(f.runs) == 3 {
			cancel()
		}
		return nil
	}
	require.ErrorIs(t, perform(t, ctx, e, s), context.Canceled)
	require.True(t, e.Report.Interrupted)
	require.Len(t, f.runs, 3)
}

// A workload whose recording lacks too much is left out.
func TestLackingWorkload(t *testing.T) {
	e, s, f := experiment(t)
	s.Workload = true
	lacking := lacks(t)
	s.Application = func(*os.File) (Run, *compare.Paced, error) {
		p := run(10, 1, 1)
		p.Coverage = lacking
		return Run{Profile: p}, nil, nil
	}
	require.NoError(t, perform(t, t.Context(), e, s))
	require.Empty(t, f.runs)
	require.ErrorContains(t, s.Sides[1].Err, "its recording allows no verdict: ")
}

func TestExperimentThatCannotBegin(t *testing.T) {
	begin := func(e *Experiment, s *Subject) error {
		require.NoError(t, e.Plan(s))
		_, err := e.Play(t.Context(), s)
		return err
	}
	e, s, f := experiment(t, Candidate{"trace=a"}, Candidate{"trace=bad"})
	require.ErrorIs(t, begin(e, s), os.ErrInvalid)
	for _, file := range f.files {
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	}

	e, s, _ = experiment(t, Candidate{"trace=bad"})
	e.GiveUp = true
	require.NoError(t, begin(e, s))
	require.ErrorIs(t, s.Sides[2].Err, os.ErrInvalid)

	e, s, _ = experiment(t)
	s.Setup = func(Candidate) (Setup, error) { return nil, os.ErrInvalid }
	require.ErrorIs(t, e.Plan(s), os.ErrInvalid)

	e, s, _ = experiment(t)
	e.NewRoot = func() (string, error) { return "", os.ErrPermission }
	require.ErrorIs(t, begin(e, s), os.ErrPermission)
}

// With only candidates that change nothing, nothing is replayed. Other options make a
// difference, whatever the trace.
func TestIdleExperiment(t *testing.T) {
	e, s, f := experiment(t, Candidate{"trace=same"})
	require.NoError(t, perform(t, t.Context(), e, s))
	require.Empty(t, f.runs)
	require.Equal(t, "no candidate changes the trace: nothing was replayed", e.Report.Conclusion())
	out := text(t, &e.Report)
	require.Contains(t, out, "trace=same: the trace is that of the baseline, and was not replayed\n")
	require.NotContains(t, out, "run time")

	e, s, f = experiment(t, Candidate{"trace=same", "cache=cold"})
	require.NoError(t, perform(t, t.Context(), e, s))
	require.Len(t, f.runs, 6)
}

// The memory that is kept of a run does not grow with the run, unless all of it is asked for.
func TestKept(t *testing.T) {
	for _, whole := range []bool{false, true} {
		e, side := &Experiment{Whole: whole}, &Side{}
		p := run(1, 1, 1)
		p.Files = make([]profile.File, 1000)
		e.add(side, Run{Profile: p})
		require.Equal(t, whole, len(side.Runs[0].Profile.Files) > 0)
		require.Equal(t, whole, len(side.Runs[0].Profile.Curves[0]) > 0)
	}
}
