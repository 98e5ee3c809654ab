#!/bin/sh
# storage.sh DIR [APP…]: what a recording is worth on other storage. Records each
# application once, in DIR, from files that are not in the page cache, and then
#
#   - replays it, with --strict, on ext4, xfs and btrfs in images below DIR, and
#     on tmpfs: are all results the recorded ones?
#   - runs it, and replays its recording, ROUNDS times in turn on a device that
#     the kernel slows down: how far is the run time of the replay from that of
#     the application there, and how far is the recorded one?
#
# The application's run time there is not known to the replay in any way. Needs
# root. PIANOLA is the program to be tried, bin/pianola by default.
# docs/fidelity.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-5}
# limits APP: what the slow device does in a second, in bytes and requests, so
# that the application takes clearly longer: gcc reads little, python3 syncs once.
limits() {
	case $1 in
	sqlite3) echo "rbps=104857600 wbps=104857600 riops=5000 wiops=5000" ;;
	gcc) echo "rbps=20971520 wbps=10485760 riops=10 wiops=1500" ;;
	python3) echo "rbps=20971520 wbps=1048576 riops=1500 wiops=1500" ;;
	*) echo "rbps=20971520 wbps=10485760 riops=1500 wiops=1500" ;;
	esac
}
# timing APP: the clients of the server send at their times, however long the
# server takes (pgbench -R).
timing() { case $1 in postgres) echo schedule ;; *) echo compute ;; esac; }
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
[ $# -gt 0 ] || set -- $all
known "$@"
[ "$(id -u)" = 0 ] || fail 1 "only root can mount and slow down a device"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # where nobody has settings

# --- a file system in an image, with no page cache below it, and its throttle ---

# put_up FS: a new file system at $dir/mnt. Its loop device goes when it is
# unmounted.
put_up() {
	mkdir -p "$dir/mnt"
	if [ $1 = tmpfs ]; then
		mount -t tmpfs tmpfs "$dir/mnt"
		return
	fi
	rm -f "$dir/image"
	truncate -s 4G "$dir/image"
	case $1 in
	ext4) mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$dir/image" ;;
	*) mkfs.$1 -q "$dir/image" >/dev/null ;;
	esac
	device=$(losetup --direct-io=on --find --show "$dir/image")
	mount -t $1 "$device" "$dir/mnt" || { losetup -d "$device"; return 1; }
	losetup -d "$device"
}
take_down() {
	mountpoint -q "$dir/mnt" 2>/dev/null || return 0
	umount "$dir/mnt"
	rm -f "$dir/image"
}

# throttle LIMITS: what the device may do from now on. With cgroups of version 1
# the limits are those of the root group, which are met by what writes back and
# by the journal as well. Version 2 has no limits there, so that a journal
# is only slowed as far as it is the writer's.
v1=/sys/fs/cgroup/blkio
v2=/sys/fs/cgroup
throttle() {
	number=$(lsblk -dnro MAJ:MIN "$device")
	if [ -e $v1/blkio.throttle.read_bps_device ]; then
		for limit in $1; do
			case $limit in
			rbps=*) file=read_bps ;;
			wbps=*) file=write_bps ;;
			riops=*) file=read_iops ;;
			wiops=*) file=write_iops ;;
			esac
			value=${limit#*=}
			[ "$value" != max ] || value=0
			echo "$number $value" >$v1/blkio.throttle.${file}_device
		done
	else
		echo "$number $1" >$v2/pianola-storage/io.max
	fi
}
release() { throttle "rbps=max wbps=max riops=max wiops=max"; }

# enter makes the limits hold for this script and all that it starts.
enter() {
	if [ -e $v1/blkio.throttle.read_bps_device ]; then
		home=$v1$(sed -n 's/^[0-9]*:blkio://p' /proc/self/cgroup)
		echo $$ >$v1/cgroup.procs
	elif grep -qw io $v2/cgroup.controllers 2>/dev/null; then
		home=$v2$(sed -n 's/^0:://p' /proc/self/cgroup)
		echo "+io +memory" >$v2/cgroup.subtree_control
		mkdir -p $v2/pianola-storage
		echo $$ >$v2/pianola-storage/cgroup.procs
	else
		fail 1 "no cgroup can slow a device down: neither blkio of version 1 nor io of version 2 is here"
	fi
}

tidy() {
	cd "$dir"
	[ -z "${slow-}" ] || release || :
	take_down || :
	if [ -n "${home-}" ]; then
		echo $$ >"$home/cgroup.procs" || :
		[ ! -d $v2/pianola-storage ] || rmdir $v2/pianola-storage || :
	fi
	rm -rf "$dir"/*/app "$dir/image" "$dir/mnt"
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

# fresh APP: what a run begins with. What the last one left is put aside: ext4
# looks at the inodes that were removed within the last minutes when it makes a
# file.
aside=0
fresh() {
	[ ! -e work ] || mv work "left$((aside += 1))"
	fresh_$1
	cold
}
recorded() { "$pianola" record ${user:+--user "$user"} -o ../trace.txt -- "$@"; }

# note APP WHAT NUMBER: a line of the file that the tables are made of.
note() { echo "$@" >>"$dir/figures"; }

# replayed APP WHERE FILE: what the document of a replay says.
replayed() { for what in executed failed differed elapsed_seconds; do note $1 $2 $what "$(figure $what "$3")"; done; }

# record APP: its recording, compiled.
record() {
	rm -rf "$dir/$1"
	mkdir -p "$dir/$1/app"
	cd "$dir/$1/app"
	export TMPDIR="$dir/$1/app" # its temporary files are on the same device, too
	user=
	seed_$1
	users="${users-} $1=$user"
	fresh $1
	into ../run.out run_$1 plain # warms up the programs
	fresh $1
	into ../run.out run_$1 recorded
	cd ..
	note $1 recorded "$(awk '/^# elapsed:/ { print $3 }' trace.txt)"
	into compile.out "$pianola" compile --report report.txt -o trace.bin trace.txt
}

# elsewhere FS APP: its replay on a file system.
elsewhere() {
	cd "$dir/$2"
	"$pianola" replay --root "$dir/mnt/root" --strict --json trace.bin >$1.json || [ $? = 1 ]
	replayed $2 $1 $1.json
}

# slowed APP: it and its replay in turn on the slow device.
slowed() {
	cd "$dir/$1/app"
	rm -rf work left*
	cp -a "$dir/$1/app" "$dir/mnt/$1"
	cd "$dir/mnt/$1"
	export TMPDIR="$dir/mnt/$1"
	user=$(echo "$users" | tr ' ' '\n' | sed -n "s/^$1=//p")
	for i in $(seq "$rounds"); do
		fresh $1
		throttle "$(limits $1)"
		a=$(now)
		into "$dir/$1/run.out" run_$1 plain
		b=$(now)
		release
		note $1 application "$(echo "$a $b" | awk '{ print $2 - $1 }')"
		sync -f .
		# The page cache is set before the throttle is, which would keep what was
		# asked for on the way, and have it spoil the first events.
		"$pianola" replay --prepare only --root root$i "$dir/$1/trace.bin" >/dev/null
		throttle "$(limits $1)"
		"$pianola" replay --timing "$(timing $1)" --prepare never --cache asis --root root$i --keep --json --log "$dir/$1/slow$i.log" "$dir/$1/trace.bin" >"$dir/$1/slow$i.json" || [ $? = 1 ]
		release
		replayed $1 slow "$dir/$1/slow$i.json"
		sync -f .
	done
	cd "$dir"
	rm -rf "$dir/mnt/$1"
}

# --- all of them ---
: >"$dir/figures"
apps=
for app in "$@"; do
	here $app || continue
	at "$app: recording"
	record $app
	apps="$apps $app"
done
for fs in ext4 xfs btrfs tmpfs; do
	at "$fs"
	put_up $fs
	for app in $apps; do
		at "$app on $fs"
		elsewhere $fs $app
	done
	cd "$dir"
	take_down
done
at "the slow device"
enter
put_up ext4
slow=1
for app in $apps; do
	at "$app on the slow device"
	slowed $app
done
at "the tables"

awk "$medians"'
	function off(a, b) { return a > b ? a / b - 1 : 1 - a / b }
	END {
		count = split(apps, app, " ")
		systems = split("ext4 xfs btrfs tmpfs", fs, " ")
		print "\nThe recordings replayed on other file systems: failed and differing events, run time"
		printf "%10s%8s%11s", "", "events", "recorded"
		for (i = 1; i <= systems; i++) printf "%17s", fs[i]
		print ""
		for (k = 1; k <= count; k++) {
			printf "%-10s%8.0f%9.3f s", app[k], sorted(app[k], fs[1] " executed"), sorted(app[k], "recorded")
			for (i = 1; i <= systems; i++)
				printf "%5.0f%4.0f%6.2f s", sorted(app[k], fs[i] " failed"), sorted(app[k], fs[i] " differed"), sorted(app[k], fs[i] " elapsed_seconds")
			print ""
		}
		print "\nOn the slow device: medians, and how far each prediction is from the application there"
		printf "%10s%12s%10s%10s%12s%14s  differing   rounds of application; of replay\n", "", "application", "replay", "recorded", "replay off", "recorded off"
		for (k = 1; k <= count; k++) {
			there = sorted(app[k], "application"); rounds = each
			replay = sorted(app[k], "slow elapsed_seconds"); rounds = rounds "; " each
			recorded = sorted(app[k], "recorded")
			sorted(app[k], "slow differed")
			printf "%-10s%10.3f s%8.3f s%8.3f s", app[k], there, replay, recorded
			printf "%11.1f%%%13.1f%%%10.0f    %s\n", (replay / there - 1) * 100, (recorded / there - 1) * 100, high, rounds
			by_replay += off(replay, there); by_record += off(recorded, there)
		}
		if (count) printf "mean error: %.1f%% by replay, %.1f%% by taking the recorded run time\n", by_replay / count * 100, by_record / count * 100
	}' apps="$apps" "$dir/figures"
