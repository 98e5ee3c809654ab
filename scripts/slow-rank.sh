#!/bin/sh
# slow-rank.sh DIR [KIND…]: what a replay tells of a parallel program one of whose ranks gets
# slower storage. Each of four ranks of scripts/load/mpi.c has a disk of its own, a write to
# which takes WRITE milliseconds (1). The program is recorded there. Then that of rank SLOW (1)
# takes ten times as long, and program, replay by four ranks, and such a replay without the
# edges of MPI run ROUNDS times (5) in turn. Prints medians in seconds.
#
# The kinds are each, pipeline and metadata, as collective writes a file of all ranks, with
# STEPS steps (300) and MICROSECONDS of work in a step (5000). The disks are files in
# the directory IMAGES, DIR by default; /dev/shm is the better place. Needs root. PIANOLA is
# the program to be tried. docs/internals/ranks.md has figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-5} steps=${STEPS-300} work=${MICROSECONDS-5000} write=${WRITE-1} slow=${SLOW-1} dir=$1
shift
[ $# -gt 0 ] || set -- each pipeline metadata
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(cd "$(dirname "$0")/.." && pwd)
. scripts/slowdisk.sh
for program in mpicc mpiexec; do
	has $program || fail 2 "$program is not here"
done
[ "$(id -u)" = 0 ] || fail 1 "only root can mount a disk"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C
into build.out mpicc -O2 -I"$source/scripts/load" -o mpi "$source/scripts/load/mpi.c"

cc -O2 -static -pthread -o slowdisk "$source/scripts/load/slowdisk.c"

tidy() {
	cd "$dir"
	for rank in 0 1 2 3; do take_down_disk $rank || :; done
}

# clean empties the disks.
clean() {
	find 0 1 2 3 -mindepth 1 -not -name lost+found -delete
	sync -f 0 1 2 3
}

# run KIND OUT COMMAND…: runs the program through a command.
run() {
	kind=$1 out=$2
	shift 2
	clean
	into "$out" mpiexec -n 4 "$@" "$dir/mpi" "$kind" "$dir" "$steps" "$work"
}

# replay KIND WAY: replays a trace on the disks.
replay() {
	clean
	rm -rf root
	set -- "$1" "$2"
	for rank in 0 1 2 3; do
		set -- "$@" --map "$dir/$rank*=$dir/$rank/root"
	done
	trace=$1.$2.bin
	at "$1, replay, $2"
	shift 2
	judged mpiexec -n 4 "$pianola" replay --ranks --root root --strict "$@" --json "$trace" >replay.json 2>replay.out
	figure elapsed_seconds replay.json
}

# disks MILLISECONDS: gives the ranks new disks, the slow one with that access time.
disks() {
	at 'the disks'
	for rank in 0 1 2 3; do
		take_down_disk $rank
		each=$write
		[ $rank != "$slow" ] || each=$1
		put_up_disk $rank 0 "$each" 1G
	done
}

: >seconds
for kind; do
	disks "$write"
	at "$kind, recording"
	rm -rf "$kind"
	run "$kind" record.out "$pianola" record --ranks --layer mpi --slow-functions -o "$dir/$kind" --
	into compile.out "$pianola" compile -o "$kind.edges.bin" --report "$kind.report" "$kind"
	into compile.out "$pianola" compile -o "$kind.none.bin" --filter 'time >= 0s' "$kind" # a filter drops the spans
	for speed in fast slow; do
		[ $speed = fast ] || disks "$(awk "BEGIN { print 10 * $write }")"
		for round in $(seq "$rounds"); do
			at "$kind, the program, $speed"
			rm -f ended
			run "$kind" run.out /usr/bin/time -a -o "$dir/ended" -f %e
			echo "$kind $speed application $(sort -n ended | tail -n 1)" >>seconds
			echo "$kind $speed edges $(replay "$kind" edges)" >>seconds
			echo "$kind $speed none $(replay "$kind" none)" >>seconds
		done
	done
done
at 'the table'
printf '%-9s %-5s %13s %8s %6s %15s %6s\n' '' '' 'application s' 'replay s' ratio 'without edges s' ratio
awk "$medians"'END { for (k in kinds) for (i = 1; i <= 2; i++) { s = i == 1 ? "fast" : "slow"
	a = sorted(k, s " application"); r = sorted(k, s " edges"); w = sorted(k, s " none")
	printf "%-9s %-5s %13.3f %8.3f %6.3f %15.3f %6.3f\n", k, s, a, r, r / a, w, w / a } } { kinds[$1] }' seconds | sort
