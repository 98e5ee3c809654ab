#!/bin/sh
# suite.sh DIR: what the suite tells of storage, in PARTS (all by default):
#
#	systems   the suite on ext4, xfs, btrfs, tmpfs and an ext4 on a slow device, in turn
#	programs  the programs of PROGRAMS there, as often, beside their replays: is the order
#	          of the file systems the same?
#	spread    the suite three times on one ext4: how much does each workload differ
#	          between them, and which can tell 5 %?
#
# All file systems but tmpfs are in images in the directory IMAGES, DIR by default; on a
# machine whose disk is uneven /dev/shm is the better place. ONLY=git,tar takes these
# workloads, RUNS=3 is the number of replays and program runs. Needs root. PIANOLA is the
# program to be tried, bin/pianola by default. docs/internals/workloads.md says how to
# read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
top=$(pwd)
pianola=${PIANOLA-$top/bin/pianola}
parts=${PARTS:-systems programs spread}
programs=${PROGRAMS-sqlite3 postgresql git}
runs=${RUNS-3}
systems="ext4 xfs btrfs tmpfs slow"
. scripts/device.sh
[ "$(id -u)" = 0 ] || fail 1 "only root can mount and slow down a device"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
tidy() {
	cd "$top"
	leave
	for system in $systems; do take_down $system || :; done
}
played() { "$pianola" suite --workloads "$top/workloads" --no-host ${ONLY:+--only "$ONLY"} --runs "$runs" "$@"; }
wants() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }

# mounted: all systems, the slow one last, since the throttle is of the last device.
mounted() {
	for system in ${systems% slow}; do
		at "$system"
		put_up $system $system
	done
	put_up ext4 slow
	enter
	throttle "rbps=41943040 wbps=20971520 riops=1500 wiops=400"
}

if wants systems || wants programs; then
	mounted
fi
if wants systems; then
	at "the suite on $systems"
	set --
	for system in $systems; do set -- "$@" --root "$system=$dir/$system"; done
	played "$@" --json --html systems.html >systems.json
	python3 "$top/scripts/suite.py" systems systems.json
fi
if wants programs; then
	: >programs
	for run in $(seq "$runs"); do
		for program in $programs; do
			for system in $systems; do
				at "$program on $system, run $run"
				taken=$(cd "$top" && PLACE=$dir/$system/place sh "workloads/$program/record.sh" plain)
				echo "$program $system $taken" >>programs
			done
			systems="${systems#* } ${systems%% *}" # in turn
		done
	done
	[ -e systems.json ] || fail 1 "no replays to set beside the programs: run the part systems first"
	python3 "$top/scripts/suite.py" programs systems.json programs
fi
if wants systems || wants programs; then
	leave
	home=
	for system in $systems; do take_down $system; done
fi
if wants spread; then
	put_up ext4 ext4
	for time in 1 2 3; do
		at "the suite, $time of 3"
		played --root "ext4=$dir/ext4" --json >spread$time.json
	done
	take_down ext4
	python3 "$top/scripts/suite.py" spread spread1.json spread2.json spread3.json
fi
