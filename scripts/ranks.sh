#!/bin/sh
# ranks.sh DIR [KIND…]: parallel programs of MPI, recorded on two nodes that are this
# machine, merged and replayed. Each kind of scripts/load/mpi.c runs ROUNDS times (5)
# with RANKS ranks (4), STEPS steps (100) and MICROSECONDS of work in a step (20000): as it
# is, recorded, replayed by as many ranks, replayed by one process, and by ranks without the
# edges of MPI, in turn. Prints medians of the time from the start of the first rank to the end
# of the last, and what the last round says of messages, clocks and memory. Needs the rights to record. PIANOLA is the program to be tried,
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

# launch COMMAND…: runs a command as ranks of two nodes.
launch() {
	half=$(((ranks + 1) / 2))
	mpiexec -launcher fork -hosts n1:$half,n2:$half -n "$ranks" "$@"
}

# run KIND WAY COMMAND…: runs the program through a command, in a new directory.
run() {
	kind=$1 way=$2
	shift 2
	rm -rf "$dir/files"
	mkdir "$dir/files"
	at "$kind, $way"
	into "$kind.$way.out" launch "$@" "$dir/mpi" "$kind" "$dir/files/out" "$steps" "$work"
}

# compile KIND TRACE OPTION…
compile() {
	kind=$1 trace=$2
	shift 2
	at "$kind, compile, $trace"
	into compile.out "$pianola" compile -o "$kind.$trace.bin" --report "$kind.$trace.report" "$@" "$kind"
}

# replay KIND WAY TRACE COMMAND…: replays the trace through a command, and notes the run time.
replay() {
	kind=$1 way=$2 trace=$3
	shift 3
	rm -rf root
	at "$kind, replay, $way"
	judged "$@" --root root --strict --json "$kind.$trace.bin" >"$kind.$way.json" 2>replay.out
	echo "$kind $way $(figure elapsed_seconds "$kind.$way.json")" >>seconds
}

: >seconds
for round in $(seq "$rounds"); do
	for kind; do
		rm -f ended
		run "$kind" application /usr/bin/time -a -o "$dir/ended" -f %e
		echo "$kind application $(sort -n ended | tail -n 1)" >>seconds
		rm -rf "$kind"
		run "$kind" recorded "$pianola" record --ranks --layer mpi --slow-functions -o "$dir/$kind" --
		"$pianola" profile --json "$kind" >"$kind.json"
		echo "$kind recorded $(figure run_time_seconds "$kind.json")" >>seconds
		compile "$kind" edges
		compile "$kind" none --filter 'time >= 0s' # a filter drops the spans
		replay "$kind" ranks edges launch "$pianola" replay --ranks
		replay "$kind" one edges "$pianola" replay
		replay "$kind" without none launch "$pianola" replay --ranks
	done
done
at 'the table'
awk "$medians"'
	{ kinds[$1] }
	END {
		split("application recorded ranks one without", ways)
		printf "%-11s", ""
		for (i = 1; i <= 5; i++) printf i == 1 ? " %13s" : " %10s %6s", ways[i] " s", "ratio"
		print ""
		for (k in kinds) {
			printf "%-11s", k
			for (i = 1; i <= 5; i++) { t = sorted(k, ways[i]); if (i == 1) a = t; printf i == 1 ? " %13.3f" : " %10.3f %6.3f", t, t / a }
			print ""
		}
	}' seconds
for kind; do
	printf '\n%s: %s\n' "$kind" "$(grep '^MPI: ' "$kind.edges.report")"
	grep -h '^# clock: ' "$kind"/*.txt
	"$pianola" profile "$kind" | tail -3
done
