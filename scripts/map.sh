#!/bin/sh
# map.sh DIR [APP…]: does pianola lab --try map=GLOB=DIR tell what a database gains
# if its log is on a second, faster device? The slow device has the limits LIMITS,
# the fast one FASTLIMITS, and its image lies in the directory FAST, in memory by
# default. Each of sqlite3wal and postgres1 is
# recorded once, with all its files on the slow one, and then ROUNDS times in turn
#
#   - runs there, and with its log on the fast one: sqlite3 in a directory of that,
#     into which its database is mounted, PostgreSQL with a link for pg_wal
#   - is replayed by the laboratory as it is, and with the log mapped to the fast one
#
# The table has the medians, and how far the prediction is off. Needs root. device.sh
# says where the image of the slow device is. PIANOLA is the program to be tried,
# bin/pianola by default. docs/internals/lab.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-6}
limits=${LIMITS-rbps=209715200 wbps=209715200 riops=1000 wiops=1000}
fast_limits=${FASTLIMITS-rbps=209715200 wbps=209715200 riops=3000 wiops=3000}
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=
. scripts/apps.sh
. scripts/device.sh
[ $# -gt 0 ] || set -- sqlite3wal postgres1
[ "$(id -u)" = 0 ] || fail 1 "only root can mount and slow down a device"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
slow=$dir/slow fast=$dir/fast
export LC_ALL=C HOME="$dir" # a directory without settings
settle() { sync; }
tidy() {
	cd "$dir"
	[ -z "${fast_device-}" ] || device=$fast_device release || :
	device=${slow_device-}
	leave
	! mountpoint -q "$fast/sqlite3wal/work/app.db" || umount "$fast/sqlite3wal/work/app.db"
	take_down slow || :
	IMAGES=${FAST-/dev/shm} take_down fast || :
}

# --- sqlite3wal ---
glob_sqlite3wal='*-wal'
apart_sqlite3wal() {
	rm -rf "$fast/$app"
	mkdir -p "$fast/$app/work"
	cp wal.sql "$fast/$app"
	cd "$fast/$app"
	: >work/app.db
	mount --bind "$slow/$app/work/app.db" work/app.db
}
together_sqlite3wal() { umount "$fast/$app/work/app.db"; }

# --- postgres1: without a checkpoint before the end: its pace depends on how much of
# the log was written, and a replay keeps to the recorded pace ---
seed_postgres1() {
	seed_closed
	printf 'max_wal_size = 1GB\ncheckpoint_timeout = 1h\n' >>src/postgresql.conf
}
glob_postgres1='*/pg_wal'
apart_postgres1() {
	rm -rf "$fast/$app"
	mkdir -p "$fast/$app"
	mv work/pg_wal "$fast/$app/wal"
	ln -s "$fast/$app/wal" work/pg_wal
	chown -h postgres work/pg_wal
	chmod 755 "$dir" "$fast" "$fast/$app"
}
together_postgres1() { :; }

# run WHAT: the application, and notes how long it took.
run() {
	at "$app: $1, round $i of $rounds"
	cd "$slow/$app"
	fresh $app
	[ "$1" = together ] || apart_$app
	settle
	timed $app
	[ "$1" = together ] || together_$app
	cd "$slow/$app"
	note "$1" "$took"
}

# told FILE: the run time of the baseline, and that of the candidate.
told() { awk -F'"' '$2 == "name" { name = $4 == "baseline" ? "baseline" : "mapped" } $2 == "elapsed_seconds" && name { split($3, n, /[:, ]+/); print name, n[2]; name = "" }' "$1"; }

: >figures
enter
IMAGES=${FAST-/dev/shm} put_up ext4 fast
fast_device=$device
throttle "$fast_limits"
put_up ext4 slow
slow_device=$device
chmod 755 "$dir" "$slow" "$fast"
for app; do
	case $app in sqlite3wal | postgres1) ;; *) fail 2 "no application $app; there are: sqlite3wal, postgres1" ;; esac
	here $app || continue
	user=
	rm -rf "${dir:?}/$app"
	mkdir "$dir/$app" "$slow/$app"
	cd "$slow/$app"
	export TMPDIR="$slow/$app"
	at "$app: its files"
	seed_$app
	throttle "$limits"
	record_warm
	eval glob='$glob_'$app
	for i in $(seq "$rounds"); do
		run together
		run apart
		at "$app: the laboratory, round $i of $rounds"
		judged "$pianola" lab --runs 1 --root "$slow/root$i" --keep --json --try "map=$glob=$fast/root$i" "$dir/$app/trace.txt" >"$dir/$app/lab$i.json"
		told "$dir/$app/lab$i.json" | while read -r name seconds; do note "$name" "$seconds"; done
	done
	release
	done="${done-} $app"
done
at "the table"
awk "$medians"'
	END {
		printf "%40s%28s%20s\n", "application, seconds", "laboratory, seconds", "log apart, off"
		printf "%-12s%14s%14s%14s%14s%12s%8s\n", "", "log beside", "log apart", "as it is", "mapped", "as it is", "mapped"
		count = split(apps, app, " ")
		for (k = 1; k <= count; k++) {
			together = sorted(app[k], "together"); apart = sorted(app[k], "apart")
			base = sorted(app[k], "baseline"); mapped = sorted(app[k], "mapped")
			printf "%-12s%14.3f%14.3f%14.3f%14.3f%11.1f%%%7.1f%%\n", app[k], together, apart, base, mapped, (base / together - 1) * 100, (mapped / apart - 1) * 100
		}
	}' apps="${done-}" "$dir/figures"
