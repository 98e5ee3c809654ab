#!/bin/sh
# scale.sh DIR [EVENTS]: what a recording of EVENTS (100 million) costs to profile, compile
# and print as a dataset, with one processor and with two: seconds, events a second, seconds
# of processor time, and peak memory. Then three questions in DuckDB about the dataset,
# beside the profile. It checks that the results are the same with one processor and with
# two. All that it makes stands in DIR, about 150 bytes an event.
# Without DuckDB (scripts/duckdb.sh) its rows are left out.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
events=${2-100000000}
here=$(pwd)
pianola=$here/bin/pianola
duckdb=${DUCKDB-$here/demo/duckdb}
rm -rf "$dir"
mkdir -p "$dir"
at "building the program that makes the recording"
"${GO:-go}" build -o "$dir/scale" ./scripts/scale
cd "$dir"
export TMPDIR="$PWD"
at "a recording of $events events"
./scale "$events" >recording.txt

# measure NAME CPUS OUT COMMAND…: a row of the table. What the command prints is in OUT.
measure() {
	at "$1 with $2 processors"
	python3 - "$events" "$@" <<'PY'
import os, subprocess, sys, time
events, name, cpus, out, *command = sys.argv[1:]
available = sorted(os.sched_getaffinity(0))[:int(cpus)]
start = time.time()
with open(out, "w") as stdout, open("stderr", "w") as stderr:
    child = subprocess.Popen(command, stdout=stdout, stderr=stderr, preexec_fn=lambda: os.sched_setaffinity(0, available))
    _, status, usage = os.wait4(child.pid, 0)
wall = time.time() - start
if status:
    sys.exit(f"{name}: status {status}: {open('stderr').read()}")
print(f"{name:28} {len(available)} cpu {wall:8.2f} s {int(events) / wall / 1e6:7.2f} M/s {usage.ru_utime + usage.ru_stime:8.2f} s cpu {usage.ru_maxrss // 1024:6} MiB", flush=True)
PY
}

echo "$events events, $(stat -c %s recording.txt) bytes of text, $(nproc) processors"
for n in 1 2; do
	[ "$n" -le "$(nproc)" ] || continue
	mkdir $n
	cd $n
	measure "profile of the recording" $n profile "$pianola" profile ../recording.txt
	measure "compile" $n compile "$pianola" compile -o trace.bin ../recording.txt
	measure "profile of the trace" $n traced "$pianola" profile trace.bin
	measure "convert --format parquet" $n convert "$pianola" convert --format parquet -o dataset ../recording.txt
	cd ..
done
if [ -d 2 ]; then
	at "comparing results of one processor and of two"
	rm 1/stderr 2/stderr
	diff -r 1 2
	echo "results of one processor and of two are the same"
fi
echo "trace: $(stat -c %s 1/trace.bin) bytes; dataset: $(du -sb 1/dataset | cut -f 1) bytes"

if ! has node || [ ! -d "$duckdb/node_modules" ]; then
	echo "DuckDB is not here, so questions in SQL are left out" >&2
	exit 0
fi
cd 1/dataset
for n in 1 2; do
	[ "$n" -le "$(nproc)" ] || continue
	for question in where-time-goes slowest-files latency; do
		at "$question in DuckDB"
		THREADS=$n DUCKDB=$duckdb node "$here/scripts/sql.mjs" "$here/docs/sql/views.sql" "$here/docs/sql/$question.sql" >../../answer
		sed -n '2s/.*"seconds":\([0-9.]*\).*/\1/p' ../../answer | awk -v q="$question" -v n="$n" '{ printf "DuckDB %-21s %d cpu %8.2f s\n", q, n, $1 }'
	done
done
