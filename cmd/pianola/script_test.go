package main

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record/ebpf"
	"pianola/record/ptrace"
	"pianola/record/recordkit"
	"pianola/replay/ranks/hub"
)

func TestMain(m *testing.M) {
	ptrace.Main() // a command of a recorder without privileges begins in this program
	if os.Getenv("PIANOLA_INSTALLED") != "" {
		os.Exit(m.Run()) // the pianola in PATH is what is tested, for pages of docs
	}
	testscript.Main(waiting{m}, map[string]func(){"pianola": main, "pianola-ranks": hub.Main})
}

// waiting runs the tests, twice as many at a time as there are processors: most of them
// wait for a process, a clock or the disk. The option -parallel is stronger.
type waiting struct{ *testing.M }

func (w waiting) Run() int {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	return w.M.Run()
}

// long are the scripts that take seconds. They are left out where tests are to be
// short.
var long = []string{
	"bench", "compare_groups", "compile_with", "import_strace_live", "lab", "lab_feign", "model", "plugin_disk", "plugin_go", "plugin_rank",
	"record_bench", "record_gcc", "record_git", "record_hdf5", "record_mpi", "record_mpi_replay", "record_python3", "record_runs", "record_sqlite3", "record_tar", "record_zst",
}

// texts are the scripts whose commands read text and write text. The goroutines of such a
// command read ahead and write behind it, as they do for each command of the other scripts
// and in the tests of package format. They are left out under the race detector.
var texts = []string{
	"anonymize", "compare", "compare_bound", "compare_checks", "compare_groups", "compare_same", "convert_fio", "csv_formulas", "doctor", "errors", "filter", "help", "html",
	"import_foreign", "import_strace_y", "input_limits", "layer", "layers", "model", "names", "profile", "profile_communication", "profile_diagnosis", "profile_options",
	"profile_strace", "provenance", "threadids", "transform_names", "unread", "usage", "version", "workloads",
}

// Each script in testdata shows one behaviour of the command. Scripts whose
// name begins with "record" need eBPF.
func TestScripts(t *testing.T) {
	all, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	goEnv := goEnv(t)
	groups := map[string][]string{}
	for _, name := range slices.Concat(long, texts) {
		require.Contains(t, all, "testdata/script/"+name+".txtar")
	}
	for _, file := range all {
		script := strings.TrimSuffix(filepath.Base(file), ".txtar")
		if testing.Short() && slices.Contains(long, script) || raceDetector() && slices.Contains(texts, script) {
			continue
		}
		name := "others"
		if strings.HasPrefix(script, "record") {
			name = "record"
		}
		groups[name] = append(groups[name], file)
	}
	require.Len(t, groups, 2)
	for name, files := range groups {
		t.Run(name, func(t *testing.T) {
			if name == "record" {
				recordkit.RequireEBPF(t, ebpf.MeasureCost)
			}
			shared, err := filepath.Abs("../../testdata")
			require.NoError(t, err)
			testscript.Run(t, testscript.Params{
				Files: files,
				Setup: func(e *testscript.Env) error {
					e.Setenv("TESTDATA", shared)
					e.Setenv("GORACE", os.Getenv("GORACE")) // see the Makefile
					for _, key := range []string{"GOCACHE", "GOMODCACHE"} {
						e.Setenv(key, goEnv[key])
					}
					e.Setenv("GOFLAGS", "-buildvcs=false") // git refuses a clone of another user
					return nil
				},
				Condition:     condition,
				UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
			})
		})
	}
}

// goEnv returns where go keeps what it has built and fetched, which scripts that
// build programs share: they have a home of their own.
func goEnv(t *testing.T) (env map[string]string) {
	out, err := exec.Command("go", "env", "-json").Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &env))
	return env
}

// condition is that a program is there, or, by the name root, who runs the tests,
// or, by the name cgroup, that cgroups can be made, or, by the name fadvise, that files can leave the page cache: those of a tmpfs
// can't, or, by the name openmpi, that programs can be built for Open MPI: its compiler can be there without its headers.
func condition(what string) (bool, error) {
	switch what {
	case "root":
		return os.Geteuid() == 0, nil
	case "cgroup":
		there, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
		_, unified := os.Stat("/sys/fs/cgroup/cgroup.procs")
		return os.Geteuid() == 0 && (len(there) > 0 || unified == nil), err
	case "openmpi":
		return exec.Command("mpicc.openmpi", "-E", "-include", "mpi.h", "-x", "c", "/dev/null").Run() == nil, nil
	case "fadvise":
		var s unix.Statfs_t
		err := unix.Statfs(os.TempDir(), &s)
		return s.Type != unix.TMPFS_MAGIC, err
	}
	_, err := exec.LookPath(what)
	return err == nil, nil
}
