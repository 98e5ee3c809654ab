package main

import (
	"strings"
)

// traces are studies of what it costs to compile, convert and read recordings.
var traces = []study{
	{
		name:  "compile",
		about: "compile compared with gzip and zstd of the same script, on one processor and on two",
		rows: []row{
			{name: "reads, 1 processor", words: "0 reads.txt", input: "reads.txt"},
			{name: "reads, 2 processors", words: "0,1 reads.txt", input: "reads.txt"},
			{name: "demo, 1 processor", words: "0 demo.txt", input: "demo.txt"},
			{name: "demo, 2 processors", words: "0,1 demo.txt", input: "demo.txt"},
			{name: "database, 1 processor", words: "0 database.txt", input: "database.txt"},
			{name: "threads, 2 processors", words: "0,1 threads.txt", input: "threads.txt"},
			{name: "requests, 2 processors", words: "0,1 requests.txt", input: "requests.txt"},
			{name: "forks, 2 processors", words: "0,1 forks.txt", input: "forks.txt"},
			{name: "races, 2 processors", words: "0,1 races.txt", input: "races.txt"},
			{name: "a long call, 2 processors", words: "0,1 long.txt", input: "long.txt"},
		},
		home: "tmpfs",
		once: `cp "$OUT/$2" script`,
		sides: []side{
			{name: "gzip -1", do: "clocks taskset -c $1 gzip -1 -k -f script; note $(stat -c %s script.gz) bytes"},
			{name: "compile", of: "gzip -1", guard: true, do: `clocks taskset -c $1 "$PIANOLA" compile -o trace.bin script; note $(stat -c %s trace.bin) bytes`},
			{name: "gzip", of: "gzip -1", do: "clocks taskset -c $1 gzip -k -f script; note $(stat -c %s script.gz) bytes"},
			{name: "zstd -3", of: "gzip -1", do: "needs zstd; clocks taskset -c $1 zstd -3 -q -f --single-thread -o script.zst script; note $(stat -c %s script.zst) bytes"},
		},
	},
	{
		name:  "formats",
		about: "a recording as a trace and in each other format, and its profile: nanoseconds, bytes and memory an event",
		rows:  []row{{name: "demo", words: "0,1 demo.txt", input: "demo.txt"}, {name: "database", words: "0,1 database.txt", input: "database.txt"}},
		home:  "tmpfs", once: eventsOf,
		sides: append([]side{
			{name: "trace", do: compiles},
			{name: "profile of the recording", guard: true, do: `each_event "$PIANOLA" profile script`},
			{name: "profile of the trace", guard: true, do: `each_event "$PIANOLA" profile trace.bin`},
			{name: "page", guard: true, do: `each_event "$PIANOLA" profile --html out script`},
		}, formats()...),
	},
	{
		name:  "scale",
		about: "ten million events: profile, compile and a dataset, with one processor and two, and questions about it in DuckDB",
		rows:  []row{{name: "1 processor", words: "0 scale.txt", input: "scale.txt"}, {name: "2 processors", words: "0,1 scale.txt", input: "scale.txt"}},
		home:  "here", once: eventsOf + `; "$PIANOLA" convert -q --format parquet -o dataset script`,
		sides: []side{
			{name: "trace", do: compiles},
			{name: "profile of the recording", do: `each_event "$PIANOLA" profile script`},
			{name: "profile of the trace", do: `each_event "$PIANOLA" profile trace.bin`},
			{name: "dataset", do: `each_event "$PIANOLA" convert -q --format parquet -o out script`},
			{name: "where-time-goes in DuckDB", do: "asked where-time-goes"},
			{name: "slowest-files in DuckDB", do: "asked slowest-files"},
			{name: "latency in DuckDB", do: "asked latency"},
		},
	},
	{
		name:  "codecs",
		about: "Go benchmarks that read and write a hundred thousand events",
		rows: []row{
			{name: "script, read", words: "format/script ^BenchmarkRead$"},
			{name: "script, write", words: "format/script ^BenchmarkWrite$"},
			{name: "trace, read", words: "format/bin ^BenchmarkEvents$/^mixed$"},
			{name: "trace, write", words: "format/bin ^BenchmarkEncode$/^mixed$"},
		},
		home:  "here",
		sides: []side{{name: "benchmark", guard: true, do: `benchmark "$1" "$2" 300ms; note "$(awk '/ns\/event/ { for (i = 2; i <= NF; i++) if ($i == "ns/event") print $(i - 1) }' "$OUT/bench.out") an event, ns"`}},
	},
}

// eventsOf begins a row of formats: the recording, how many events it has, and its trace.
const eventsOf = `ln "$OUT/$2" script 2>/dev/null || cp "$OUT/$2" script; events_of script; "$PIANOLA" compile -o trace.bin script 2>compile.err`

const compiles = `each_event "$PIANOLA" compile -q -o out script`

// formats returns a side for each format of convert.
func formats() (sides []side) {
	for _, format := range strings.Fields("script fio fio2 fiofiles strace json csv parquet perfetto") {
		sides = append(sides, side{name: format, of: "trace", guard: true, do: `each_event "$PIANOLA" convert -q --format ` + format + ` -o out trace.bin`})
	}
	return sides
}
