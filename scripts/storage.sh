#!/bin/sh
# storage.sh DIR [APP…]: what a recording is worth on other storage. Records each
# application once, on ext4 in an image, from files that are not in the page
# cache, and then
#
#   - replays it, with --strict, on the file systems SYSTEMS in such images, which
#     are ext4, xfs, btrfs and tmpfs: are all results the recorded ones?
#   - runs it, and replays its recording, with and without order, ROUNDS times in
#     turn on a device that the kernel slows down: how far is the run time of the
#     replay from that of the application there, and how far is the recorded one?
#     It is recorded there once, which tells whether it calls sync as often.
#
# The images are in the directory IMAGES, DIR by default. On a machine whose disk
# is uneven /dev/shm is the better place. closed stands for all applications with
# closed loops (apps.sh). The
# application's run time there is not known to the replay in any way. Needs
# root. PIANOLA is the program to be tried, bin/pianola by default.
# docs/internals/fidelity.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-6}
systems=${SYSTEMS-ext4 xfs btrfs tmpfs}
# limits APP: what the slow device does in a second, in bytes and requests, so
# that the application takes clearly longer: gcc reads little, python3 syncs once.
limits() {
	case $1 in
	sqlite3) echo "rbps=104857600 wbps=104857600 riops=5000 wiops=5000" ;;
	gcc) echo "rbps=20971520 wbps=10485760 riops=10 wiops=1500" ;;
	make4) echo "rbps=20971520 wbps=10485760 riops=1500 wiops=60" ;;
	pipeline) echo "rbps=20971520 wbps=10485760 riops=1500 wiops=1000" ;;
	mariadb) echo "rbps=20971520 wbps=10485760 riops=1500 wiops=300" ;;
	rocksdb* | postgres?* | redis | sqlite3x3 | java) echo "rbps=20971520 wbps=10485760 riops=1500 wiops=400" ;;
	python3) echo "rbps=20971520 wbps=1048576 riops=1500 wiops=1500" ;;
	*) echo "rbps=20971520 wbps=10485760 riops=1500 wiops=1500" ;;
	esac
}
# options APP: of its replay. The clients of the server send at their times, however
# long the server takes (pgbench -R).
options() { case $1 in postgres) echo --timing schedule ;; postgres8out) echo --outside closed ;; esac; }
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
. scripts/device.sh
[ $# -gt 0 ] || set -- $all
choose "$@"
chosen=$apps
[ "$(id -u)" = 0 ] || fail 1 "only root can mount and slow down a device"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings

tidy() {
	cd "$dir"
	leave
	take_down mnt || :
	take_down fast || :
}

# --- one run ---

# cold drops what the page cache holds of the files below the working directory.
# What it holds of the file system itself stays, as it does before a replay.
cold() {
	sync -f .
	find . -type f -print0 | python3 -c '
import os, sys
for name in sys.stdin.buffer.read().split(b"\0")[:-1]:
    fd = os.open(name, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)'
}

settle() { cold; }
recorded() { "$pianola" record ${user:+--user "$user"} -o "$dir/$app/$trace.txt" -- "$@"; }

# note APP WHAT NUMBER: a line of the file that the tables are made of.
note() { echo "$@" >>"$dir/figures"; }

# replayed APP WHERE FILE: what the document of a replay says.
replayed() { for what in executed failed differed elapsed_seconds; do note $1 $2 $what "$(figure $what "$3")"; done; }

# record APP: its recording, compiled.
record() {
	rm -rf "${dir:?}/$1"
	mkdir "$dir/$1" "$dir/fast/$1"
	cd "$dir/fast/$1"
	export TMPDIR="$dir/fast/$1" # its temporary files are on the same device, too
	user=
	seed_$1
	users="${users-} $1=$user"
	fresh $1
	output=$dir/$1/run.out
	timed $1 # warms up the programs
	fresh $1
	trace=trace
	into "$output" run_$1 recorded
	cd "$dir/$1"
	note $1 recorded "$(awk '/^# elapsed:/ { print $3 }' trace.txt)"
	into compile.out "$pianola" compile --report report.txt -o trace.bin trace.txt
}

# elsewhere FS APP: its replay on a file system.
elsewhere() {
	cd "$dir/$2"
	judged "$pianola" replay --root "$dir/mnt/root" --strict --json trace.bin >$1.json
	replayed $2 $1 $1.json
}

# played APP WHERE ROUND [OPTION…]: its replay on the slow device.
played() {
	result=$dir/$1/$2$3 root=$2$3 name=$1 where=$2
	shift 3
	# The page cache is set before the throttle is, which would keep what was
	# asked for on the way, and have it spoil the first events.
	"$pianola" replay --prepare only --root $root "$dir/$name/trace.bin" >/dev/null
	throttle "$(limits $name)"
	judged "$pianola" replay $(options $name) "$@" --prepare never --cache asis --root $root --keep --json --log "$result.log" "$dir/$name/trace.bin" >"$result.json"
	release
	replayed $name $where "$result.json"
	sync -f .
}

# syncs FILE: how often a trace or a log calls sync.
syncs() { "$pianola" profile --format csv --by operation "$1" | awk -F, '$1 ~ /^(sync|syncfs|fsync|fdatasync)$/ { n += $3 } END { print n + 0 }'; }

# slowed APP: it and its replays, with and without order, in turn on the slow
# device; and once recorded there.
slowed() {
	cd "$dir/fast/$1"
	rm -rf work left*
	cp -a "$dir/fast/$1" "$dir/mnt/$1"
	cd "$dir/mnt/$1"
	export TMPDIR="$dir/mnt/$1"
	user=$(echo "$users" | tr ' ' '\n' | sed -n "s/^$1=//p")
	output=$dir/$1/run.out
	for i in $(seq "$rounds"); do
		fresh $1
		throttle "$(limits $1)"
		timed $1
		release
		note $1 application $took
		sync -f .
		played $1 slow $i
		played $1 free $i --order thread
	done
	fresh $1
	throttle "$(limits $1)"
	trace=there
	into "$output" run_$1 recorded
	release
	note $1 syncs there "$(syncs "$dir/$1/there.txt")"
	note $1 syncs replay "$(syncs "$dir/$1/trace.bin")"
	cd "$dir"
	rm -rf "$dir/mnt/$1"
}

# --- all of them ---
: >"$dir/figures"
apps=
put_up ext4 fast
for app in $chosen; do
	here $app || continue
	at "$app: recording"
	record $app
	apps="$apps $app"
done
for fs in $systems; do
	at "$fs"
	put_up $fs mnt
	for app in $apps; do
		at "$app on $fs"
		elsewhere $fs $app
	done
	cd "$dir"
	take_down mnt
done
at "the slow device"
enter
put_up ext4 mnt
for app in $apps; do
	at "$app on the slow device"
	slowed $app
done
at "the tables"

awk "$medians"'
	function off(a, b) { return a > b ? a / b - 1 : 1 - a / b }
	END {
		count = split(apps, app, " ")
		systems = split(names, fs, " ")
		if (systems) print "\nThe recordings replayed on other file systems: failed and differing events, run time"
		if (systems) printf "%12s%8s%11s", "", "events", "recorded"
		for (i = 1; i <= systems; i++) printf "%17s", fs[i]
		print ""
		for (k = 1; systems && k <= count; k++) {
			printf "%-12s%8.0f%9.3f s", app[k], sorted(app[k], fs[1] " executed"), sorted(app[k], "recorded")
			for (i = 1; i <= systems; i++)
				printf "%5.0f%4.0f%6.2f s", sorted(app[k], fs[i] " failed"), sorted(app[k], fs[i] " differed"), sorted(app[k], fs[i] " elapsed_seconds")
			print ""
		}
		print "\nOn the slow device: medians; least and greatest of the application; how far each prediction is from its median"
		printf "%12s%12s%20s%10s%10s%12s%14s%14s%11s%9s%11s\n", "", "application", "its spread", "replay", "recorded", "replay off", "no order off", "recorded off", "differing", "syncs", "in replay"
		for (k = 1; k <= count; k++) {
			there = sorted(app[k], "application"); a = low; b = high; rounds = each
			replay = sorted(app[k], "slow elapsed_seconds"); rounds = rounds "; " each
			free = sorted(app[k], "free elapsed_seconds"); rounds = rounds "; " each
			recorded = sorted(app[k], "recorded")
			sorted(app[k], "slow differed")
			printf "%-12s%10.3f s%8.1f%% to%6.1f%%%8.3f s%8.3f s", app[k], there, (a / there - 1) * 100, (b / there - 1) * 100, replay, recorded
			printf "%11.1f%%%13.1f%%%13.1f%%%11.0f", (replay / there - 1) * 100, (free / there - 1) * 100, (recorded / there - 1) * 100, high
			printf "%9.0f%11.0f\n", sorted(app[k], "syncs there"), sorted(app[k], "syncs replay")
			all_rounds = all_rounds sprintf("%-12s%s\n", app[k], rounds)
			by_replay += off(replay, there); by_free += off(free, there); by_record += off(recorded, there)
		}
		if (count) printf "mean error: %.1f%% by replay, %.1f%% without order, %.1f%% by taking the recorded run time\n", by_replay / count * 100, by_free / count * 100, by_record / count * 100
		printf "\nThe rounds of application; of replay; of replay without order\n%s", all_rounds
	}' apps="$apps" names="$systems" "$dir/figures"
