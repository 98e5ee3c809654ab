#!/bin/sh
# order.sh DIR [PROGRAM…]: is the order of threads and processes the recorded
# one? Records programs that take locks, share descriptors and read what others
# write, in DIR, and replays each recording ROUNDS times, 20 by default. The
# table says how many results differed in all these replays and at most in one,
# and the ratio of run times of replay and application. Exits with 1 if a result
# differed. PIANOLA is the program to be tried, bin/pianola by default.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-20}
programs="flock1 flock2 flock3 flock4 sqlite3 ripgrep threads"
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
load=$(pwd)/scripts/load
. scripts/apps.sh
[ $# -gt 0 ] || set -- $programs
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings

# A program is a function make_PROGRAM that makes, in its directory, the file
# run.sh and what that needs; options PROGRAM are those of its replays.
make_flock() {
	echo 0 >c
	cat >run.sh <<'S'
for p in 1 2 3; do
	(for i in 1 2 3 4 5 6; do flock c sh -c 'read x <c; echo 1 >>c'; done) &
done
wait
S
}
make_sqlite3() {
	sqlite3 app.db 'create table t(p, i); create index o on t(i)'
	cat >run.sh <<'S'
for p in 1 2 3; do
	(for i in $(seq 40); do echo "insert into t values($p, $i); select count(*), max(i) from t;"; done) >$p.sql
	sqlite3 -cmd '.timeout 20000' app.db <$p.sql >$p.out &
done
wait
S
}
make_ripgrep() {
	tree text 3000
	echo 'rg -j4 -c "7[0-9]*3 some" text >found' >run.sh
}
make_threads() {
	cc -O2 -pthread -o opens "$load/opens.c"
	head -c 4096 /dev/urandom >file
	echo './opens file 4 5000' >run.sh
}
options() { case $1 in threads) echo --order total ;; esac; }

here() {
	case $1 in
	flock*) has flock ;;
	ripgrep) has rg ;;
	threads) has cc ;;
	*) has "$1" ;;
	esac || { echo "$1: left out, it is not here" >&2; return 1; }
}

for program in "$@"; do
	case " $programs " in *" $program "*) ;; *) fail 2 "no program $program; there are: $programs" ;; esac
done
: >figures
for program in "$@"; do
	here "$program" || continue
	at "$program: its files"
	rm -rf "${dir:?}/$program"
	mkdir "$dir/$program"
	cd "$dir/$program"
	case $program in flock*) make_flock ;; *) "make_$program" ;; esac
	at "$program: recording"
	into record.out "$pianola" record -o trace.txt -- sh run.sh
	at "$program: compile"
	into compile.out "$pianola" compile --report report.txt -o trace.bin trace.txt
	for i in $(seq "$rounds"); do
		at "$program: replay $i of $rounds"
		judged "$pianola" replay --root root --keep $(options "$program") --json trace.bin >replay.json 2>replay.out
		for what in executed differed elapsed; do echo "$program $what $(figure $what replay.json)"; done >>../figures
	done
	cd ..
done
at "the table"
awk "$medians"'
	!($1 in seen) { seen[$1]; order[++count] = $1 }
	$2 == "differed" { differed[$1] += $3 }
	END {
		printf "%-9s %8s %8s %9s %9s  %s\n", "", "events", "differed", "in one", "run time", "least to greatest"
		for (k = 1; k <= count; k++) {
			p = order[k]
			events = sorted(p, "executed")
			sorted(p, "differed")
			most = high
			ratio = sorted(p, "elapsed")
			printf "%-9s %8d %8d %9d %9.3f  %.3f to %.3f\n", p, events, differed[p], most, ratio, low, high
			if (differed[p] > 0) wrong = 1
		}
		exit wrong
	}' figures || fail 1 "results differed"
