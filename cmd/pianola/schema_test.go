package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// schemas compiles the schemas in docs/schema. They allow properties that they do not
// know, because later versions have more; here they do not.
func schemas(t *testing.T) (all map[string]*jsonschema.Schema, properties map[string]bool) {
	files, err := filepath.Glob("../../docs/schema/*.json")
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	const base = "https://pianola/schema/"
	properties = map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err, file)
		require.Equal(t, filepath.Base(file), doc.(map[string]any)["$id"])
		closeObjects(t, doc, properties)
		require.NoError(t, c.AddResource(base+filepath.Base(file), doc))
	}
	all = map[string]*jsonschema.Schema{}
	for _, file := range files {
		s, err := c.Compile(base + filepath.Base(file))
		require.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return all, properties
}

// closeObjects has the objects of a schema refuse properties without a name, and collects all
// names. Each has a description, or refers to a schema.
func closeObjects(t *testing.T, schema any, properties map[string]bool) {
	switch s := schema.(type) {
	case []any:
		for _, one := range s {
			closeObjects(t, one, properties)
		}
	case map[string]any:
		if named, ok := s["properties"].(map[string]any); ok {
			if _, open := s["additionalProperties"]; !open {
				s["additionalProperties"] = false
			}
			for name := range named {
				properties[name] = true
			}
		}
		for _, one := range s {
			closeObjects(t, one, properties)
		}
	}
}

// seldom are properties that the outputs below do not have: those of faults on mapped
// files, rings, failures, large samples and other machines.
var seldom = strings.Fields(`
	optional hint withheld missing kind application_at speed recorded_seconds error
	example reason runs_needed not_excluded root_name calls_without_duration communication
	in_flight_seconds flight_nanos requests_in_flight_seconds ring batch reaped how waker woken held delay
	blocked explained_seconds unexplained_seconds woken_in ready own storage timer wait file
	mapped_read mapped_read_p50_seconds mapped_read_p90_seconds mapped_read_p99_seconds mapped_read_p999_seconds mapped_read_max_seconds
	mapped_write mapped_write_p50_seconds mapped_write_p90_seconds mapped_write_p99_seconds mapped_write_p999_seconds mapped_write_max_seconds
	why
	without percentile factor short read_strides path2 root_path2 descriptors sparse blocks target link attrs
`)

// All JSON that the command prints is as docs/schema says, which says nothing else.
func TestSchemas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: it runs all commands that print JSON")
	}
	all, properties := schemas(t)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("app.txt", schemaRecording(1))
	write("app2.txt", schemaRecording(2))
	write("ranks.txt", ringScript(2, 2, ringGap))
	cut := "# pianola script 1\n# fd: 1 3 O_RDONLY 0 \"/w/db\"\n# recorder: ebpf\n1 0.000001000 pread64(3, 0x1000, 4096, 8192) = 4096 <0.000060000>\n"
	write("endless.txt", cut)
	write("bound.log", "# pianola script 1\n# floor: total=1.000000000\n# replay: timing=compute speed=1\n1 1.000000000 fsync(3) = 0 <0.001000000>\n")
	write("served.txt", served(1))
	write("served2.txt", served(2))
	write("ended.txt", cut+"# ended: the disk is full\n# lost: 0\n")
	write("refuses.sh", "while read -r line; do case $line in \\#*) ;; *) echo \"${line%% *} ? no reason\" ;; esac; done\n")
	write("succeeds.sh", "while read -r line; do case $line in \\#*) ;; *) echo \"${line%% *} 0\" ;; esac; done\n")
	model, err := txtar.ParseFile("testdata/script/model.txtar")
	require.NoError(t, err)
	for _, f := range model.Files {
		write("model-"+f.Name, string(f.Data))
	}
	ranks, err := txtar.ParseFile("testdata/script/ranks.txtar")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "run"), 0o755))
	for _, f := range ranks.Files {
		if strings.HasPrefix(f.Name, "run/") {
			write(f.Name, string(f.Data))
		}
	}
	run := func(line string) []byte {
		c := exec.CommandContext(t.Context(), "sh", "-c", line)
		c.Dir = dir
		var said bytes.Buffer
		c.Stderr = &said
		out, err := c.Output()
		if status := c.ProcessState.ExitCode(); status != 1 && status != 3 { // a verdict, or what a machine lacks
			require.NoError(t, err, "%s: %s", line, said.String())
		}
		require.NotEmpty(t, out, "%s: %s", line, said.String())
		return out
	}
	seen := map[string]bool{}
	used := map[string]bool{}
	check := func(name, line string, text []byte) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err, "%s\n%s", line, text)
		require.NoError(t, all[name].Validate(doc), line)
		keysOf(doc, seen)
		used[name] = true
	}
	run(`pianola compile -q -o app.bin app.txt && pianola compile -q -o app2.bin app2.txt && pianola compile -q -o ranks.bin ranks.txt && echo ok`)
	library, err := filepath.Abs("../../workloads")
	require.NoError(t, err)
	run(`for i in one two; do mkdir -p lib/$i && cp app.bin lib/$i/trace.bin && echo 'program: test' >lib/$i/workload.yaml; done; echo ok`)
	run(`for i in 1 2 3 4 5 6; do pianola replay -q --backend memory --log m$i.log app.bin; pianola replay -q --root root --log p$i.log app.bin; done; echo ok`)
	for _, test := range []struct{ schema, line string }{
		{"version", `pianola version --json`},
		{"doctor", `pianola doctor --json`},
		{"profile", `pianola profile --json app.txt`},
		{"profile", `pianola profile --json app.txt app.bin p1.log`},
		{"profile", `pianola profile --json --all app.txt`},
		{"profile", `pianola profile --json --all run`},
		{"profile", `pianola profile --json endless.txt`},
		{"profile", `pianola compile -q -o ended.bin ended.txt; pianola profile --json ended.bin`},
		{"profile", `pianola profile --json --by file app.txt`},
		{"profile", `pianola profile --json --by operation app.txt`},
		{"profile", `pianola profile --json --by process app.txt`},
		{"profile", `pianola profile --json --by thread app.bin`},
		{"profile", `pianola profile --json --by directory app.txt`},
		{"profile", `pianola profile --json --by size app.txt`},
		{"profile", `pianola profile --json --by error app.txt`},
		{"profile", `pianola profile --json --by layer app.txt`},
		{"profile", `pianola profile --json --by span app.bin`},
		{"profile", `pianola profile --json --by interval app.txt app.bin`},
		{"profile", `pianola profile --json run`},
		{"profile", `pianola profile --json --by rank run`},
		{"profile", `pianola profile --json --by node run`},
		{"profile", `pianola profile --json --by shared run`},
		{"compare", `pianola compare --json app.txt p1.log`},
		{"compare", `pianola compare --json app.txt bound.log`},
		{"compare", `pianola compare --json p[1-6].log -- m[1-6].log`},
		{"compare", `for i in 1 2 3 4 5 6; do sed "s/^# lost/# note: $i\n&/" served.txt >a$i.txt; sed "s/^# lost/# note: $i\n&/" served2.txt >b$i.txt; done; pianola compare --json a[1-6].txt -- b[1-6].txt --fail-if 'requests.rate < -5%' --fail-if 'requests.count < 1'`},
		{"profile", `pianola profile --json served.txt`},
		{"profile", `pianola profile --json --by request-kind served.txt`},
		{"profile", `pianola profile --json --by interval served.txt`},
		{"baseline", `pianola compare -q --save served.json a1.txt; cat served.json`},
		{"experiment", `pianola lab --json --backend memory --runs 1 --try timing=afap served.txt`},
		{"compare", `pianola compare --json p[1-6].log -- m[1-6].log --fail-if 'sync.p99 > +10%' --fail-if 'run_time > 90s' --fail-if 'rename.p50 > 1s' --fail-if 'sync.calls > +0'`},
		{"baseline", `pianola compare -q --save base.json p[1-6].log; cat base.json`},
		{"compare", `pianola compare --json --baseline base.json m[1-6].log`},
		{"replay", `pianola replay --json app.bin`},
		{"replay", `pianola replay --json --with exec:cat app.bin`},
		{"replay", `pianola replay --json --backend memory --runs 2 app.bin`},
		{"replay", `pianola replay --json --copies 2 --runs 2 app.bin app2.bin`},
		{"replay", `pianola replay --json --backend posix --backend posix --backend 'null if class == read' app.bin`},
		{"replay", `pianola replay --json --root prepared --prepare only app.bin`},
		{"replay", `pianola replay --json --play-layer hdf5 --backend "exec:sh $PWD/refuses.sh" app.bin`},
		{"replay", `pianola replay --json --play-layer hdf5 --backend "exec:sh $PWD/succeeds.sh" app.bin`},
		{"replay", `pianola replay --json --root prepared2 --prepare only --copies 2 app.bin app2.bin`},
		{"replay", `for i in 1 0; do PIANOLA_RANK=$i PIANOLA_SIZE=2 pianola replay --ranks --rendezvous . --json ranks.bin & done; wait`},
		{"experiment", `pianola lab --json --backend memory --try sync=none --try timing=afap app.txt`},
		{"experiment", `pianola lab --json --runs 2 --root a=one --root b=two --try sync=none app.txt`},
		{"experiment", `pianola lab --json --backend memory app.txt`},
		{"model", `pianola model fit -o disk.json --json --fio model-device.json`},
		{"model", `pianola model check --json disk.json app.txt`},
		{"workloads", `pianola workload list --json --library ` + library},
		{"workloads", `pianola workload show --json --library ` + library + ` sqlite3`},
		{"experiment", `pianola bench --json --workload one,two --library lib --runs 3 --root a=first --root b=second`},
		{"baseline", `pianola bench -q --workload one --library lib --runs 1 --save suite.base >/dev/null; cat suite.base`},
		{"experiment", `pianola bench --json --workload one,two --library lib --runs 1 --baseline suite.base`},
		{"experiment", `pianola bench --json --runs 2 -- sh -c 'echo x >y; cat y'`},
	} {
		check(test.schema, test.line, run(test.line))
	}
	for _, file := range []string{"app.txt", "app.bin", "p1.log"} {
		line := `pianola convert --format json ` + file
		for one := range bytes.Lines(run(line)) {
			check("events", line, one)
		}
	}
	page := run(`pianola profile --html page.html app.txt >all.txt && cat page.html`)
	data := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindSubmatch(page)
	require.NotNil(t, data)
	var held struct {
		Runs []struct{ Profile json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(data[1], &held))
	check("profile", "the page", held.Runs[0].Profile)
	used["common"] = true // the others refer to it
	require.Equal(t, slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(used)), "schemas of which no output is validated")
	var unseen []string
	for name := range properties {
		if !seen[name] && !slices.Contains(seldom, name) {
			unseen = append(unseen, name)
		}
	}
	require.Empty(t, unseen, "properties of schemas that no output has")
	for _, name := range seldom {
		require.True(t, properties[name], "no schema has the property %q", name)
	}
}

// keysOf collects the names of all properties.
func keysOf(doc any, keys map[string]bool) {
	switch d := doc.(type) {
	case []any:
		for _, one := range d {
			keysOf(one, keys)
		}
	case map[string]any:
		for key, one := range d {
			keys[key] = true
			keysOf(one, keys)
		}
	}
}

// served returns a recording of a server that writes for so many milliseconds for each request
// of a client.
func served(millis int) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# recorder: ebpf\n1 0.000000000 openat(AT_FDCWD, \"/w/db\", O_RDWR|O_CREAT, 0600) = 3 <0.000050000> {size=0 type=reg}\n")
	for i := range 20 {
		fmt.Fprintf(&b, "1 0.000010000 recvfrom(7, 0x10, 10, 0, NULL, NULL) = 10 <0.000010000> {type=sock got=tcp:a7+%d wait=9000}\n", 10*i+10)
		fmt.Fprintf(&b, "1 0.000010000 pwrite64(3, 0x1000, 4096, 0) = 4096 <0.00%d000000>\n", millis)
		fmt.Fprintf(&b, "1 0.00%d010000 sendto(7, 0x10, 5, 0, NULL, 0) = 5 <0.000010000> {type=sock sent=tcp:b7+%d}\n", millis, 5*i+5)
	}
	b.WriteString("# lost: 0\n")
	return b.String()
}

// schemaRecording returns a recording of two threads that read, write, sync, rename and
// fail, in files of their own.
func schemaRecording(n int) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# command: ./app\n# kernel: 6.1.0\n# layer: hdf5 libhdf5.so\n")
	line := func(tid int, form string, args ...any) {
		fmt.Fprintf(&b, "%d 0.000100000 %s\n", tid, fmt.Sprintf(form, args...))
	}
	line(10, `openat(AT_FDCWD, "/w/data%d", O_RDWR|O_CREAT, 0600) = 3 <0.000050000> {size=65536 type=reg cached=0}`, n)
	line(10, `clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 11 <0.000050000>`)
	for i := range 40 {
		tid := 10 + i%2
		line(tid, `pread64(3, 0x1000, 4096, %d) = 4096 <0.000%d00000>`, i*4096%65536, 1+i%3)
		line(tid, `pwrite64(3, 0x1000, 4096, %d) = 4096 <0.000200000>`, i*8192%65536)
		line(tid, `fsync(3) = 0 <0.005000000>`)
	}
	line(10, `fsync(3) = -1 EIO (Input/output error) <0.000010000>`) // a replay differs
	line(11, `openat(AT_FDCWD, "/w/none", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000010000>`)
	line(11, `pipe2([4, 5], 0) = 0 <0.000010000>`)
	line(11, `write(5, 0x1000, 10) = 10 <0.000010000>`)
	line(10, `close(3) = 0 <0.000010000>`)
	line(10, `hdf5:H5Dwrite(1, path="x") = 0 <0.000010000> {span=write bytes=100}`)
	b.WriteString("10 -0.000150000 hdf5:H5Dclose(1) = -1 <0.000200000> {span=close failed}\n")
	b.WriteString("# lost: 0\n")
	return b.String()
}
