# sides.sh: what the commands of studies (studies.go) are made of, to be sourced. They
# stand in the directory of the row on the storage of the side. From measure they have
#
#	TOP PIANOLA MEASURE LOAD  the source tree, and the programs
#	DIR OUT                   where measure works, and what is kept of the row
#	START                     the directory of the row on the storage on which it began
#	FIGURES                   the file for what they note
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

# plainly: runs the program by itself.
clocked() { plain "$MEASURE" clock "$FIGURES.clock" "$@"; }
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

# recorded [OPTION…]: runs it while it is recorded.
recorded() {
	record_options=$*
	fresh_or_aside
	slowly into "$OUT/run.out" run_$app record
	note "$(awk '/^# elapsed:/ { print $3 }' "$OUT/trace.txt") run time, s"
	note "$(awk '/^# lost:/ { lost = $3 } END { print lost + 0 }' "$OUT/trace.txt") lost"
}
record() { "$PIANOLA" record $record_options ${user:+--user "$user"} -o "$OUT/trace.txt" -- "$@"; }

# compiled [OPTION…]: compiles the last recording, and notes what the trace has.
compiled() {
	into "$OUT/compile.out" "$PIANOLA" compile --report "$OUT/report" "$@" -o "$OUT/trace.bin" "$OUT/trace.txt"
	"$PIANOLA" profile --json "$OUT/trace.bin" >"$OUT/profile.json"
	account "$OUT/profile.json"
	note "$(sed -n 's/^unexplained: //p' "$OUT/report" | head -n 1)" unexplained
	note "$(figure events "$OUT/profile.json")" events
	note "$(echo "$(stat -c %s "$OUT/trace.bin") $(figure events "$OUT/profile.json")" | awk '{ print $1 / $2 }') bytes an event"
}

# account FILE: notes the run time of a profile or a replay, and that of each category.
account() {
	awk -F'[:,"]+' '
		/"run_time_seconds"/ && !seen++ { print $3 + 0, "run time, s" }
		/"categories"/ { inside = 1 }
		inside && $2 == "name" { name = $4 }
		inside && $2 == "seconds" { print $3 + 0, name ", s" }
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

# predicted CANDIDATE: what the laboratory says of a change, and of none.
predicted() {
	slowly judged "$PIANOLA" lab --runs 1 --root "root.$(date +%s%N)" --keep --json --try "$1" "$OUT/trace.txt" >"$OUT/lab.json"
	awk -F'[:,"]+' '
		$2 == "name" && /baseline/ { which = 1 }
		$2 == "candidates" { which = 2 }
		$2 == "elapsed_seconds" && which && !seen[which]++ { told[which] = $3 }
		END { print told[2], "run time, s"; print told[1], "as it is, s"; print told[2] / told[1], "share of as it is" }' "$OUT/lab.json" >>"$FIGURES"
}

# --- commands ---

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
		note "$(tr , '\n' <"$OUT/calls.out" | awk -v n="$count" '/ s$/ { print $1 * 1e9 / n / 2 }') a call, ns"
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

# beside COMMAND…: runs a command while another process is recorded. The program is
# attached, but follows that one.
beside() {
	[ -e over ] || mkfifo over
	"$PIANOLA" record -o others.txt -- sh -c 'echo >attached; read x <over' 2>others.err &
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

# transactions: of the server in this directory, which are reads from memory.
transactions() {
	clients=$(($(nproc) * 2))
	into "$OUT/pgbench.out" "$server/pgbench" -h "$(pwd)" -U postgres -n -S -c $clients -j $clients -T 5 postgres
	note "$(awk '/^tps/ { print $3 }' "$OUT/pgbench.out") transactions/s"
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
	PIANOLA_BENCH_DIR=$(pwd) into "$OUT/rings.out" "$DIR/rings.test" -test.run '^$' -test.bench "^BenchmarkRequests\$/^$1\$/^batch=$2\$" -test.benchtime 1s
	note "$(awk '$4 == "ns/op" { print 1e3 / $3; found = 1 } END { exit !found }' "$OUT/rings.out") M requests/s"
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
