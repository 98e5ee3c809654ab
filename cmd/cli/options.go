package cli

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/format/export"
	"pianola/internal/plugin"
	"pianola/profile"
	"pianola/record"
	"pianola/record/parts"
	"pianola/replay"
	"pianola/replay/device"
	"pianola/replay/engine"
	"pianola/replay/fileset"
)

// option is a row of the table of options. Flags, help, manual pages, completion, and what
// lab may try are made from the table.
type option struct {
	name  string
	alias string // other names, with spaces between them
	value any    // the default; its type is that of the flag, and []string{} can stand several times
	shown string // the default in help, where value does not say it
	help  string // what it does, with the name of the value between backquotes

	// The commands that take it, with spaces between them: those whose -h has it, those
	// whose --help has it under a title, and those whose --help only names it.
	short, long, also string

	with     string    // --ranks of record or --play-layer of replay, which exclude what doesn't name them
	oneOf    []string  // all values; nil for others. set refuses others itself
	complete completer // offers values, and is nil if it can offer only those of oneOf
	own      bool      // ranks of one replay can have different values
	output   bool      // names an output, so what is written need not say it

	check    func(value any) error // of a value that is given; nil if all are right, or what uses it checks it
	excludes string                // options that can't be given beside it
	needs    string                // options of which one must be given, too

	// set sets an option of a replay, which a candidate of lab can do as well.
	set func(o *replay.Options, value string) error

	title string // of its group
}

// optionGroup is options under the title that they have in --help.
type optionGroup struct {
	title   string
	options []*option
}

// working are the commands that work with recordings.
const working = "record compile replay profile compare bench lab model model-fit model-check convert layer layer-list layer-check layer-player layer-new workload workload-list workload-show doctor"

// optionGroups is the table of options, in the order of help. A name has several rows where
// its meaning, or its default, differs between commands. init fills it, because completion
// of a value can look into it.
var optionGroups []optionGroup

// renamedOptions are old names of options, with what does the same.
var renamedOptions = map[string]string{
	"repeat": "--runs", "record-runs": "--recordings", "cold": "--cache cold", "force": "--slow-functions", "layer": "--play-layer",
	"check": "pianola model check",
}

func init() {
	optionGroups = []optionGroup{
		{"Input and result", []*option{
			{name: "o", alias: "output", value: "trace.txt", help: "write the recording to `FILE`; a name that ends in .zst compresses it", short: "record", complete: ofFiles(".txt", ".zst"), with: "ranks", output: true},
			{name: "o", alias: "output", value: "trace.bin", help: "write the trace to `FILE`; with --script and without -o, no trace is written", short: "compile", complete: ofFiles(".bin"), output: true},
			{name: "o", alias: "output", value: "", help: "leave the recordings, the trace, all logs and the page in `DIR`, which is created if missing", short: "bench", complete: ofDirs, output: true},
			{name: "o", alias: "output", value: "", help: "write the model to `FILE`", short: "model-fit", complete: ofFiles(".json"), output: true},
			{name: "o", alias: "output", value: "-", help: "write to `FILE` (- for standard output)", short: "convert layer-player layer-new", complete: ofFiles(), output: true},
			{name: "log", alias: "o output", value: "", help: "write the replayed events to `FILE`, a script; several traces, copies or runs go to FILE-TRACE-COPY-RUN", short: "replay", complete: ofFiles(".log", ".txt"), with: "play-layer", own: true, output: true},
			{name: "try", value: []string{}, help: "try the candidate `NAME[=ARG]`; + joins several into one; repeatable", short: "lab", complete: ofCandidates},
			{name: "grid", value: false, help: "take the arguments of --try as lists, such as 2,4,8, and try all combinations", short: "lab", needs: "try"},
			{name: "root", value: []string{}, help: "work in `DIR`, which is created if missing; repeatable for further backends", short: "replay", complete: ofDirs, with: "play-layer", own: true},
			{name: "root", value: []string{}, help: "work in the directory `[NAME=]DIR`, which is created if missing; several are compared under their names", short: "bench lab", complete: ofDirs},
			{name: "workload", value: "", help: "replay the workloads `NAME,…` instead of a command, or quick or all of them", short: "bench", complete: ofWorkloads},
			{name: "runs", value: 1, help: "record the command `N` times, each into a numbered file", short: "record", check: between(1, compare.MaxRuns)},
			{name: "runs", value: 1, help: "replay `N` times, and report medians and intervals", short: "replay", check: above0},
			{name: "runs", value: compare.MinRuns, help: "record the command and replay it on each root `N` times", short: "bench", check: between(1, compare.MaxRuns)},
			{name: "runs", value: compare.MinRuns, help: "replay each candidate `N` times", short: "lab", check: between(1, compare.MaxRuns)},
			{name: "copies", value: 1, help: "replay each trace `N` times side by side, on files of their own", short: "replay lab",
				set: func(o *replay.Options, v string) (err error) { o.Copies, err = parseCount(v, 1, maxCopies); return err }},
			{name: "pid", value: 0, help: "record the running process `PID` and its children, until it ends or until Ctrl-C", short: "record", complete: ofProcesses, check: above0, excludes: "cgroup user runs setup"},
			{name: "cgroup", value: "", help: "record all processes in the cgroup `PATH`, until it is removed or until Ctrl-C", short: "record", complete: ofCgroups, excludes: "user runs setup"},
			{name: "duration", value: time.Duration(0), help: "with --pid or --cgroup: stop after `D`, such as 90s", short: "record", check: above0, needs: "pid cgroup"},
			{name: "paths", value: "tree", help: "map paths below the root by `MAPPING`: tree keeps directories, flat drops them", short: "compile", oneOf: []string{"tree", "flat"}},
			{name: "script", value: "", help: "write the intermediate script, the trace as text, to `FILE` (- for standard output)", short: "compile", complete: ofFiles(".txt")},
			{name: "report", value: "", help: "write a report of all changes to `FILE` (- for standard output)", short: "compile", complete: ofFiles(".txt")},
			{name: "filter", value: []string{}, help: "keep only events that match `EXPR`, such as 'class != sync' (docs/reference/compile.md); repeatable", short: "compile"},
			{name: "with", value: []string{}, help: "apply the transform `NAME[=ARG]` to the recording, or exec:PROGRAM to the trace (pianola compile --list); repeatable", short: "compile lab", complete: ofTransforms},
			{name: "with", value: "", help: "let `exec:PROGRAM` insert, alter and remove events while the replay runs (docs/reference/plugins.md)", long: "replay", complete: ofBeginnings(plugin.Prefix)},
			{name: "list", value: false, help: "list the transforms", short: "compile"},
			{name: "application", value: []string{}, help: "take `FILE` as a recording of the application, and all operands as replays; repeatable", short: "compare", complete: ofFiles(".txt", ".zst", ".bin")},
			{name: "names", value: "", help: "call the sides `A,B` instead of after their files", short: "compare"},
			{name: "by", value: "", help: "show only the table by `VIEW`: " + strings.Join(profile.Views(), ", "), short: "profile", oneOf: profile.Views()},
			{name: "sort", value: "", help: "with --by: sort by `COLUMN`, a column of the CSV output; time means seconds", short: "profile"},
			{name: "top", value: 20, help: "with --by: show `N` rows", short: "profile", check: above0, excludes: "all"},
			{name: "follow", value: false, help: "show the profile of a recording that is still being written, every second", short: "profile", excludes: "html"},
			{name: "fio", value: []string{}, help: "fit to the output of fio --output-format=json in `FILE`; repeatable", short: "model-fit", complete: ofFiles(".json")},
			{name: "capacity", value: "", help: "limit the page cache of the model to `SIZE`, such as 8GiB; by default it has no limit", short: "model-fit", check: size(1, math.MaxInt64)},
			{name: "dirty", value: "", help: "let writes wait for the device while more than `SIZE` is dirty; by default they never wait", short: "model-fit", check: size(1, math.MaxInt64)},
			{name: "readahead", value: "128KiB", help: "sequential reads that miss the page cache read `SIZE` at a time", short: "model-fit", check: size(1, 1<<30)},
			{name: "format", value: export.Kinds()[0], help: "convert to `FORMAT`: " + strings.Join(export.Kinds(), ", "), short: "convert", oneOf: export.Kinds()},
			{name: "version", value: false, help: "print the version, as pianola version does", short: "pianola"},
		}},
		{"The command", []*option{
			{name: "setup", value: "", help: "run the shell command `CMD` before each recording, as the same user; it is not recorded", short: "bench", long: "record", complete: ofKind("command 0"), excludes: "workload trace"},
			{name: "recordings", value: 0, shown: "the number of --runs", help: "record the command `N` times; the first recording is replayed, and all are compared", long: "bench", check: between(1, compare.MaxRuns), excludes: "workload trace"},
			{name: "user", value: "", help: "run the command as the user `NAME`; under sudo, --user root keeps it root", long: "record", also: "bench", complete: ofKind("users"), excludes: "workload trace"},
		}},
		{"Long recordings", []*option{
			{name: "max-size", value: "", help: "stop recording when the file reaches `SIZE`, such as 10GiB; the command continues", long: "record", check: size(1, math.MaxInt64), excludes: "rotate last runs"},
			{name: "rotate", value: "", help: "start a new file after each `SIZE|D`, such as 1GiB or 10m: FILE.000001.txt, …", long: "record", excludes: "last runs"},
			{name: "last", value: time.Duration(0), help: "keep the last `D` of events, such as 60s, in memory; write them to FILE.000001.txt, … at SIGUSR1 and at the end", long: "record", check: above0, excludes: "runs"},
			{name: "last-memory", value: "256MiB", help: "with --last: use at most `SIZE` of memory for the events", long: "record", with: "ranks", check: size(parts.MinFlightMemory, math.MaxInt64), needs: "last"},
			{name: "until", value: "", help: "with --last: write the events when one matches the filter `EXPR`, such as 'op == fsync && duration > 100ms', instead of at the end", long: "record", with: "ranks", needs: "last"},
			{name: "after", value: time.Duration(0), help: "with --until: continue for `D` after that event before writing", long: "record", with: "ranks", check: notBelow0, needs: "until"},
			{name: "keep-files", value: 10, help: "with --rotate or --last: keep the newest `N` files and remove older ones", long: "record", with: "ranks", check: above0, needs: "rotate last"},
		}},
		{"Contents of the recording", []*option{
			{name: "memory", value: false, help: "record calls for memory (brk, mmap, munmap, mremap, madvise, mprotect), and use memory in replays as they did", short: "record replay", also: "bench lab", with: "ranks",
				set: func(o *replay.Options, v string) (err error) { o.Memory, err = parseSwitch(v); return err }},
			{name: "no-faults", value: false, help: "leave out page faults on mapped files, and the calls that map them", long: "record", also: "bench", with: "ranks", excludes: "workload trace"},
			{name: "no-command", value: false, help: "leave out command lines, because arguments can hold passwords", long: "record", also: "bench", with: "ranks", excludes: "workload trace"},
			{name: "no-host", value: false, help: "leave out the name of the machine", long: "record replay model-fit", also: "bench", with: "ranks play-layer", own: true},
		}},
		{"Layers", []*option{
			{name: "layer", value: "", help: "also record the calls of libraries: `NAME`[,NAME…] of 'pianola layer list', or NAME.json", short: "record", long: "bench", complete: ofLayers, with: "ranks", excludes: "workload trace"},
			{name: "layer-text", value: false, help: "with --layer: also record text that is data, such as SQL", long: "record", also: "bench", with: "ranks", needs: "layer", excludes: "workload trace"},
			{name: "slow-functions", value: false, help: "with --layer: also probe functions that cost several microseconds a call", long: "record", also: "bench", with: "ranks", needs: "layer", excludes: "workload trace"},
			{name: "play-layer", value: "", help: "replay the recorded calls of the library `NAME` instead of system calls, by a player (pianola layer player): --backend exec:PLAYER", short: "replay", complete: ofLayers, with: "play-layer"},
		}},
		{"The recorder", []*option{
			{name: "tracer", value: "auto", help: "observe calls with `HOW`: ebpf, in-process, ptrace, or auto (ebpf if possible, else in-process)", long: "record", also: "bench", oneOf: []string{"auto", "ebpf", "in-process", "ptrace"}, with: "ranks", excludes: "workload trace"},
			{name: "ring", value: format.SizeText(record.DefaultRingBytes), help: "give the buffer between kernel and recorder `SIZE` of memory", long: "record", also: "bench", with: "ranks", check: size(record.MinRingBytes, record.MaxRingBytes), excludes: "workload trace"},
			{name: "nice", value: 0, help: "run the recorder, not the command, with the nice value `N`, from -20 to 19", long: "record", also: "bench", with: "ranks", check: between(-20, 19), excludes: "workload trace"},
			{name: "cpu", value: "", help: "run the recorder, not the command, on the processors `LIST`, such as 0-3,8", long: "record", also: "bench", with: "ranks", excludes: "workload trace"},
		}},
		{"Names", []*option{
			{name: "anonymize", value: "", help: "replace names by hashes, with the key in `KEYFILE`", long: "compile", complete: ofFiles()},
			{name: "no-names", value: false, help: "leave the application's own file names out of the trace", long: "compile"},
		}},
		{"Ranks", []*option{
			{name: "ranks", value: false, help: "record the ranks of a parallel program, under its launcher; -o names a directory with a recording for each node", long: "record", with: "ranks"},
			{name: "ranks", value: false, help: "write the part of the trace that each rank replays: -o names a directory with rank-0.bin, …", long: "compile"},
			{name: "ranks", value: false, help: "replay together with the other ranks that srun, mpiexec or another launcher has started", long: "replay", with: "play-layer"},
			{name: "rendezvous", value: "", help: "with --ranks, meet the others at `PLACE`: a directory that all see, or the URL of a NATS server, such as nats://host:4222 (default: PMI-1, or MASTER_ADDR)", long: "replay", with: "play-layer", complete: ofDirs, own: true, needs: "ranks"},
			{name: "rendezvous-timeout", value: defaultJoinTimeout, help: "with --ranks, wait `D` for the others", long: "replay", with: "play-layer", own: true, check: above0, needs: "ranks"},
		}},
		{"Pace", []*option{
			{name: "timing", value: "compute", help: "issue an event `WHEN`: compute (its recorded compute after the thread's last event), schedule (at its recorded time), afap (at once)", long: "replay bench lab", oneOf: engine.Timings.All, with: "play-layer",
				set: func(o *replay.Options, v string) (err error) { o.Timing, err = engine.Timings.Parse(v); return err }},
			{name: "speed", value: 1.0, help: "divide compute by `X`", long: "replay bench lab", with: "play-layer",
				set: func(o *replay.Options, v string) (err error) { o.Speed, err = parseSpeed(v); return err }},
			{name: "wait", value: "auto", help: "wait for that time by `HOW`: auto (sleep, then spin if a processor is free), spin, sleep", long: "replay", also: "bench lab", oneOf: engine.Waits.All, with: "play-layer",
				set: func(o *replay.Options, v string) (err error) { o.Wait, err = engine.Waits.Parse(v); return err }},
			{name: "buffer", value: 1024, help: "decode `N` events of each thread at a time, ahead of their time; 0: each one when it is due", long: "replay", also: "bench lab",
				set: func(o *replay.Options, v string) (err error) { o.Buffer, err = parseBuffer(v); return err }},
			{name: "order", value: "resource", help: "wait for events of other threads by `RULE`: resource (those that the event depends on), thread (none), total (all earlier ones)", long: "replay", also: "bench lab", oneOf: engine.Orders.All,
				set: func(o *replay.Options, v string) (err error) { o.Order, err = engine.Orders.Parse(v); return err }},
			{name: "outside", value: "closed", help: "deliver messages of unrecorded clients `WHEN`: closed (as long after the previous reply as recorded), timed (at their recorded times)", long: "replay", also: "bench lab", oneOf: engine.Outsides.All,
				set: func(o *replay.Options, v string) (err error) { o.Outside, err = engine.Outsides.Parse(v); return err }},
			{name: "commits", value: "elastic", help: "commit to logs in `GROUPS`: elastic (those that form, as the application would), recorded", long: "replay", also: "bench lab", oneOf: engine.Commitments.All,
				set: func(o *replay.Options, v string) (err error) {
					o.Commits, err = engine.Commitments.Parse(v)
					return err
				}},
		}},
		{"Backend", []*option{
			{name: "backend", value: []string{}, shown: "posix", help: "execute the events by `BACKEND`: posix (the kernel), memory (a file system in this process's memory), null (nothing, to measure the engine), simulated (calls take their recorded time on a simulated clock, at once), exec:PROGRAM (a plug-in; see docs/reference/plugins.md); repeatable in replay: also 'BACKEND if EXPR'", long: "replay bench lab", complete: ofBackends, with: "play-layer",
				set: func(o *replay.Options, v string) (err error) {
					o.Backend, err = replay.ParseBackend(v, extensions.backends...)
					return err
				}},
			{name: "plugin-timeout", value: plugin.DefaultTimeout, help: "stop a plug-in that makes no progress for `D`; 0 means never", long: "compile replay", also: "bench lab", with: "play-layer", check: notBelow0},
		}},
		{"Files and memory", []*option{
			{name: "cache", value: "recorded", help: "start with the page cache in `STATE`: recorded (as the application found it), warm, cold, asis", short: "replay bench lab", oneOf: fileset.Caches.All, with: "play-layer",
				set: func(o *replay.Options, v string) (err error) { o.Cache, err = fileset.Caches.Parse(v); return err }},
			{name: "prepare", value: "auto", help: "build `WHAT` of the files first: auto (missing or unsuitable files), always (all), never (nothing), only (as auto, without a replay)", long: "replay", also: "bench lab", oneOf: fileset.Preparations.All, with: "play-layer",
				set: func(o *replay.Options, v string) (err error) {
					o.Prepare, err = fileset.Preparations.Parse(v)
					return err
				}},
			{name: "pause", value: time.Duration(0), help: "wait `D`, such as 10s, once the files are prepared, so that the storage is at rest at the first event", long: "replay", also: "bench lab", check: notBelow0,
				set: func(o *replay.Options, v string) (err error) { o.Pause, err = parsePause(v); return err }},
			{name: "map", value: []string{}, help: "put files whose path in the application matches GLOB below DIR, such as a directory on another disk: `GLOB=DIR`; repeatable", long: "replay lab", also: "bench", complete: ofDirs,
				set: func(o *replay.Options, v string) error {
					m, err := replay.ParseMap(v)
					o.Maps = append(slices.Clip(o.Maps), m)
					return err
				}},
			{name: "compressibility", value: 0, help: "write data that compression makes `PERCENT` smaller", long: "replay", also: "bench lab", with: "play-layer",
				set: func(o *replay.Options, v string) (err error) {
					o.Compressibility, err = parseCount(v, 0, 100)
					return err
				}},
			{name: "keep", value: false, help: "keep the files below the root; files that existed before are always kept", short: "replay lab", long: "bench", with: "play-layer"},
		}},
		{"Modelled device", []*option{
			{name: "model", value: "", help: "give calls the duration that they have on the device of `FILE`, a model by pianola model fit", long: "replay lab", also: "bench", complete: ofFiles(".json"),
				set: func(o *replay.Options, v string) error {
					if v == "" {
						return nil
					}
					f, err := device.Open(&session.files, v)
					if err != nil {
						return err
					}
					o.Device = o.Device.Clone()
					o.Device.Fitted = &f.Model
					return nil
				}},
			{name: "latency", value: []string{}, help: "set how long calls take: `WHAT:TIME`, with read, write, sync, metadata or an operation as WHAT; TIME is x2 (twice as long), +200us or p50:100us,p99:2ms; repeatable", long: "replay", also: "bench lab", complete: ofBeginnings("read:", "write:", "sync:", "metadata:"), set: ofDevice((*device.Model).AddLatency)},
			{name: "bandwidth", value: "", help: "reads and writes move at most `SIZE/s`, such as 200MB/s", long: "replay", also: "bench lab", set: ofDevice((*device.Model).SetBandwidth)},
			{name: "iops", value: "", help: "at most `N` reads, writes and syncs a second", long: "replay", also: "bench lab", set: ofDevice((*device.Model).SetIOPS)},
			{name: "queue", value: "", help: "at most `N` requests in service at a time", long: "replay", also: "bench lab", set: ofDevice((*device.Model).SetQueue)},
		}},
		{"Verdict", []*option{
			{name: "strict", value: false, help: "stop at the first result that differs from the recorded one", short: "replay", also: "bench lab", with: "play-layer",
				set: func(o *replay.Options, v string) (err error) { o.Strict, err = parseSwitch(v); return err }},
			{name: "strict", value: false, help: "fail if the recording lost events or has unexplained results", short: "compile"},
			{name: "tolerance", value: "", help: "end with status 1 if times differ by more than `PART`: 10% or 0.1; a number from 1 on is a percentage", short: "compare bench"},
			{name: "fail-if", value: []string{}, help: "end with status 1 if `EXPR` holds, such as 'sync.calls > +0' or 'run_time > +10%'; repeatable", short: "compare bench"},
		}},
		{"Saved runs", []*option{
			{name: "baseline", value: "", help: "compare the replays with the runs in `FILE`, which --save wrote", long: "compare bench", complete: ofFiles(".json")},
			{name: "save", value: "", help: "save the figures of the replays to `FILE`, for --baseline", long: "compare bench", complete: ofFiles(".json")},
		}},
		{"Inputs and limits", []*option{
			{name: "trace", value: "", help: "replay the recording or compiled trace in `FILE` instead of a command", long: "bench", complete: ofFiles(".txt", ".zst", ".bin"), excludes: "workload"},
			{name: "library", value: "", help: "take the workloads in `DIR` instead of those that ship", short: "workload workload-list workload-show", long: "bench", complete: ofDirs},
			{name: "telemetry", value: "read", help: "read iozone telemetry as that of `CALLS`: read or write", long: "compile", oneOf: []string{"read", "write"}},
			{name: "fold", value: "", help: "fold each volume of a block trace into `SIZE`, such as 64GiB, so that it fits on the disk", long: "compile", check: size(1, math.MaxInt64)},
			{name: "no-compensate", value: false, help: "do not subtract the recorder's own cost", long: "compile"},
			{name: "limit", value: []string{}, help: "allow `NAME=SIZE` for an input: memory, text (bytes in a compressed file); repeatable", long: "compile profile compare convert", complete: ofLimits(inputLimits)},
			{name: "limit", value: []string{}, help: "allow `NAME=SIZE` for a trace: text (bytes in a compressed file), files, bytes (default: 1TiB, and nine tenths of the free space for bytes that events write), descriptors, threads, memory, kernel (bytes of kernel memory); repeatable. The defaults are lower in a container with less", long: "replay", complete: ofLimits(replayLimits), with: "play-layer", own: true},
			{name: "limit", value: []string{}, help: "allow `NAME=SIZE` for a trace (pianola replay --help) or text=SIZE for a compressed file; repeatable", long: "bench lab", complete: ofLimits(replayLimits)},
			{name: "landlock", value: false, help: "also confine the replay by Landlock, which costs 0.7 µs an open", long: "replay", also: "bench lab",
				set: func(o *replay.Options, v string) (err error) { o.Landlock, err = parseSwitch(v); return err }},
		}},
		{"Output", []*option{
			{name: "plot", value: "", help: "draw the cumulative profiles into `FILE`, .svg or .png; of profile --by interval, bytes and files", short: "profile compare", complete: ofFiles(".svg", ".png")},
			{name: "html", value: "", help: "write a page with charts and tables to `FILE`", short: "profile compare bench lab", complete: ofFiles(".html")},
			{name: "calls", value: "", shown: "the whole run", help: "with --html: include the single calls of the part `FROM-TO`, such as 1.5s-2s", long: "profile", needs: "html"},
			{name: "all", value: false, help: "print everything: all rows, latencies, calls, bytes, operations and files; with --json, the data of the charts", long: "profile compare lab", also: "bench"},
			{name: "wide", value: false, help: "show all columns, and whole names, however wide", long: "profile"},
			{name: "format", value: profileForms[0], help: "print as `FORMAT`: " + strings.Join(profileForms, ", "), long: "profile", oneOf: profileForms},
			{name: "format", value: compare.Forms[0].Name, help: "print as `FORMAT`: " + strings.Join(comparisonNames(), ", "), long: "compare bench", oneOf: comparisonNames()},
			{name: "interval", value: time.Duration(0), shown: "chosen from its length", help: "cut the run into intervals of `D`, such as 1s", long: "profile"},
			{name: "raw-csv", value: false, help: "write names into CSV unchanged, for programs; otherwise a ' precedes a name that a spreadsheet would take for a formula", long: "profile compare convert", also: "bench"},
			{name: "json", value: false, help: "print one JSON document (docs/schema)", short: "replay profile compare lab model-fit model-check layer layer-list layer-check workload workload-list workload-show doctor version", long: "bench", with: "play-layer", own: true, output: true},
			{name: "quiet", alias: "q", value: false, help: "print errors and warnings only", short: working, with: "ranks play-layer", output: true},
		}},
		{helpTitle, []*option{
			{name: "h", value: false, help: "show examples and the most used options", long: "pianola completion help version " + working, with: "ranks play-layer"},
			{name: "help", value: false, help: "show all options", long: "pianola completion help version " + working, with: "ranks play-layer"},
		}},
	}
	for _, g := range optionGroups {
		for _, o := range g.options {
			o.title = g.title
		}
	}
}

// helpTitle is the title of the options of all commands for help, which is not named.
const helpTitle = "Help"

// commandName returns the full name of a command, without pianola: layer check.
func commandName(c *cli.Command) string { return strings.TrimPrefix(c.HelpName, "pianola ") }

// isOf reports whether one of the lists of commands has a command.
func isOf(command string, lists ...string) bool {
	command = strings.ReplaceAll(command, " ", "-")
	return slices.ContainsFunc(lists, func(list string) bool { return slices.Contains(strings.Fields(list), command) })
}

// rowsOf returns the options of the command with a full name.
func rowsOf(command string) (all []*option) {
	for _, g := range optionGroups {
		for _, o := range g.options {
			if isOf(command, o.short, o.long, o.also) {
				all = append(all, o)
			}
		}
	}
	return all
}

// optionOf returns the option of a command by one of its names, nil if there is none.
func optionOf(command, name string) *option {
	all := rowsOf(command)
	if i := slices.IndexFunc(all, func(o *option) bool { return slices.Contains(o.names(), name) }); i >= 0 {
		return all[i]
	}
	return nil
}

// settings are the options of a replay that a candidate of lab can change. Their names
// differ from those of transforms.
func settings() []*option {
	return slices.DeleteFunc(rowsOf("lab"), func(o *option) bool { return o.set == nil })
}

// settingOf returns the setting with a name, nil if there is none.
func settingOf(name string) *option {
	if o := optionOf("lab", name); o != nil && o.set != nil {
		return o
	}
	return nil
}

// flags returns the flags of a command.
func flags(command string) (all []cli.Flag) {
	for _, o := range rowsOf(command) {
		all = append(all, o.flag())
	}
	return all
}

func (o *option) flag() cli.Flag {
	aliases := strings.Fields(o.alias)
	switch v := o.value.(type) {
	case bool:
		return &cli.BoolFlag{Name: o.name, Aliases: aliases, Value: v}
	case int:
		return &cli.IntFlag{Name: o.name, Aliases: aliases, Value: v}
	case float64:
		return &cli.Float64Flag{Name: o.name, Aliases: aliases, Value: v}
	case time.Duration:
		return &cli.DurationFlag{Name: o.name, Aliases: aliases, Value: v}
	case string:
		return &cli.StringFlag{Name: o.name, Aliases: aliases, Value: v}
	case []string:
		return &cli.StringSliceFlag{Name: o.name, Aliases: aliases}
	}
	panic("cli: --" + o.name + ": no flag has such a value")
}

// names returns the name and the others.
func (o *option) names() []string { return append([]string{o.name}, strings.Fields(o.alias)...) }

// takesValue reports whether the option is no switch.
func (o *option) takesValue() bool { return o.value != false }

// values returns the values that the command line has for an option, one if it can't stand
// several times.
func (o *option) values(c *cli.Context) []string {
	if list, ok := c.Value(o.name).(cli.StringSlice); ok {
		return list.Value()
	}
	return []string{fmt.Sprint(c.Value(o.name))}
}

// words returns an option that is given as words of a command line.
func (o *option) words(c *cli.Context) (words []string) {
	for _, value := range o.values(c) {
		switch {
		case o.takesValue():
			words = append(words, "--"+o.name, value)
		case value == "true":
			words = append(words, "--"+o.name)
		}
	}
	return words
}

// text returns what help says of the option.
func (o *option) text() optionText {
	names := o.names()
	slices.SortStableFunc(names, func(a, b string) int { return min(len(a), 2) - min(len(b), 2) })
	for i, name := range names {
		names[i] = dashed(name)
	}
	t := optionText{names: strings.Join(names, ", ")}
	value, does := flag.UnquoteUsage(&flag.Flag{Usage: o.help})
	t.does = does
	if !o.takesValue() {
		return t
	}
	t.value, t.normal = value, o.shown
	if normal := fmt.Sprint(o.value); t.normal == "" && !slices.Contains([]string{"", "0", "0s", "1", "[]"}, normal) {
		t.normal = normal
	}
	return t
}

// checkOptions returns an error for options of a command line that don't fit their rows.
func checkOptions(c *cli.Context) error {
	for _, o := range rowsOf(commandName(c.Command)) {
		if !c.IsSet(o.name) {
			continue
		}
		for other := range strings.FieldsSeq(o.excludes) {
			if c.IsSet(other) {
				return usage(c, "--%s and --%s exclude each other", o.name, other)
			}
		}
		if needs := strings.Fields(o.needs); len(needs) > 0 && !slices.ContainsFunc(needs, c.IsSet) {
			return usage(c, "--%s needs --%s", o.name, strings.Join(needs, " or --"))
		}
		if o.oneOf != nil && o.set == nil && !slices.Contains(o.oneOf, c.String(o.name)) {
			return usage(c, "--%s is one of %s, not %q", o.name, strings.Join(o.oneOf, ", "), c.String(o.name))
		}
		if o.check != nil {
			if err := o.check(c.Value(o.name)); err != nil {
				return usage(c, "--%s: %w", o.name, err)
			}
		}
	}
	return nil
}

// between returns a check of a whole number.
func between(least, most int) func(any) error {
	return func(value any) error {
		if n := value.(int); n < least || n > most {
			return fmt.Errorf("%d is not from %d to %d", n, least, most)
		}
		return nil
	}
}

// above0 is the check of a number or duration above 0.
func above0(value any) error {
	if value == 0 || value == time.Duration(0) {
		return fmt.Errorf("%v is not above 0", value)
	}
	return notBelow0(value)
}

func notBelow0(value any) error {
	n, isNumber := value.(int)
	if d, _ := value.(time.Duration); isNumber && n < 0 || d < 0 {
		return fmt.Errorf("%v is below 0", value)
	}
	return nil
}

// size returns a check of a number of bytes.
func size(least, most int64) func(any) error {
	return func(value any) error {
		n, err := format.ParseSize(value.(string))
		switch {
		case err != nil:
			return err
		case n <= 0:
			return fmt.Errorf("%s is not above 0", value)
		case n < least:
			return fmt.Errorf("%s is less than %s", value, format.SizeText(least))
		case n > most:
			return fmt.Errorf("%s is more than %s", value, format.SizeText(most))
		}
		return nil
	}
}

// sizeOf returns an option that is a size and was checked, 0 if it has no value.
func sizeOf(c *cli.Context, name string) int64 {
	n, _ := format.ParseSize(c.String(name))
	return n
}

// checkMode returns an error if the command line has an option that excludes another one,
// which changes what the command does.
func checkMode(c *cli.Context, mode string) error {
	for _, o := range rowsOf(commandName(c.Command)) {
		if c.IsSet(o.name) && !isOf(mode, o.with) {
			return usage(c, "--%s and %s exclude each other", mode, dashed(o.name))
		}
	}
	return nil
}

// optionsOf returns the remark that says with which options, and operands, a command
// runs; none if there are none. With --no-command it leaves out the option that is a
// command line.
func optionsOf(c *cli.Context, operands ...string) []format.Meta {
	var words []string
	for _, o := range rowsOf(commandName(c.Command)) {
		if c.IsSet(o.name) && !o.output && !(o.name == "setup" && c.Bool("no-command")) {
			words = append(words, o.words(c)...)
		}
	}
	words = append(words, operands...)
	if words == nil {
		return nil
	}
	return []format.Meta{{Key: format.MetaOptions, Value: format.CommandLine(words)}}
}
