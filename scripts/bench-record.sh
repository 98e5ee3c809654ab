#!/bin/sh
# bench-record.sh DIR [ROUNDS]: what recording costs, beside other tracers, in
# one run: what is compared takes turns, so that all meet the same machine, and
# medians are shown. All that it makes stands in DIR. Takes root, some minutes,
# and a machine with nothing else to do. A tracer or program that is missing is
# left out.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
rounds=${2-5}
here=$(pwd)
pianola=$here/bin/pianola
sql=$here/scripts/demo.sql
rm -rf "$dir"
mkdir -p "$dir"
go build -o "$dir/load" ./scripts/load
cd "$dir"
dir=$(pwd)
export TMPDIR="$dir"
now() { date +%s%N; }
took() { # ROW COLUMN COMMAND…
	row=$1 column=$2
	shift 2
	at "$row, $column"
	a=$(now)
	into out "$@"
	note "$row" "$column" $(($(now) - a))
}
note() { # WHAT HOW NUMBER
	[ -n "$3" ] || fail 1 "$1, $2: no figure"
	echo "$1 $2 $3" >>figures
}

# bpftrace takes a path, follows by the name of the program, and needs tracefs,
# which it gets for itself alone where it isn't mounted.
through() { # ACTION COMMAND…
	action=$1 program=$(command -v "$2")
	shift 2
	cat >trace.bt <<B
tracepoint:raw_syscalls:sys_enter /comm == "${program##*/}"/ { @start[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /comm == "${program##*/}" && @start[tid]/ { $action }
B
	unshare -m sh -c '
		[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
		exec bpftrace -o bpftrace.out -c "$1" trace.bt' sh "$program $*"
}
printing() { through 'printf("%d %d %d %d\n", tid, args->id, nsecs - @start[tid], args->ret);' "$@"; }
counting() { through '@calls[args->id] = count();' "$@"; }
recorded() { "$pianola" record -o trace.txt -- "$@"; }
packed() { "$pianola" record -o trace.txt.zst -- "$@"; }
traced() { strace -f -r -T -o strace.out "$@"; }
# The program is attached, but follows another process.
others() {
	"$pianola" record -o others.txt -- sh -c 'echo >attached; read x <over' 2>others.err &
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
mkfifo over

# --- what a call costs more ---
n=300000
slow=20000 # calls where each takes many microseconds
plain() { "$@"; }
load() { # ROW HOW CALLS KIND
	at "$1, $2"
	into out "$2" "$dir/load" "$4" 1 "$3"
	note "$1" "$2" "$(awk 'NF == 2 && $1 + 0 > 0 { print $1 }' out)"
}
blocks() { # ROW HOW CALLS: dd makes two calls a block; its own clock says what they took
	at "$1, $2"
	into out "$2" dd if=/dev/zero of=/dev/null bs=1 count="$3"
	note "$1" "$2" "$(tr , '\n' <out | awk -v n="$3" '/ s$/ { print $1 * 1e9 / n / 2 }')"
}
each="plain recorded packed others"
has strace && each="$each traced"
has bpftrace && each="$each printing counting"
for i in $(seq "$rounds"); do
	for how in $each; do
		calls=$n
		case $how in traced | printing) calls=$slow ;; esac
		load pread $how $calls pread
		blocks dd $how $calls
		load unrecorded $how $calls getppid
	done
done

# --- a million events a second, for ten seconds, from two threads ---
at "a million events a second"
log=$dir/million.err
"$pianola" record -o million.txt -- ./load paced 2 1000000 10 >million.out 2>million.err &
recorder=$!
peak=0
while kill -0 $recorder 2>/dev/null; do
	v=$(awk '/VmHWM/ { print $2 }' /proc/$recorder/status 2>/dev/null || true)
	[ -n "$v" ] && peak=$v
	sleep 0.2
done
wait $recorder
echo "$peak" >million.peak

# --- run times ---
mkdir src gcc
for i in $(seq 3000); do echo "file $i" >"src/$i.txt"; done
if has git; then
	git init -q src
	git -C src add .
	git -C src -c user.name=a -c user.email=a@b commit -q -m all
fi
for i in 1 2 3 4 5 6; do
	{ echo '#include <stdio.h>'; echo '#include <stdlib.h>'; echo '#include <string.h>'; for k in $(seq 400); do echo "int f${i}_$k(int x) { return printf(\"%d\", x * $k); }"; done; } >gcc/f$i.c
done
# gcc is one recording of a whole build.
cat >build.sh <<'B'
for k in 1 2 3 4 5 6; do gcc -O1 -c -o gcc/f$k.o gcc/f$k.c || exit; done
B
app() { what=$1; shift; case $what in
	sqlite3) rm -f app.db; "$@" sqlite3 app.db ".read '$sql'" ;;
	git) rm -rf clone; "$@" git clone -q src clone ;;
	gcc) "$@" sh build.sh ;;
	fio) "$@" fio --name=a --filename=fio.dat --rw=randwrite --bs=4k --size=32m --ioengine=psync --fsync=8 --io_size=8m ;;
	esac; }
for what in sqlite3 git gcc fio; do
	has $what || continue
	at "$what: the run that warms up"
	into out app $what plain
	for i in $(seq "$rounds"); do
		took "run:$what" plain app $what plain
		took "run:$what" recorded app $what recorded
		note "elapsed:$what" recorded "$(awk '/^# elapsed/ { print $3 * 1e9 }' trace.txt)"
	done
done
for i in $(seq "$rounds"); do
	took start plain true
	took start recorded recorded true
done

# --- the tables ---
at "the tables"
awk -v lost="$(awk '/^# lost/ { $1 = $2 = ""; print }' million.txt)" -v rate="$(awk '{ print $2 }' million.out)" \
	-v peak="$(cat million.peak)" -v events="$(grep -c pread64 million.txt)" "$medians"'
function cell(what, how) { return (what, how) in all ? sprintf("%+.0f", sorted(what, how) - base[what]) : "-" }
END {
	split("pread dd unrecorded", whats, " ")
	for (i = 1; i <= 3; i++) base[whats[i]] = sorted(whats[i], "plain")
	printf "%-34s %10s %10s %18s\n", "ns a call", "pread 4 KiB", "dd bs=1", "call not recorded"
	printf "%-34s %10.0f %10.0f %18.0f\n", "nothing", base["pread"], base["dd"], base["unrecorded"]
	m = split("recorded=pianola record;packed=pianola record, compressed;others=pianola record of another process;traced=strace -f -r -T -o FILE;printing=bpftrace, printing;counting=bpftrace, counting", rows, ";")
	for (i = 1; i <= m; i++) {
		split(rows[i], r, "=")
		printf "%-34s %10s %10s %18s\n", r[2], cell("pread", r[1]), cell("dd", r[1]), cell("unrecorded", r[1])
	}
	printf "\na million events a second for ten seconds from two threads: %s a second reached, %s recorded, lost%s, peak RSS %.0f MiB\n", rate, events, lost, peak / 1024
	printf "\n%-10s %12s %20s %12s %20s %8s %12s\n", "run time", "without, s", "", "recorded, s", "", "", "command, s"
	m = split("sqlite3 git gcc fio", rows, " ")
	for (i = 1; i <= m; i++) {
		if (!(("run:" rows[i], "plain") in all)) continue
		a = sorted("run:" rows[i], "plain"); al = low; ah = high
		b = sorted("elapsed:" rows[i], "recorded"); bl = low; bh = high
		c = sorted("run:" rows[i], "recorded")
		printf "%-10s %12.3f %9.3f to %6.3f %12.3f %9.3f to %6.3f %+7.1f%% %12.3f\n", rows[i], a / 1e9, al / 1e9, ah / 1e9, b / 1e9, bl / 1e9, bh / 1e9, (b / a - 1) * 100, c / 1e9
	}
	a = sorted("start", "plain"); b = sorted("start", "recorded")
	printf "\nrecord -- true: %.0f ms more than true\n", (b - a) / 1e6
}' figures
