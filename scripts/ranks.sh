#!/bin/sh
# ranks.sh DIR [KIND…]: parallel programs of MPI, recorded on two nodes that are this
# machine, merged and replayed. Each kind of scripts/load/mpi.c runs ROUNDS times (5)
# with RANKS ranks (4), STEPS steps (100) and MICROSECONDS of work in a step (20000): as it
# is, recorded, replayed, and replayed without the edges of MPI, in turn. Prints medians of the
# time from the start of the first rank to the end of the last, and what the last round says of
# messages, clocks and memory. Needs the rights to record. PIANOLA is the program to be tried,
# bin/pianola by default.
# docs/internals/ranks.md has figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-5} ranks=${RANKS-4} steps=${STEPS-100} work=${MICROSECONDS-20000} dir=$1
shift
[ $# -gt 0 ] || set -- collective each pipeline metadata
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(cd "$(dirname "$0")/.." && pwd)
for program in mpicc mpiexec; do
	has $program || fail 2 "$program is not here"
done
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C
into build.out mpicc -O2 -I"$source/scripts/load" -o mpi "$source/scripts/load/mpi.c"

# run KIND WAY COMMAND…: runs the program on two nodes through a command, in a new directory.
run() {
	kind=$1 way=$2
	shift 2
	rm -rf "$dir/files"
	mkdir "$dir/files"
	at "$kind, $way"
	half=$(((ranks + 1) / 2))
	into "$kind.$way.out" mpiexec -launcher fork -hosts n1:$half,n2:$half -n "$ranks" "$@" "$dir/mpi" "$kind" "$dir/files/out" "$steps" "$work"
}

# replay KIND WAY OPTION…: compiles the recording, replays it, and notes the run times.
replay() {
	kind=$1 way=$2
	shift 2
	at "$kind, compile, $way"
	into compile.out /usr/bin/time -f 'memory %M' "$pianola" compile -o "$kind.$way.bin" --report "$kind.$way.report" "$@" "$kind"
	rm -rf root
	at "$kind, replay, $way"
	judged "$pianola" replay --root root --json "$kind.$way.bin" >"$kind.$way.json" 2>replay.out
	echo "$kind $way $(figure elapsed_seconds "$kind.$way.json")" >>seconds
}

: >seconds
for round in $(seq "$rounds"); do
	for kind; do
		rm -f ended
		run "$kind" application /usr/bin/time -a -o "$dir/ended" -f %e
		echo "$kind application $(sort -n ended | tail -n 1)" >>seconds
		rm -rf "$kind"
		run "$kind" recorded "$pianola" record --ranks --layer mpi --force -o "$dir/$kind" --
		"$pianola" profile --json "$kind" >"$kind.json"
		echo "$kind recorded $(figure run_time_seconds "$kind.json")" >>seconds
		replay "$kind" replay
		replay "$kind" alone --filter 'time >= 0s' # a filter drops the spans
	done
done
at 'the table'
printf '%-11s %13s %10s %6s %8s %6s %14s %6s\n' '' 'application s' 'recorded s' ratio 'replay s' ratio 'without MPI s' ratio
awk "$medians"'END { for (k in kinds) { a = sorted(k, "application"); c = sorted(k, "recorded"); r = sorted(k, "replay"); w = sorted(k, "alone")
	printf "%-11s %13.3f %10.3f %6.3f %8.3f %6.3f %14.3f %6.3f\n", k, a, c, c / a, r, r / a, w, w / a } } { kinds[$1] }' seconds | sort
for kind; do
	printf '\n%s: %s\n' "$kind" "$(grep '^MPI: ' "$kind.replay.report")"
	grep -h '^# clock: ' "$kind"/*.txt
	"$pianola" profile "$kind" | tail -3
done
