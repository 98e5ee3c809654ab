// Package internal holds the test of the rules by which the parts import one
// another, and helpers for tests.
package internal

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowed says what each package of the house may import besides the standard
// library. A package that is not listed may import nothing; a third party
// lives in one room.
var allowed = map[string][]string{
	"pianola/format":                     {},
	"pianola/format/script":              {"pianola/format", "pianola/internal/futex"},
	"pianola/format/importer":            {"pianola/format", "pianola/format/script"},
	"pianola/format/bin":                 {"pianola/format", "pianola/format/schedule", "github.com/klauspost/compress/"},
	"pianola/format/schedule":            {"pianola/format"},
	"pianola/format/export":              {"pianola/format", "pianola/format/process", "pianola/format/script", "github.com/parquet-go/parquet-go"},
	"pianola/format/export/dataset":      {"pianola/format", "pianola/format/export", "pianola/internal/console", "pianola/internal/files"},
	"pianola/format/spool":               {"pianola/format"},
	"pianola/format/compressed":          {"github.com/klauspost/compress/"},
	"pianola/bpf":                        {"github.com/cilium/ebpf"},
	"pianola/record/ebpf":                {"pianola/bpf", "pianola/coverage", "pianola/format", "pianola/internal/mounts", "pianola/layer", "pianola/record", "pianola/stats", "github.com/cilium/ebpf", "golang.org/x/sys/"},
	"pianola/record":                     {"pianola/bpf", "pianola/coverage", "pianola/format", "pianola/internal/fiemap", "pianola/internal/mounts", "pianola/layer", "pianola/provenance", "golang.org/x/sys/"},
	"pianola/record/output":              {"pianola/format", "pianola/format/compressed", "pianola/format/script", "pianola/internal/console", "pianola/internal/files", "pianola/internal/glob", "pianola/record", "pianola/record/parts", "pianola/table", "golang.org/x/sys/"},
	"pianola/record/runs":                {"pianola/format", "pianola/internal/console", "pianola/internal/interrupt", "pianola/internal/launcher", "pianola/record", "pianola/record/ebpf", "pianola/record/output", "pianola/record/ptrace", "pianola/record/ranks", "pianola/table", "golang.org/x/sys/"},
	"pianola/record/parts":               {"pianola/coverage", "pianola/filter", "pianola/format", "pianola/format/process", "pianola/format/spool", "pianola/record", "golang.org/x/sys/"},
	"pianola/record/ranks":               {"pianola/format", "pianola/internal/launcher", "pianola/internal/ownfile", "pianola/record", "golang.org/x/sys/"},
	"pianola/nodes":                      {"pianola/coverage", "pianola/format", "pianola/format/process", "pianola/mpi", "pianola/transform"},
	"pianola/record/ptrace":              {"pianola/bpf", "pianola/coverage", "pianola/format", "pianola/internal/futex", "pianola/record", "pianola/stats", "golang.org/x/sys/"},
	"pianola/format/process":             {"pianola/format"},
	"pianola/device":                     {"pianola/format", "pianola/format/process", "pianola/internal/files", "pianola/table"},
	"pianola/filter":                     {"pianola/format", "pianola/internal/glob"},
	"pianola/transform":                  {"pianola/format", "pianola/format/process", "pianola/filter", "pianola/mpi"},
	"pianola/coverage":                   {"pianola/format", "pianola/table"},
	"pianola/compile":                    {"pianola/coverage", "pianola/format", "pianola/format/process", "pianola/format/spool", "pianola/mpi", "pianola/table"},
	"pianola/compile/source":             {"pianola/compile", "pianola/format", "pianola/format/bin", "pianola/format/compressed", "pianola/format/export", "pianola/format/importer", "pianola/format/script", "pianola/internal/available", "pianola/internal/console", "pianola/internal/files", "pianola/nodes", "pianola/plugin", "pianola/table", "pianola/transform"},
	"pianola/mpi":                        {"pianola/format"},
	"pianola/plugin":                     {"pianola/format", "pianola/format/script", "golang.org/x/sys/"},
	"pianola/replay":                     {"pianola/device", "pianola/format", "pianola/format/script", "pianola/internal/eventcount", "pianola/internal/limit", "pianola/internal/option", "pianola/internal/spin", "pianola/ranks", "pianola/replay/engine", "pianola/replay/fileset", "pianola/replay/null", "pianola/replay/posix", "pianola/replay/program", "pianola/replay/sandbox", "pianola/stats", "golang.org/x/sys/"},
	"pianola/replay/posix":               {"pianola/format", "pianola/memfs", "pianola/internal/available", "pianola/internal/fiemap", "pianola/internal/glob", "pianola/internal/limit", "pianola/internal/spin", "pianola/ranks", "pianola/replay/engine", "pianola/replay/fileset", "pianola/replay/rings", "pianola/replay/sandbox", "golang.org/x/sys/"},
	"pianola/replay/engine":              {"pianola/format", "pianola/format/schedule", "pianola/internal/eventcount", "pianola/internal/limit", "pianola/internal/option", "pianola/internal/spin", "pianola/stats"},
	"pianola/replay/null":                {"pianola/format", "pianola/replay/engine"},
	"pianola/replay/program":             {"pianola/format", "pianola/replay/engine"},
	"pianola/ranks":                      {"pianola/internal/eventcount", "pianola/stats", "golang.org/x/sys/"},
	"pianola/ranks/hub":                  {"pianola/internal/ownfile", "pianola/ranks", "pianola/stats", "github.com/nats-io/", "golang.org/x/sys/"},
	"pianola/cmd/pianola-ranks":          {"pianola/ranks/hub"},
	"pianola/internal/eventcount":        {},
	"pianola/internal/limit":             {},
	"pianola/internal/spin":              {},
	"pianola/replay/fileset":             {"pianola/format", "pianola/internal/fiemap", "pianola/internal/limit", "pianola/internal/option", "pianola/replay/sandbox", "golang.org/x/sys/"},
	"pianola/replay/rings":               {"pianola/replay/sandbox", "golang.org/x/sys/"},
	"pianola/replay/sandbox":             {"pianola/internal/mounts", "golang.org/x/sys/"},
	"pianola/replay/spans":               {"pianola/format", "pianola/format/script", "pianola/layer", "pianola/plugin", "pianola/replay", "pianola/replay/engine", "pianola/replay/fileset", "pianola/replay/posix", "pianola/stats", "pianola/table"},
	"pianola/layer":                      {},
	"pianola/memfs":                      {"golang.org/x/sys/"},
	"pianola/workloads":                  {"pianola/coverage", "pianola/format", "pianola/format/bin", "pianola/format/process", "pianola/internal/glob", "pianola/profile", "go.yaml.in/yaml/v3"},
	"pianola/stats":                      {"github.com/HdrHistogram/hdrhistogram-go"},
	"pianola/table":                      {"pianola/format"},
	"pianola/profile":                    {"pianola/coverage", "pianola/format", "pianola/format/process", "pianola/stats", "pianola/picture", "pianola/table"},
	"pianola/picture":                    {"golang.org/x/image/"},
	"pianola/provenance":                 {"pianola/format", "pianola/internal/mounts", "golang.org/x/sys/"},
	"pianola/compare":                    {"pianola/check", "pianola/coverage", "pianola/format", "pianola/internal/console", "pianola/profile", "pianola/provenance", "pianola/stats", "pianola/table"},
	"pianola/check":                      {"pianola/format", "pianola/profile", "pianola/stats", "pianola/table"},
	"pianola/baseline":                   {"pianola/coverage", "pianola/format", "pianola/profile", "pianola/provenance", "pianola/stats"},
	"pianola/diagnosis":                  {"pianola/format", "pianola/profile", "pianola/table"},
	"pianola/page":                       {"pianola/coverage", "pianola/compare", "pianola/format", "pianola/profile", "pianola/provenance"},
	"pianola/experiment":                 {"pianola/baseline", "pianola/check", "pianola/compare", "pianola/coverage", "pianola/diagnosis", "pianola/format", "pianola/internal/console", "pianola/internal/files", "pianola/page", "pianola/profile", "pianola/stats", "pianola/table"},
	"pianola/experiment/replays":         {"pianola/compare", "pianola/coverage", "pianola/experiment", "pianola/format", "pianola/format/bin", "pianola/profile", "pianola/ranks", "pianola/replay", "pianola/stats", "pianola/table"},
	"pianola/experiment/sides":           {"pianola/compare", "pianola/compile", "pianola/compile/source", "pianola/experiment", "pianola/experiment/replays", "pianola/format", "pianola/internal/console", "pianola/internal/files", "pianola/profile", "pianola/stats"},
	"pianola/cli":                        {"pianola/check", "pianola/cmd/doctor", "pianola/compare", "pianola/compile", "pianola/compile/source", "pianola/device", "pianola/diagnosis", "pianola/experiment", "pianola/experiment/replays", "pianola/experiment/sides", "pianola/filter", "pianola/format", "pianola/format/bin", "pianola/format/compressed", "pianola/format/export", "pianola/format/export/dataset", "pianola/format/importer", "pianola/format/script", "pianola/internal/console", "pianola/internal/files", "pianola/internal/glob", "pianola/internal/interrupt", "pianola/internal/launcher", "pianola/layer", "pianola/page", "pianola/plugin", "pianola/profile", "pianola/provenance", "pianola/ranks", "pianola/record", "pianola/record/ebpf", "pianola/record/output", "pianola/record/parts", "pianola/record/ptrace", "pianola/record/runs", "pianola/replay", "pianola/replay/engine", "pianola/replay/fileset", "pianola/replay/posix", "pianola/replay/sandbox", "pianola/replay/spans", "pianola/table", "pianola/transform", "pianola/workloads", "github.com/urfave/cli/v2", "github.com/xrash/smetrics", "golang.org/x/sys/"},
	"pianola/cmd/doctor":                 {"pianola/compile", "pianola/format", "pianola/format/bin", "pianola/format/script", "pianola/internal/available", "pianola/internal/console", "pianola/internal/files", "pianola/record", "pianola/record/ebpf", "pianola/record/ptrace", "pianola/replay", "pianola/replay/rings", "pianola/replay/sandbox", "pianola/table", "golang.org/x/sys/"},
	"pianola/internal/console":           {"pianola/format", "pianola/table", "golang.org/x/term"},
	"pianola/internal/files":             {"pianola/format", "pianola/internal/console"},
	"pianola/cmd/pianola":                {"pianola/cli"},
	"pianola/docs/plugins/go":            {"pianola/cli", "pianola/format", "pianola/format/importer", "pianola/replay", "pianola/transform"},
	"pianola/docs/plugins/log":           {},
	"pianola/docs/plugins/checkpoint":    {},
	"pianola/docs/plugins/database":      {},
	"pianola/scripts/prose":              {},
	"pianola/scripts":                    {},
	"pianola/scripts/load":               {},
	"pianola/scripts/measure":            {"pianola/stats", "golang.org/x/sys/"},
	"pianola/scripts/load/pool":          {},
	"pianola/scripts/pictures":           {"github.com/chromedp/"},
	"pianola/internal":                   {},
	"pianola/internal/available":         {"golang.org/x/sys/"},
	"pianola/internal/fiemap":            {},
	"pianola/internal/futex":             {},
	"pianola/internal/glob":              {},
	"pianola/internal/interrupt":         {"golang.org/x/sys/"},
	"pianola/internal/launcher":          {},
	"pianola/internal/manpages":          {"pianola/cli"},
	"pianola/internal/mounts":            {},
	"pianola/internal/option":            {},
	"pianola/internal/ownfile":           {"golang.org/x/sys/"},
	"pianola/internal/roottest":          {"golang.org/x/sys/", "github.com/stretchr/testify/"},
	"pianola/internal/testkit/recordkit": {"pianola/format", "pianola/format/script", "pianola/record", "github.com/stretchr/testify/", "golang.org/x/sys/"},
	"pianola/internal/testkit/replaykit": {"pianola/format", "pianola/internal/spin", "golang.org/x/sys/"},
	"pianola/internal/testkit/tracefuzz": {"pianola/compile", "pianola/format", "pianola/format/bin", "pianola/format/script", "pianola/internal/testkit", "github.com/stretchr/testify/"},
	"pianola/internal/testkit":           {"pianola/format", "github.com/stretchr/testify/"},
}

func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.GreaterOrEqual(t, len(lines), 8, "the packages of the house")
	for _, line := range lines {
		words := strings.Fields(line)
		rules, ok := allowed[words[0]]
		require.True(t, ok, "package %s has no rule", words[0])
		for _, imported := range words[1:] {
			if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") && first != "pianola" {
				continue // standard library
			}
			require.True(t, permits(rules, imported), "%s must not import %s", words[0], imported)
		}
	}
}

// TestLean holds that the program does not grow by libraries that a command line
// never needs, and that it stays below 30 MB with what the writer of Parquet brings along.
func TestLean(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/pianola")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	require.Contains(t, linked, "pianola/format")
	for _, heavy := range []string{"encoding/gob", "github.com/nats-io/nats.go", "github.com/chromedp/chromedp"} {
		require.NotContains(t, linked, heavy)
	}
	program := filepath.Join(t.TempDir(), "pianola")
	cmd = exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", program, "./cmd/pianola")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(30e6))
}

// Package format/process tells what an event does. Consumers of events ask for that: few of
// them name an operation, and none an effect.
func TestWhoInterpretsEvents(t *testing.T) {
	effects, operations := regexp.MustCompile(`format\.Effect[A-Z]`), regexp.MustCompile(`case format\.Op[A-Z]`)
	ofEffects, ofOperations, facts := 0, 0, 0
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path == "../format" || strings.HasPrefix(d.Name(), ".") && path != ".." {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		ofEffects += len(effects.FindAll(text, -1))
		ofOperations += len(operations.FindAll(text, -1))
		facts += bytes.Count(text, []byte(".Any(format."))
		return err
	}))
	require.LessOrEqual(t, ofEffects, 0, "effects that code outside of format names")
	require.LessOrEqual(t, ofOperations, 20, "cases of single operations outside of format")
	require.Greater(t, facts, 50, "the facts that are asked for instead")
}

// apart are the parts whose contract is package format: however the rules are
// widened, none of them may import another.
var apart = []string{"pianola/record", "pianola/compile", "pianola/replay", "pianola/profile"}

// private are rooms that only some parts may import.
var private = map[string][]string{
	"pianola/replay/fileset": {"pianola/replay", "pianola/cli"},
	"pianola/replay/rings":   {"pianola/replay", "pianola/cmd"},
	"pianola/replay/sandbox": {"pianola/replay", "pianola/cli", "pianola/cmd"},
}

func TestRules(t *testing.T) {
	within := func(room string) func(string) bool {
		return func(part string) bool { return room == part || strings.HasPrefix(room, part+"/") }
	}
	for room, rules := range allowed {
		for _, rule := range rules {
			from, to := slices.IndexFunc(apart, within(room)), slices.IndexFunc(apart, within(rule))
			require.False(t, from >= 0 && to >= 0 && from != to, "%s may import %s", room, rule)
			if users, ok := private[rule]; ok {
				require.True(t, slices.ContainsFunc(users, within(room)), "%s may import %s", room, rule)
			}
		}
	}
}

func permits(rules []string, imported string) bool {
	for _, rule := range rules {
		if imported == rule || strings.HasSuffix(rule, "/") && strings.HasPrefix(imported, rule) || strings.HasPrefix(imported, rule+"/") && strings.Contains(rule, ".") {
			return true
		}
	}
	return false
}
