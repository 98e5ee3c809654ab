# sides.sh: what the commands of studies (studies.go) are made of, to be sourced. They
# stand in the directory of the row on the storage of the side. From measure they have
#
#	TOP MEASURE LOAD CALLS    the source tree, and programs of it
#	PIANOLA SOURCE            the program that is measured, and the tree that it is of
#	DIR OUT                   where measure works, and what is kept of the row
#	START                     the directory of the row on the storage on which it began
#	FIGURES                   the file for what they note
#	SAMPLES                   the file for samples of the figure of the row's picture
#	PICTURE                   the file of a picture that they draw themselves
#	DEVICE LIMITS             of the storage: its device and how that is slowed down
#	BESIDE BESIDE_LIMITS      the same of the storage beside it, if the side has one
#	BESIDE_PLACE              the directory of the row there
#	COLD OPTIONS              whether runs begin without cached files; options of replays
: "${DEVICE=}" "${LIMITS=}" "${BESIDE=}" "${BESIDE_PLACE=}"
cd "$TOP"
. scripts/lib.sh
dir=$DIR sql=$TOP/scripts/demo.sql app=${1-} device=$DEVICE
. scripts/apps.sh
. scripts/device.sh
. scripts/slowdisk.sh
. scripts/measure/cases.sh
. scripts/measure/servers.sh
cd "$OLDPWD"
log=
tidy() {
	leave
	[ -z "$BESIDE" ] || (device=$BESIDE; release)
	! mountpoint -q "$BESIDE_PLACE/work/app.db" || umount "$BESIDE_PLACE/work/app.db"
}

# note NUMBER NAME…: a figure of this side.
note() { echo "$*" >>"$FIGURES"; }

# needs PROGRAM: ends the side where the machine has no such program.
needs() { has "$1" || left_out "$1 is not here"; }
left_out() {
	echo "# $*" >"$FIGURES"
	exit 0
}

# slowly COMMAND…: runs it while the devices have their limits, if they have any.
slowly() {
	[ -n "$LIMITS" ] || { "$@"; return; }
	enter
	throttle "$LIMITS"
	[ -z "$BESIDE" ] || (device=$BESIDE; throttle "$BESIDE_LIMITS")
	"$@"
	[ -z "$BESIDE" ] || (device=$BESIDE; release)
	leave
	home=
}

# counted COMMAND…: runs it, and notes what its device has read and written then, with
# what was still to be written at its end.
counted() {
	[ -n "$DEVICE" ] || { "$@"; return; }
	counted=$(bytes)
	"$@"
	sync -f .
	echo "$counted $(bytes)" | awk '{ print ($3 - $1) / 1e6, "MB read"; print ($4 - $2) / 1e6, "MB written" }' >>"$FIGURES"
}

# --- programs (apps.sh) ---

# begin: what the program starts from. What the shell knows then is kept for the others.
begin() {
	here "$app" >&2 || exit 1
	seed_$app
	kept
	fresh_or_aside
	into "$OUT/run.out" run_$app plain # warms up
}
kept() { printf "user='%s'\npython='%s'\n" "$user" "${python-}" >settings; }

# fresh_or_aside: what a run begins with. What the last one left is put aside: ext4 avoids
# inodes that were removed within the last minutes, and looks at all of them whenever it
# makes a file, so that nothing is removed before the end.
fresh_or_aside() {
	[ -e settings ] || cp -a "$START/." .
	. ./settings
	[ ! -e work ] || mv work "left.$(date +%s%N)"
	fresh_$app
	settle
}
settle() {
	sync -f .
	[ -z "$COLD" ] || "$MEASURE" cold .
}

# plainly: runs the program by itself, or through the command $through.
through=
clocked() { plain $through "$MEASURE" clock "$FIGURES.clock" "$@"; }
plainly() {
	fresh_or_aside
	alone
}
alone() {
	: >"$FIGURES.clock"
	chmod 666 "$FIGURES.clock" # the program can be another user's
	counted slowly into "$OUT/run.out" run_$app clocked
	cat "$FIGURES.clock" >>"$FIGURES"
}
unsynced() {
	synced=no
	plainly
}

# by_strace: runs it under strace, and notes what its output has.
by_strace() {
	needs strace
	fresh_or_aside
	into "$OUT/run.out" run_$app strace -f -ttt -T -o "$OUT/strace.txt"
	"$PIANOLA" profile --json "$OUT/strace.txt" >"$OUT/strace.json"
	account "$OUT/strace.json"
	note "$(figure compute_seconds "$OUT/strace.json") compute, s"
}

# log_apart: runs it with the log of the database on the storage beside.
log_apart() {
	fresh_or_aside
	case $app in
	sqlite3wal) # the log is where the database is, which is mounted there
		rm -rf "$BESIDE_PLACE/work"
		mkdir "$BESIDE_PLACE/work"
		cp wal.sql "$BESIDE_PLACE"
		: >"$BESIDE_PLACE/work/app.db"
		mount --bind work/app.db "$BESIDE_PLACE/work/app.db"
		cd "$BESIDE_PLACE"
		alone
		umount work/app.db
		;;
	postgres1)
		wal=$BESIDE_PLACE/wal.$(date +%s%N)
		mv work/pg_wal "$wal"
		ln -s "$wal" work/pg_wal
		chown -h postgres work/pg_wal
		alone
		;;
	esac
}

# on_path: notes how long the recorded syncs took, and those of them on the critical path.
on_path() {
	"$PIANOLA" profile --json "$OUT/trace.txt" | awk -F'[:,]' '
		/"run_time_seconds"/ && !n++ { run = $2 }
		/"classes"/ { inside = 1 }
		inside && /"name": "sync"/ { synced = 1 }
		synced && /"seconds"/ { print $2 + 0, "in syncs, s"; synced = inside = 0 }
		/"critical_path"/ { critical = 1 }
		critical && /"name"/ { sync = $2 ~ /sync/ }
		critical && sync && /"seconds"/ { sum += $2 }
		critical && /^  \]/ { critical = 0 }
		END { print sum + 0, "in syncs on the path, s"; print run - sum, "without these, s" }' >>"$FIGURES"
}

# recorded [OPTION…]: runs it while it is recorded.
recorded() {
	record_options=$*
	fresh_or_aside
	slowly into "$OUT/run.out" run_$app record
	recorded_time
	note "$(awk '/^# lost:/ { lost = $3 } END { print lost + 0 }' "$OUT/trace.txt") lost"
}
recorded_time() { note "$(awk '/^# elapsed:/ { print $3 }' "$OUT/trace.txt") run time, s"; } # the last note counts
record() { "$PIANOLA" record $record_options ${user:+--user "$user"} -o "$OUT/trace.txt" -- "$@"; }

# compiled [OPTION…]: compiles the last recording, and notes what the trace has.
compiled() {
	into "$OUT/compile.out" "$PIANOLA" compile --report "$OUT/report" "$@" -o "$OUT/trace.bin" "$OUT/trace.txt"
	"$PIANOLA" profile --json "$OUT/trace.bin" >"$OUT/profile.json"
	account "$OUT/profile.json"
	note "$(figure compute_seconds "$OUT/profile.json") compute, s"
	note "$(sed -n 's/^unexplained: //p' "$OUT/report" | head -n 1)" unexplained
	note "$(figure events "$OUT/profile.json")" events
	note "$(echo "$(stat -c %s "$OUT/trace.bin") $(figure events "$OUT/profile.json")" | awk '{ print $1 / $2 }') bytes an event"
}

# account FILE: notes the run time of a profile or a replay, and that of each category.
account() {
	awk -F'[:,"]+' '
		/"run_time_seconds"/ && !seen++ { print $3 + 0, "run time, s" }
		/"classes"/ { inside = 1 }
		inside && $2 == "name" { name = $4 }
		inside && $2 == "seconds" && $3 > 0 { print $3 + 0, name ", s" }
		inside && /\]/ { exit }' "$1" >>"$FIGURES"
}

# replayed [OPTION…]: replays the trace. Its files are made before, and the page cache is
# set then: a throttle would keep what is asked for on the way, and spoil the first events.
replayed() {
	root=root.$(date +%s%N)
	"$PIANOLA" replay --prepare only --root "$root" "$OUT/trace.bin" >/dev/null
	sync -f .
	counted slowly judged_replay $OPTIONS "$@" --prepare never --cache asis --root "$root" --keep --json "$OUT/trace.bin"
	answered
}
judged_replay() { judged "$PIANOLA" replay "$@" >"$OUT/replay.json"; }
answered() {
	account "$OUT/replay.json"
	for count in executed failed differed; do note "$(figure $count "$OUT/replay.json")" $count; done
}

# predicted CANDIDATE [TRACE]: what lab says of a change, and of none.
predicted() {
	slowly judged "$PIANOLA" lab --runs 1 --root "root.$(date +%s%N)" --keep --json --try "$1" "${2-$OUT/trace.txt}" >"$OUT/lab.json"
	told 'b, c = (next(s for s in p["subjects"][0]["sides"] if s["kind"] == "replayed" and (not s["steps"]) == base) for base in (True, False))
print(c["elapsed_seconds"], "run time, s")
print(b["elapsed_seconds"], "as it is, s")
print(c["elapsed_seconds"] / b["elapsed_seconds"], "share of as it is")
for kind in ("read", "write"): print(c[kind + "_seconds"], kind + ", s")' "$OUT/lab.json"
}

# --- commands ---

# forks is a program of sh: so many children.
forks='i=0; while [ $i -lt "$1" ]; do /bin/true; i=$((i + 1)); done'

# clocks COMMAND…: notes what a command takes.
clocks() { into "$OUT/command.out" "$MEASURE" clock "$FIGURES" "$@"; }

# calls COUNT COMMAND…: notes the nanoseconds of a call of the row's kind, which runs
# through the command. dd makes two calls a block, and has a clock of its own.
calls() {
	count=$1
	shift
	case $app in
	dd)
		into "$OUT/calls.out" "$@" dd if=/dev/zero of=/dev/null bs=1 count="$count"
		note "$(awk -F ' copied, ' -v n="$count" 'NF == 2 { print $2 * 1e9 / n / 2 }' "$OUT/calls.out") a call, ns"
		;;
	*)
		into "$OUT/calls.out" "$@" "$LOAD" "$app" 1 "$count"
		note "$(awk 'NF == 2 && $1 + 0 > 0 { print $1 }' "$OUT/calls.out") a call, ns"
		;;
	esac
}

# traced ACTION COMMAND…: runs the command under bpftrace, which takes a path, follows by
# the name of the program, and needs tracefs, which it gets for itself alone where it
# isn't mounted.
traced() {
	action=$1 program=$(command -v "$2")
	shift 2
	cat >trace.bt <<-B
		tracepoint:raw_syscalls:sys_enter /comm == "${program##*/}"/ { @start[tid] = nsecs; }
		tracepoint:raw_syscalls:sys_exit /comm == "${program##*/}" && @start[tid]/ { $action }
	B
	unshare -m sh -c '
		[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
		exec bpftrace -o bpftrace.out -c "$1" trace.bt' sh "$program $*"
}

# another_recorded COMMAND…: runs a command while another process is recorded, with $layers
# if there are any. The program is attached, but follows that one.
layers=
another_recorded() {
	[ -e over ] || mkfifo over
	"$PIANOLA" record -o others.txt ${layers:+--layer "$layers"} -- sh -c 'echo >attached; read x <over' 2>others.err &
	recorder=$!
	while [ ! -s attached ]; do
		kill -0 $recorder || { cat others.err >&2; return 1; }
		sleep 0.01
	done
	"$@"
	echo >over
	wait $recorder
	rm attached
}

# tests_of PACKAGE: builds the tests of the tree that is measured, as $program.
tests_of() {
	program=$DIR/$(echo "$1" | tr / -).test
	[ -e "$program" ] || (cd "$SOURCE" && go test -c -o "$program" "./$1")
}

# benchmark PACKAGE NAME TIME: runs a Go benchmark.
benchmark() {
	tests_of "$1"
	into "$OUT/bench.out" "$program" -test.run '^$' -test.bench "$2" -test.benchtime "$3"
	grep -q ns/op "$OUT/bench.out" || fail 1 "$1 has no benchmark $2"
}

# events_of SCRIPT: how many events the commands of each_event get.
events_of() { grep -c '^[0-9]' "$1" >events; }

# each_event COMMAND…: notes what a command takes for each event of the recording, on the
# processors of the row, with the size of out, if it makes that.
each_event() {
	rm -rf out
	clocks taskset -c "$app" "$@"
	note "$(awk -v n="$(cat events)" '$2 == "run" { print $1 * 1e9 / n }' "$FIGURES") ns an event"
	[ ! -e out ] || note "$(du -sb --apparent-size out | awk -v n="$(cat events)" '{ print $1 / n }') bytes an event"
}

# asked QUESTION: of docs/sql, about the dataset, in DuckDB.
asked() {
	duckdb=$TOP/demo/duckdb
	needs node
	[ -d "$duckdb/node_modules" ] || left_out "DuckDB is not here (scripts/duckdb.sh)"
	cd dataset
	THREADS=$(echo "$app" | tr , '\n' | wc -l) DUCKDB=$duckdb node "$TOP/scripts/sql.mjs" "$TOP/docs/sql/views.sql" "$TOP/docs/sql/$1.sql" >"$OUT/answer"
	note "$(sed -n '2s/.*"seconds":\([0-9.]*\).*/\1/p' "$OUT/answer") run time, s"
	cd ..
}

# transactions SECONDS OPTION…: of the server in this directory, which works in memory.
transactions() {
	clients=$(($(nproc) * 2)) lasts=$1
	shift
	into "$OUT/pgbench.out" "$server/pgbench" -h "$(pwd)" -U postgres -n "$@" -c $clients -j $clients -T "$lasts" postgres
	note "$(awk '/^tps/ { print $3 }' "$OUT/pgbench.out") transactions/s"
}

# attached and detached begin and end a recording of the server.
attached() {
	rm -f "$OUT"/trace.*
	"$PIANOLA" record --pid "$(head -n 1 src/postmaster.pid)" $OPTIONS -o "$OUT/trace.txt" 2>recorder.err &
	recorder=$!
	until [ -s "$OUT/trace.txt" ] || grep -q 'are kept' recorder.err; do recorder_runs; done
	spent=$(awk '{ sub(/.*\) /, ""); print $12 + $13 }' /proc/$recorder/stat)
}
recorder_runs() {
	kill -0 $recorder || { cat recorder.err >&2; return 1; }
	sleep 0.1
}
detached() {
	note "$(awk -v spent="$spent" -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13 - spent) / ticks }' /proc/$recorder/stat) recorder, s"
	kill -INT $recorder
	wait $recorder || :
}

# within: the transactions of a server that its own user records from its start, in the process.
within() {
	as_postgres "$server/pg_ctl" -D src -m fast -w stop >>initdb.out
	rm -f within.txt
	as_postgres "$PIANOLA" record --tracer in-process -o within.txt -- "$server/postgres" -D src -k "$(pwd)" >>server.out 2>recorder.err &
	recorder=$!
	until "$server/pg_isready" -q -h "$(pwd)"; do recorder_runs; done
	transactions 2 "$@"
	transactions 5 "$@" # the last note counts
	as_postgres "$server/pg_ctl" -D src -m fast -w stop >>initdb.out
	wait $recorder || :
	as_postgres "$server/pg_ctl" -D src -o "-k $(pwd)" -l server.out -w start >>initdb.out
	warms_up "$@"
}
warms_up() { "$server/pgbench" -h "$(pwd)" -U postgres -n "$@" -c 4 -T 2 postgres >>initdb.out 2>&1; }

# window: the window of a flight recorder, written while the server goes on: how long that
# takes, the memory of the recorder, and a replay of the window.
window() {
	transactions "$@" &
	load=$!
	while kill -0 $load 2>/dev/null; do
		awk '/^Rss(Anon|File)/ { kb += $2 } END { print kb / 1024 }' /proc/$recorder/status >>resident
		sleep 1
	done
	from=$(date +%s%N)
	kill -USR1 $recorder
	until grep -q '/trace\.[0-9]' recorder.err; do recorder_runs; done
	note $((($(date +%s%N) - from) / 1000000)) ms to the script
	note "$(sort -n resident | tail -n 1) recorder at most, MiB"
	rm resident
	mv "$OUT/trace.000001.txt" "$OUT/window.txt"
	note "$(awk '/^# lost:/ { lost = $3 } END { print lost + 0 }' "$OUT/window.txt") lost"
	into "$OUT/compile.out" "$PIANOLA" compile -o "$OUT/window.bin" "$OUT/window.txt"
	judged "$PIANOLA" replay --root "root.$(date +%s%N)" --timing afap --json "$OUT/window.bin" >"$OUT/replay.json"
	answered
}

# files_of FILE: notes the time in the files warm and cold.
files_of() {
	"$PIANOLA" profile --by file --format csv "$1" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		{ sub(".*/", "", $1) }
		$1 == "warm" || $1 == "cold" { print $(at["seconds"]), $1 ", s" }' >>"$FIGURES"
}

# --- requests ---

# fio_reads OPTION…: reads at random with 32 requests in flight.
fio_reads() {
	fio --name=f --thread --filename=file --size=64m --readonly --invalidate=0 --rw=randread --bs=4k --norandommap --iodepth=32 \
		--iodepth_batch_complete_max=32 --gtod_reduce=1 --time_based --runtime=1 --output-format=json --output="$OUT/fio.json" "$@"
	note "$(figure iops "$OUT/fio.json" | awk '{ print $1 / 1e6 }') M requests/s"
}
rings_reads() { # NAME BATCH
	PIANOLA_BENCH_DIR=$(pwd) benchmark replay/rings "^BenchmarkRequests\$/^$1\$/^batch=$2\$" 1s
	note "$(awk '$4 == "ns/op" { print 1e3 / $3 }' "$OUT/bench.out") M requests/s"
}

# fio_job [COMMAND…]: runs the job of the row, whose options are in the file options.
fio_job() {
	sync file
	cat file >/dev/null
	into "$OUT/fio.out" "$@" fio --name=f --filename=file --size=64m --bs=4k --norandommap --thread --output-format=json --output="$OUT/fio.json" $(cat options)
}
fio_told() {
	awk -F'[:,]' '
		$1 ~ /"job_runtime"/ && !job++ { print $2 / 1e3, "job, s" }
		$1 ~ /"iops"/ { rate += $2 }
		/"read"/ { reads = 1 }
		/"clat_ns"/ && reads { flight = 1 }
		flight && /"50.000000"/ && !median++ { print $2 / 1e3, "read p50, µs" }
		flight && /"99.000000"/ && !tail++ { print $2 / 1e3, "read p99, µs" }
		END { print rate / 1e6, "M requests/s" }' "$OUT/fio.json" >>"$FIGURES"
}

# job_of FILE: notes the time from the first to the last event of its busiest thread, and
# that of a read in flight. fio itself waits for the job in steps, which a replay keeps.
job_of() {
	note "$("$PIANOLA" profile --by thread --format csv "$1" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		NR > 1 && $3 > calls { calls = $3; value = $(at["last_seconds"]) - $(at["first_seconds"]) } END { print value }') job, s"
	"$PIANOLA" profile --by operation --json "$1" | awk -F'[:,]' '
		/"name"/ { read = $2 ~ /"(pread64|preadv|read)"/; calls = 0 }
		/"calls"/ && read { calls = $2 + 0 }
		/"p50_seconds"/ && calls > most { p50 = $2 * 1e6 }
		/"p99_seconds"/ && calls > most { p99 = $2 * 1e6; most = calls }
		END { print p50 + 0, "read p50, µs"; print p99 + 0, "read p99, µs" }' >>"$FIGURES"
}

# --- issue times ---

# reads_of THREADS CALLS GAP: compiles a trace of reads of the file f, GAP nanoseconds apart
# in each thread; the threads take turns.
reads_of() {
	head -c 1048576 /dev/urandom >f
	awk -v threads="$1" -v calls="$2" -v gap="$3" 'BEGIN {
		print "# file: \"f\" reg mode=0600 size=1048576 cached=256"
		for (t = 1; t <= threads; t++) printf "# thread: %d process=1 parent=0 start=0.000000000\n", t
		for (t = 1; t <= threads; t++) printf "%d compute ( %.9f )\n%d open ( f 1 ) = %d\n", t, gap * (t - 1) / threads / 1e9, t, t + 2
		for (i = 0; i < calls; i++)
			for (t = 1; t <= threads; t++) {
				if (gap) printf "%d compute ( %.9f )\n", t, gap / 1e9
				printf "%d pread64 ( %d 4096 %d ) = 4096\n", t, t + 2, i % 256 * 4096
			}
	}' >reads.txt
	into "$OUT/compile.out" "$PIANOLA" compile -o reads.bin reads.txt
}

# replay_reads OPTION…: replays the trace of reads at $place, with its account in replay.json.
place='--root root --keep'
replay_reads() { judged "$MEASURE" clock "$FIGURES" "$PIANOLA" replay $place --json "$@" reads.bin >replay.json; }

# rate_of CALLS: of the last replay, which made so many.
rate_of() { figure 'elapsed(_seconds)?' replay.json | awk -v n="$1" '{ print n / $1 / 1e6, "M reads/s"; print $1 * 1e9 / n, "a call, ns" }' >>"$FIGURES"; }

# fio_iolog OPTION…: has fio make the two million reads.
fio_iolog() {
	needs fio
	[ -e reads.iolog ] || "$PIANOLA" convert --format fio -o reads.iolog reads.bin
	fio --name=f --thread --ioengine=psync --replay_no_stall=1 --output-format=json --output=fio.json --read_iolog=reads.iolog "$@"
	note "$(awk -F'[:,]' '/"runtime"/ { print 2e3 / $2; exit }' fio.json) M reads/s"
}

# watched COMMAND…: its preads as bpftrace sees them. That keeps the times in a map and
# prints them at the end: a line for each call would wake it up in mid-run, on a processor
# that the replay may want. Keys of a map are counted, so what is lost shows as calls missed.
watched() {
	needs bpftrace
	probe='tracepoint:syscalls:sys_enter_pread64 /pid == cpid && args->count == 4096/ { $t = nsecs; @at[tid, @n[tid]++] = $t; @in[tid] = $t; }
		tracepoint:syscalls:sys_exit_pread64 /@in[tid]/ { @spent[tid] += nsecs - @in[tid]; @in[tid] = 0; }'
	BPFTRACE_MAP_KEYS_MAX=1000000 BPFTRACE_MAX_MAP_KEYS=1000000 unshare -m sh -c '
		[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
		exec bpftrace -o times.out -e "$1" -c "$2"' sh "$probe" "$*" >replay.json
	awk -F'[][, :]+' '/^@at/ { print "at", $2, $3, $4 } /^@spent/ { print "spent", $2, $3 }' times.out >times
}

# lateness THREADS CALLS GAP [after]: notes how late the watched calls were. Nothing is ever
# issued early, so the call that came first with respect to its due time is taken for
# punctual. Where calls are due so long after the last one ended, the drift alone is told,
# without the time in the calls, but with what the probes take around them.
lateness() {
	awk -v gap="$3" '
		$1 == "at" { late = $4 - $3 * gap; if (!($2 in low) || late < low[$2]) low[$2] = late; at[$2, $3] = late; if ($3 >= n[$2]) n[$2] = $3 + 1 }
		END { for (t in n) for (i = 0; i < n[t]; i++) if ((t, i) in at) printf "%.3f\n", (at[t, i] - low[t]) / 1e3 }' times | sort -n >late
	seen=$(wc -l <late)
	note "$(awk -v gap="$3" -v after="${4-}" '
		$1 == "at" && $3 == 0 { first[$2] = $4 }
		$1 == "at" && $3 >= n[$2] { n[$2] = $3; last[$2] = $4 }
		$1 == "spent" { spent[$2] = $3 }
		END {
			for (t in n) {
				took = last[t] - first[t]
				if (after) took -= spent[t] * n[t] / (n[t] + 1)
				drift = (took / (n[t] * gap) - 1) * 100
				if (drift * drift >= worst * worst) worst = drift
			}
			printf "%.4f\n", worst
		}' times) drift, %"
	note $(($1 * $2 - seen)) missed
	[ -z "${4-}" ] || return 0
	note "$(sed -n "$(((seen + 1) / 2))p" late) late p50, µs"
	note "$(sed -n "$(((seen * 99 + 99) / 100))p" late) late p99, µs"
	note "$(tail -n 1 late) late at most, µs"
}
own() { for p in p50 p99; do note "$(figure "$p(_seconds)?" replay.json | awk '{ print $1 * 1e6 }') own $p, µs"; done; }

# interrupted COMMAND…: a replay that is ended a second after it began, when it is in
# mid-run. Its log must be one that compare reads.
interrupted() {
	rm -rf root
	"$@" --root root --log replay.log --json reads.bin >replay.json &
	pid=$!
	until [ -s root/f ]; do kill -0 $pid; done
	sleep 1
	from=$(date +%s%N)
	kill -INT $pid
	status=0
	wait $pid || status=$?
	note $((($(date +%s%N) - from) / 1000000)) ms to the end
	grep -q '"interrupted": true' replay.json && [ $status = 130 ] || fail 1 "not interrupted, status $status"
	judged "$PIANOLA" compare reads.bin replay.log >compare.out
	[ "$(grep -c '^[0-9]' replay.log)" = "$(figure executed replay.json)" ] || fail 1 "the log is not whole"
}

# --- shipped workloads ---

workload() {
	slowly "$PIANOLA" bench --library "$TOP/workloads" --no-host --workload "$app" --runs 1 --root "here=$(pwd)" --json >"$OUT/bench.json"
	told 'print(next(s for s in p["subjects"][0]["sides"] if s["kind"] == "replayed")["elapsed_seconds"], "run time, s")' "$OUT/bench.json"
}
workload_plain() {
	case $app in sqlite3 | postgresql | git) ;; *) left_out "three programs are enough" ;; esac
	taken=$(cd "$TOP" && PLACE=$OLDPWD/place slowly sh "workloads/$app/record.sh" plain)
	note "$taken run time, s"
}

# --- ranks ---

# launch COMMAND…: runs a command as $ranks ranks of two nodes, which are this machine.
launch() {
	half=$(((ranks + 1) / 2))
	mpiexec -launcher fork -hosts n1:$half,n2:$half -n "$ranks" "$@"
}

# disks MILLISECONDS: gives each of four ranks a disk of its own, a write to which takes
# 1 ms; that of rank 1 takes so long.
disks() {
	for rank in 0 1 2 3; do
		take_down_disk $rank
		each=1
		[ $rank != 1 ] || each=$1
		put_up_disk $rank 0 "$each" 1G
	done
}

# ranked COMMAND…: runs the program of the row as ranks, through a command: steps and the
# microseconds of work in each follow. Where there are disks, each rank has its own.
ranked() {
	if [ -e 0.disk ]; then
		find 0 1 2 3 -mindepth 1 -not -name lost+found -delete
		sync -f 0 1 2 3
		into "$OUT/run.out" launch "$@" ./mpi "$kind" "$(pwd)" 300 5000
	else
		rm -rf files
		mkdir files
		into "$OUT/run.out" launch "$@" ./mpi "$kind" files/out 100 20000
	fi
}
ranks_alone() {
	: >ended
	ranked "$MEASURE" clock "$(pwd)/ended"
	note "$(awk '/run time/ && $1 > most { most = $1 } END { print most }' ended) run time, s"
}
ranks_recorded() {
	rm -rf "$OUT/recording"
	ranked "$PIANOLA" record --ranks --layer mpi --slow-functions -o "$OUT/recording" --
	"$PIANOLA" profile --json "$OUT/recording" >profile.json
	note "$(figure run_time_seconds profile.json) run time, s"
	into "$OUT/compile.out" "$PIANOLA" compile -o edges.bin "$OUT/recording"
	into "$OUT/compile.out" "$PIANOLA" compile -o none.bin --filter 'time >= 0s' "$OUT/recording" # a filter drops the spans
}
ranks_replayed() { # TRACE COMMAND…
	trace=$1
	shift
	rm -rf root
	if [ -e 0.disk ]; then
		find 0 1 2 3 -mindepth 1 -not -name lost+found -delete
		for rank in 0 1 2 3; do set -- "$@" --map "$(pwd)/$rank*=$(pwd)/$rank/root"; done
	fi
	judged "$@" --root root --strict --json "$trace.bin" >"$OUT/replay.json" 2>"$OUT/replay.out"
	answered
}

# ring RANKS: a trace of ranks in a ring with 640 edges; each writes 2 ms after the one before.
ring() {
	awk -v ranks="$1" -v rounds=$((640 / $1)) 'BEGIN {
		for (r = 1; r <= ranks; r++) printf "# thread: %d process=%d parent=0 rank=%d start=0.000000000\n", r, r, r - 1
		for (r = 1; r <= ranks; r++) printf "%d openm ( out%d 50 384 ) = 3\n", r, r
		after = ""
		for (i = 1; i <= rounds; i++)
			for (r = 1; r <= ranks; r++) {
				printf "%d write ( 3 4096 ) = 4096%s\n", r, after
				after = sprintf(" {after=%d:%d+0.002000000:message}", r, i)
			}
		for (r = 1; r <= ranks; r++) printf "%d close ( 3 ) = 0\n", r
	}' >ring.txt
	"$PIANOLA" compile -q -o ring.bin ring.txt
}

# ring_replayed RANKS: the ranks have clocks 1000 s apart where time namespaces can be had, so
# that the true error of the correction is known.
ring_replayed() {
	distance=0
	! unshare --time --fork true 2>/dev/null || distance=1000
	for rank in $(seq $(($1 - 1)) -1 0); do
		apart=
		[ $distance = 0 ] || apart="unshare --time --monotonic $((distance * rank)) --fork"
		PIANOLA_RANK=$rank PIANOLA_SIZE=$1 $apart "$PIANOLA" replay --ranks --rendezvous . --json ring.bin >"$rank.out" &
	done
	wait
	python3 - $distance >>"$FIGURES" <<'P'
import json, sys
run = json.load(open("0.out"))
ranks, between = run["ranks"], run["between_ranks"]["latency"]
memory = [r["memory_bytes"] / 1e6 for r in ranks]
carriers = [r["carrier_bytes"] / 1e6 for r in ranks]
print(between["p50_seconds"] * 1e6, "edge p50, µs")
print(between["p99_seconds"] * 1e6, "edge p99, µs")
print(max(abs(r["clock_offset_seconds"] + int(sys.argv[1]) * r["rank"]) for r in ranks) * 1e6, "error of the clock, µs")
print(max(r["clock_error_seconds"] for r in ranks) * 1e6, "its bound, µs")
print(max(r["late_seconds"] for r in ranks) * 1e6, "start late, µs")
print(memory[0], "rank 0, MB")
print(carriers[0], "carrier of rank 0, MB")
print(max(m + c for m, c in zip(memory[1:], carriers[1:])), "another rank and its carrier, MB")
P
}

# --- libraries ---

# library LAYERS COMMAND…: records a program with layers, and notes its spans and where the
# time in the first layer went.
library() {
	layers=$1
	shift
	into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" --slow-functions --layer "$layers" -- "$@"
	awk '
		/^# lost:/ { lost = $3 }
		/^[0-9]/ { events++; n = split($3, at, ":"); if (n > 1 && at[1] ~ /^(hdf5|mpi|sqlite3|stdio)$/) { spans++; events-- } }
		END { print spans + 0, "spans"; print events + 0, "events"; print lost + 0, "lost" }' "$OUT/trace.txt" >>"$FIGURES"
	"$PIANOLA" profile --by layer --format csv "$OUT/trace.txt" | awk -F, -v layer="${layers%%,*}" '
		$1 == layer { print $5 * 1e3, "in the library, ms"; print 100 * $7 / $6, "system calls, %"; print 100 * $8 / $6, "waiting, %"; print 100 * $9 / $6, "ready, %"; print 100 * $10 / $6, "own, %" }' >>"$FIGURES"
}

# --- time off the processor ---

# ways_to_wait: of each way to wait of split.c, which stands between two calls with its name,
# what the lines of the program's first thread add up to.
ways_to_wait() {
	awk '
		function note(key) { return match($0, "[ {]" key "=[0-9]+") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) / 1e6 : 0 }
		$3 ~ /^[0-9]/ { next }
		match($0, /access\("[a-z]+"/) { name = substr($0, RSTART + 8, RLENGTH - 9); first = $1; inside = name != way; way = inside ? name : "" }
		$1 == first && way != "" || /access\("[a-z]+"/ {
			dur = match($0, /<[0-9.]+>/) ? substr($0, RSTART + 1, RLENGTH - 2) * 1000 : 0
			if (/wait\(FUTEX/) sum[name, "lock"] += dur
			if (/wait\(POLL/) sum[name, "poll"] += dur
			if (/pread64\(/ && !/type=/) sum[name, "direct"] += dur
			if (/map_read\(/) sum[name, "mapped"] += dur
			if (!(/access\(/ && inside)) {
				sum[name, "sleep"] += note("timer")
				sum[name, "spin"] += note("ready") + note("own")
				sum[name, "mapped"] += note("storage")
			}
		}
		END { n = split("lock poll sleep spin mapped direct", names, " "); for (i = 1; i <= n; i++) print sum[names[i], names[i]] + 0, names[i] ", ms" }
	' "$OUT/trace.txt" >>"$FIGURES"
}

# --- cases (cases.sh) ---

# begin_case QUESTION: what a case starts from.
begin_case() {
	$1 "$app"
	for program in $programs; do needs "$program"; done
	mkdir seed
	cd seed
	into "$OUT/seed.out" eval "$seed"
	cd ..
}

# case_runs QUESTION and run_case COMMAND…: run the case from a new start, through a command.
case_runs() { $1 "$app"; }
run_case() {
	rm -rf work
	if [ -n "${warm-}" ]; then
		mkdir work
		cd work
		into "$OUT/seed.out" eval "$seed"
	else
		cp -a seed work
		settle
		cd work
	fi
	into "$OUT/run.out" timeout 300 "$@"
	cd ..
}
record_case() { run_case "$PIANOLA" record -o "$OUT/trace.txt" -- sh -c "$command"; }

# told PROGRAM FILE [ARGUMENT…]: notes what a program of Python prints of a JSON document p.
told() {
	program=$1
	shift
	python3 -c "import json, re, sys
p = json.load(open(sys.argv[1]))
$program" "$@" >>"$FIGURES"
}

# covers: how much of the I/O of a case the recording has, beside what the kernel counted.
covers() {
	case_runs covered
	command="($command); while read -r name n; do echo \"\$name \$n\"; done </proc/\$\$/io >../io"
	record_case
	into "$OUT/compile.out" "$PIANOLA" compile -o "$OUT/trace.bin" "$OUT/trace.txt"
	"$PIANOLA" profile --json "$OUT/trace.bin" >"$OUT/profile.json"
	told 'for kind in ("bytes", "time"): print(100 * p["coverage"][kind], f"of the {kind}, %")' "$OUT/profile.json"
	awk '/^# coverage:/ { split($3, f, "="); held = f[2] } END { print held / 1e6, "recorded, MB" }' "$OUT/trace.txt" >>"$FIGURES"
	awk '{ n[$1] = $2 } END {
		print (n["rchar:"] + n["wchar:"]) / 1e6, "through calls, MB"
		print (n["read_bytes:"] + n["write_bytes:"]) / 1e6, "from and to storage, MB" }' io >>"$FIGURES"
	[ -z "$moves" ] || note "$(echo "$moves" | awk '{ print $1 / 1e6 }') known, MB"
}

# explains: how much of the time in which threads are blocked the recording explains, by
# what ended it; and of the receives, how many have a send whose bytes reach as far
# (docs/internals/record.md, Messages). A receive can stand before its send.
explains() {
	case_runs waiting
	record_case
	"$PIANOLA" profile --json "$OUT/trace.txt" >"$OUT/profile.json"
	told 'b = p["blocked"]
total = b["explained_seconds"] + b["unexplained_seconds"]
print(len(p["threads"]), "threads")
print(total, "blocked, s")
print(100 * b["explained_seconds"] / total if total else 100, "explained, %")
for name, s in {**b["woken_in"], "timer_seconds": b["timer_seconds"], "storage_seconds": b["storage_seconds"]}.items():
    print(100 * s / total if total else 0, name.removesuffix("_seconds") + ", %")' "$OUT/profile.json"
	awk '
	# The note sent=KIND:CHANNEL+POSITION, or got=; positions wrap at 2^32.
	match($0, /[ {](sent|got)=[^ }]+/) {
		split(substr($0, RSTART + 1, RLENGTH - 1), part, /[=+]/)
		at = part[2]
		if (!(at in first))
			first[at] = part[3]
		pos = (part[3] - first[at] + 6442450944) % 4294967296 # the first one lies in the middle
		if (part[1] == "sent") {
			sends++
			if (pos > most[at])
				most[at] = pos
		} else {
			from[++receives] = at
			to[receives] = pos
			earlier += pos > most[at]
		}
	}
	END {
		for (i = 1; i <= receives; i++)
			found += from[i] in most && to[i] <= most[from[i]]
		print sends + 0, "sends"; print receives + 0, "receives"
		if (receives) { print 100 * found / receives, "send found, %"; print earlier - (receives - found), "recorded before its send" }
	}' "$OUT/trace.txt" >>"$FIGURES"
}

# diagnoses: the share of each finding, and what is left of the recorded run without the time
# of those that are followed.
diagnoses() {
	case_runs diagnosed
	record_case
	"$PIANOLA" profile --json "$OUT/trace.txt" >"$OUT/profile.json"
	told 'gone = 0
for d in p["diagnosis"]:
    print(100 * d.get("share", 0), d["rule"] + ", %")
    # What compute leaves to I/O.
    io = re.search(r"I/O takes [^(]*\(([0-9.]+) (m|µ)?s\)", d["text"])
    if d["rule"] in sys.argv[2:]:
        gone += d.get("seconds", 0) if d["rule"] != "compute" else float(io[1]) / {None: 1, "m": 1e3, "µ": 1e6}[io[2]] if io else 0
print(p["run_time_seconds"], "run time, s")
print(p["run_time_seconds"] - gone, "left without that, s")' "$OUT/profile.json" $rules
}

# followed COMMAND: runs the case as the diagnosis has it changed, or as it is.
followed() {
	[ -n "$1" ] || left_out "the laboratory alone changes it"
	run_case "$MEASURE" clock "$FIGURES" sh -c "$1"
}

# advised: what lab finds worth doing, or beyond the program.
advised() {
	judged "$PIANOLA" lab --json --root "root.$(date +%s%N)" "$OUT/trace.txt" >"$OUT/lab.json"
	told 'gains = {s["name"]: s.get("gain") for s in p["subjects"][0]["sides"]}
for f in p["findings"]:
    for c in f["candidates"]:
        if c["outcome"] in ("worth_doing", "beyond_program"): print(100 * gains[c["name"]], "gain of " + c["name"] + ", %")' "$OUT/lab.json"
}

# --- comparisons ---

# alarms_times: replays a recording 300 times, and compares groups of six of these runs with
# others of them, as they are and with times that were made longer.
alarms_times() {
	case_runs checked
	record_case
	into "$OUT/compile.out" "$PIANOLA" compile -o "$OUT/trace.bin" "$OUT/trace.txt"
	rm -f run*.log
	for i in $(seq -w 300); do judged into "$OUT/replay.out" "$PIANOLA" replay --root root --keep --log "run$i.log" "$OUT/trace.bin"; done
	into "$OUT/save.out" "$PIANOLA" compare --save pool.json run*.log
	alarms_of pool.json TestAlarms
}

# alarms_counts KIND: records the case beside two busy loops, 60 times as it is and 100 times
# as it makes more calls (synced) or bytes (more), and checks the counts of one run against
# those of some.
alarms_counts() {
	case_runs checked
	as_is=$command loops=
	for _ in 1 2; do
		sh -c 'while :; do :; done' &
		loops="$loops $!"
	done
	for i in $(seq -w 100); do
		for kind in as_is "$1"; do
			[ $kind != as_is ] || [ "$i" -le 60 ] || continue
			eval "command=\$$kind"
			record_case
			mv "$OUT/trace.txt" "$kind-$i.txt"
		done
	done
	kill $loops
	for kind in as_is "$1"; do
		into "$OUT/save.out" "$PIANOLA" compare --save "$kind.json" "$kind"-*.txt
		rm "$kind"-*.txt
	done
	alarms_of . TestCounts
}

# alarms_pairs: six recordings of dd in turn with six that read 5 % more, and with six that
# don't, 20 times. A check says which group takes longer.
alarms_pairs() {
	one() { into "$OUT/run.out" "$PIANOLA" record -o "$1" -- dd if=/dev/zero of=/dev/null bs=1M count="$2"; }
	found=0 alarms=0
	for group in $(seq 20); do
		for i in $(seq 6); do
			one "first-$i.txt" 4000
			one "same-$i.txt" 4000
			one "longer-$i.txt" 4200
		done
		for kind in same longer; do
			judged "$PIANOLA" compare --json --fail-if 'run_time > +0%' first-*.txt -- $kind-*.txt >"$OUT/$kind.json"
		done
		! grep -q '"state": "failed"' "$OUT/longer.json" || found=$((found + 1))
		! grep -q '"state": "failed"' "$OUT/same.json" || alarms=$((alarms + 1))
		for i in $(seq 6); do awk '/^# elapsed:/ { print $3 }' "first-$i.txt"; done | sort -g >"times-$group"
	done
	note $found found of 20 groups that take 5 % longer
	note $alarms false alarms of 20 equal groups
	note "$(for t in times-*; do awk '{ v[NR] = $1 } END { print 100 * (v[6] - v[1]) / v[3] }' "$t"; done | sort -g | sed -n 10p) spread of six runs, %"
}

# alarms_of POOL TEST: the figures of a test of the package baseline about runs that were saved.
alarms_of() {
	tests_of baseline
	PIANOLA_ALARMS=$(pwd)/$1 into "$OUT/alarms.out" "$program" -test.run "^$2\$"
	sed -n 's/^note //p' "$OUT/alarms.out" >>"$FIGURES"
}

# --- changed programs (docs/internals/lab.md) ---

# loads PROGRAM…: builds programs of scripts/load.
loads() { for program; do cc -O2 -static -pthread -o "$program" "$TOP/scripts/load/$program.c"; done; }

# at_disk COMMAND…: runs it where the file of the row is: on the slow disk, if there is one.
at_disk() {
	stride=$(pwd)/stride
	[ ! -d slow ] || cd slow
	rm -rf root.*
	"$@"
}

# strides AHEAD READS: the program that seeks, reads and computes, with reads announced.
strides() {
	"$stride" cold file
	took=$("$stride" run file "$2" 10 "$1")
	note "${took% *} read, s"
	note "${took#* } run time, s"
}

# process_of FILE: makes one.bin of the process whose descriptor is of that file.
process_of() {
	"$PIANOLA" compile -q -o one.bin --filter "process == $(awk -v f="$1" 'index($0, f) && / open/ { print $1; exit }' "$OUT/trace.txt")" "$OUT/trace.txt"
}

# engine_alone: a replay without its I/O and its compute, as a part of the recorded run time.
engine_alone() {
	judged "$PIANOLA" replay --backend null --timing afap --json "$OUT/trace.txt" >"$OUT/replay.json"
	note "$(figure elapsed_seconds "$OUT/replay.json") run time, s"
}

# no_checkpoints: removes the files of the sides before. If they stay, later sides are slower, and the image fills up.
no_checkpoints() {
	rm -rf app/* root.*
	sync -f app
}

# checkpoints BUFFER FILES: the program that writes checkpoints, through a buffer.
checkpoints() {
	no_checkpoints
	took=$(./checkpoint app/file "$1" "$2")
	note "${took%% *} writes"
	took=${took#* }
	note "${took% *} write, s"
	note "${took#* } run time, s"
}

# ranks_of TRACE: replays one of the traces.
ranks_of() {
	judged "$PIANOLA" replay --json --log replay.log --root "root.$(date +%s%N)" "$1.bin" >"$OUT/replay.json"
	answered
	"$PIANOLA" profile --json replay.log >"$OUT/profile.json"
	note "$(stat -c %s "$1.bin") bytes of trace"
	told 'print(sum(c["bytes"] for c in p["classes"] if c["name"] == "write") / 1e6, "MB written")' "$OUT/profile.json"
}

# --- HDF5 in memory (scripts/hdf5-vol.sh) ---

# vol KIND COMMAND…: runs it with HDF5 1.14 on native files, the core driver, or the
# connector, which writes its files or not.
vol() {
	vol=$TOP/demo/hdf5-vol kind=$1
	[ -d "$vol/plain" ] || left_out "the connector is not built (ONLY= make hdf5-vol)"
	shift
	case $kind in
	native) "$@" ;;
	core) (export HDF5_DRIVER=core; "$@") ;;
	connector) (export HDF5_PLUGIN_PATH="$vol/plain" HDF5_VOL_CONNECTOR=memvol; "$@") ;;
	written) (export HDF5_PLUGIN_PATH="$vol/plain" HDF5_VOL_CONNECTOR='memvol write=native'; "$@") ;;
	esac
}
vol_runs() { # KIND SIZE
	rm -f app.h5
	vol "$1" clocks "$TOP/demo/hdf5-vol/bin/datasets" app.h5 "$2" 300
}

# vol_bench RUNS LARGE: the time of a write, a read and a whole file, of each size and kind.
vol_bench() {
	vol connector into "$OUT/bench.out" "$TOP/demo/hdf5-vol/bin/bench" . "$1" "$2"
	# Columns of 13: the size, the operation and the way. The median is the first number.
	awk 'NR > 1 {
		label = substr($0, 27, 13) substr($0, 1, 13) substr($0, 14, 13)
		gsub(/  +/, " ", label)
		$0 = substr($0, 40)
		print $1, label ", µs"
	}' "$OUT/bench.out" | sed 's/ , µs/, µs/' >>"$FIGURES"
}

# vol_samples WAY RUNS SIZE WHAT: notes how long so many writes or reads take in one way.
vol_samples() {
	vol connector into "$OUT/bench.out" "$TOP/demo/hdf5-vol/bin/bench" samples . "$2" "$3" "$1"
	awk -v k="$([ "$4" = write ] && echo 1 || echo 2)" '{ print $k }' "$OUT/bench.out" >"$SAMPLES"
	note "$(sort -g "$SAMPLES" | sed -n "$((($2 + 1) / 2))p") a call, µs"
}

# thousands COMMAND…: notes the nanoseconds of a command, which are means of a thousand each.
thousands() {
	"$@" >"$SAMPLES"
	note "$(sort -g "$SAMPLES" | sed -n 500p) a command, ns"
}
# of_log FILE: those of a log, from the start of each thousandth read to that of the next.
of_log() { "$PIANOLA" convert --format csv "$1" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	$column["op"] == "pread64" && n++ % 1000 == 0 { t = $column["start"]; if (n > 1) printf "%.3f\n", (t - last) * 1e6; last = t }'; }
of_replay() {
	judged "$PIANOLA" replay $place --timing afap --log "$OUT/replay.log" "$@" reads.bin >replay.out
	of_log "$OUT/replay.log"
}

# hdf5_calls FILE: the median call of each kind, and the time of all.
hdf5_calls() {
	awk '
		match($0, / hdf5:[A-Za-z0-9]*/) {
			name = substr($0, RSTART + 6, RLENGTH - 6)
			match($0, /<[0-9.]+> [{]/)
			print name, substr($0, RSTART + 1, RLENGTH - 4)
		}' "$1" | sort -k 1,1 -k 2,2g | awk '
		{ all += $2; v[$1, ++n[$1]] = $2 }
		END { for (k = split("H5Dwrite H5Dread", names, " "); k > 0; k--) print v[names[k], int((n[names[k]] + 1) / 2)] * 1e6, names[k] ", µs"; print all * 1e3, "all, ms" }' >>"$FIGURES"
}
plays() { # KIND
	vol "$1" "$PIANOLA" replay -q --play-layer hdf5 --timing afap --backend "exec:$TOP/demo/hdf5-vol/bin/player" --log calls.log "$OUT/trace.bin" >"$OUT/replay.out"
	hdf5_calls calls.log
}

# --- order ---

# program_of NAME: makes run.sh, whose processes and threads depend on one another.
program_of() {
	case $1 in
	flock)
		echo 0 >c
		cat >run.sh <<-'S'
			for p in 1 2 3; do
				(for i in 1 2 3 4 5 6; do flock c sh -c 'read x <c; echo 1 >>c'; done) &
			done
			wait
		S
		;;
	sqlite3)
		sqlite3 app.db 'create table t(p, i); create index o on t(i)'
		cat >run.sh <<-'S'
			for p in 1 2 3; do
				(for i in $(seq 40); do echo "insert into t values($p, $i); select count(*), max(i) from t;"; done) >$p.sql
				sqlite3 -cmd '.timeout 20000' app.db <$p.sql >$p.out &
			done
			wait
		S
		;;
	ripgrep)
		tree text 3000
		echo 'rg -j4 -c "7[0-9]*3 some" text >found' >run.sh
		;;
	threads)
		cc -O2 -pthread -o opens "$TOP/scripts/load/opens.c"
		head -c 4096 /dev/urandom >file
		echo './opens file 4 5000' >run.sh
		;;
	esac
}
