#!/bin/sh
# whatif.sh DIR [APP…]: does the laboratory tell what a change is worth? Records
# each application once, on ext4 in an image on a device with the limits LIMITS, so
# that a sync takes about a millisecond, and then there ROUNDS times in turn
#
#   - runs it, runs it without syncs by an option of its own, and runs it on tmpfs
#   - has the laboratory replay the recording as it is, with sync=none, and with
#     backend=memory
#
# The table has the medians, and the gains, the share of the run time that is
# saved, as they are and as the laboratory tells them. Needs root. device.sh says
# where the image is.
# PIANOLA is the program to be tried, bin/pianola by default. docs/internals/fidelity.md says
# how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-6}
limits=${LIMITS-rbps=209715200 wbps=209715200 riops=3000 wiops=3000}
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
. scripts/device.sh
[ $# -gt 0 ] || set -- $unsyncable
choose "$@"
for app in $apps; do
	case " $unsyncable " in
	*" $app "*) ;;
	*) fail 2 "$app can't be run without syncs; there are: $unsyncable" ;;
	esac
done
[ "$(id -u)" = 0 ] || fail 1 "only root can mount and slow down a device"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings
settle() { sync; }
tidy() {
	cd "$dir"
	leave
	take_down disk || :
	take_down memory || :
}

# run WHAT: the application, and notes how long it took.
run() {
	export TMPDIR="$(pwd)"
	at "$app: $1, round $i of $rounds"
	fresh $app
	timed $app
	note "$1" "$took"
}

# told FILE: the name and the run time of the baseline and of each candidate.
told() { awk -F'"' '$2 == "name" { name = $4 } $2 == "elapsed_seconds" && name { split($3, n, /[:, ]+/); print name, n[2]; name = "" }' "$1"; }

: >figures
done=
enter
put_up tmpfs memory
put_up ext4 disk
for app in $apps; do
	here $app || continue
	user=
	rm -rf "${dir:?}/$app"
	mkdir "$dir/$app" "$dir/disk/$app"
	cd "$dir/disk/$app"
	export TMPDIR="$dir/disk/$app"
	at "$app: its files"
	seed_$app
	cp -a "$dir/disk/$app" "$dir/memory/$app"
	throttle "$limits"
	record_warm
	for i in $(seq "$rounds"); do
		run synced
		synced=no
		run unsynced
		synced=yes
		cd "$dir/memory/$app"
		rm -rf work
		run tmpfs
		cd "$dir/disk/$app"
		at "$app: the laboratory, round $i of $rounds"
		judged "$pianola" lab --runs 1 --root root$i --keep --json --try sync=none --try backend=memory "$dir/$app/trace.txt" >"$dir/$app/lab$i.json"
		told "$dir/$app/lab$i.json" | while read -r name seconds; do note "$name" "$seconds"; done
		note floor "$(figure floor_seconds "$dir/$app/lab$i.json")"
	done
	release
	rm -rf "$dir/memory/$app"
	done="$done $app"
done
at "the table"
awk "$medians"'
	function gain(with, without) { return (1 - without / with) * 100 }
	function percent(told, real) { return real ? sprintf("%+.1f%%", (told / real - 1) * 100) : "-" }
	END {
		printf "%30s%32s%28s%28s\n", "application, seconds", "laboratory, seconds", "gain without sync, %", "gain in memory, %"
		printf "%-11s%10s%9s%9s%11s%10s%10s%8s%9s%8s%10s%9s%8s%10s\n", "", "synced", "without", "tmpfs", "baseline", "no sync", "memory", "floor", "real", "told", "off", "real", "told", "off"
		count = split(apps, app, " ")
		for (k = 1; k <= count; k++) {
			with = sorted(app[k], "synced"); without = sorted(app[k], "unsynced"); tmpfs = sorted(app[k], "tmpfs")
			base = sorted(app[k], "baseline"); none = sorted(app[k], "sync=none"); memory = sorted(app[k], "backend=memory")
			printf "%-11s%10.3f%9.3f%9.3f%11.3f%10.3f%10.3f%8.3f", app[k], with, without, tmpfs, base, none, memory, sorted(app[k], "floor")
			real = gain(with, without); told = gain(base, none)
			printf "%9.1f%8.1f%10s", real, told, percent(told, real)
			real = gain(with, tmpfs); told = gain(base, memory)
			printf "%9.1f%8.1f%10s\n", real, told, percent(told, real)
		}
	}' apps="$done" "$dir/figures"
