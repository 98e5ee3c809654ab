#!/bin/sh
# model.sh DIR [APP…]: what is a fitted model of a device worth? Has fio measure a
# device with the limits LIMITS by the jobs of docs/devices/device.fio, and fits a model
# to that. Then records each application once on ext4 in an image without limits, from
# files that are not in the page cache, and ROUNDS times in turn
#
#   - predicts its run time on the slow device, which the prediction never sees: by
#     replay --backend memory --model
#   - replays the recording there
#   - runs the application there
#
# The table has the medians, and how far the two are from the application. Needs
# root. device.sh says where the images are; FIO names a result of fio to be used in place
# of a new one. PIANOLA is the program to be tried, bin/pianola by default.
# docs/devices.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-6}
limits=${LIMITS-rbps=20971520 wbps=10485760 riops=1500 wiops=400}
case ${FIO-} in '' | /*) ;; *) FIO=$(pwd)/$FIO ;; esac
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
jobs=$(pwd)/docs/devices/device.fio
. scripts/apps.sh
. scripts/device.sh
[ $# -gt 0 ] || set -- sqlite3wal postgres1 rocksdb4 redis osync fio
[ "$(id -u)" = 0 ] || fail 1 "only root can mount and slow down a device"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings

# Files are on the device and not in the page cache when a run begins.
settle() {
	sync -f .
	find . -type f -exec dd if={} iflag=nocache count=0 status=none \;
}
tidy() {
	cd "$dir"
	leave
	take_down slow || :
	take_down fast || :
}

# slowly COMMAND…: runs it while the device has its limits.
slowly() {
	throttle "$limits"
	"$@"
	release
}

: >figures
enter
put_up ext4 fast
put_up ext4 slow
if [ -n "${FIO-}" ]; then
	cp "$FIO" fio.json
else
	at "fio measures the device"
	mkdir slow/fio
	cd slow/fio
	slowly into "$dir/fio.out" fio --output-format=json --output="$dir/fio.json" "$jobs"
	cd "$dir"
	rm -r slow/fio
fi
at "the model"
into model.out "$pianola" model -o model.json --fio fio.json
cat model.out
for app; do
	here $app || continue
	user=
	rm -rf "${dir:?}/$app"
	mkdir "$dir/$app" "$dir/fast/$app"
	cd "$dir/fast/$app"
	export TMPDIR="$dir/fast/$app"
	at "$app: its files"
	seed_$app
	cp -a "$dir/fast/$app" "$dir/slow/$app"
	record_warm
	note recorded "$(awk '/^# elapsed:/ { print $3 }' "$dir/$app/trace.txt")"
	cd "$dir/$app"
	into compile.out "$pianola" compile -o trace.bin trace.txt
	for i in $(seq "$rounds"); do
		at "$app: the prediction, round $i of $rounds"
		judged "$pianola" replay --backend memory --model "$dir/model.json" --json --log model$i.log trace.bin >model$i.json
		note model "$(figure elapsed_seconds model$i.json)"
		at "$app: the replay there, round $i of $rounds"
		"$pianola" replay --prepare only --root "$dir/slow/root$i" trace.bin >/dev/null
		slowly judged "$pianola" replay --prepare never --cache asis --root "$dir/slow/root$i" --keep --json --log replay$i.log trace.bin >replay$i.json
		note replay "$(figure elapsed_seconds replay$i.json)"
		cd "$dir/slow/$app"
		export TMPDIR="$dir/slow/$app"
		at "$app: the application there, round $i of $rounds"
		fresh $app
		slowly timed $app
		note application "$took"
		sync -f .
		cd "$dir/$app"
	done
	at "$app: recording on the slow device"
	cd "$dir/slow/$app"
	fresh $app
	slow_recorded() { "$pianola" record ${user:+--user "$user"} -o "$dir/$app/there.txt" -- "$@"; }
	slowly into run.out run_$app slow_recorded
	cd "$dir/$app"
	"$pianola" model --check "$dir/model.json" there.txt >check.out
	rm -rf "$dir/fast/$app" "$dir/slow/$app" "$dir/slow"/root*
	done="${done-} $app"
done
at "the tables"
for app in ${done-}; do
	echo "$app, recorded on the slow device: its calls and what the model makes of them"
	cat "$dir/$app/check.out"
done
awk "$medians"'
	function off(a, b) { return (a / b - 1) * 100 }
	END {
		printf "%-12s%14s%14s%14s%20s%14s%14s\n", "seconds", "recorded", "by the model", "replay there", "application there", "model off", "replay off"
		count = split(apps, app, " ")
		for (k = 1; k <= count; k++) {
			there = sorted(app[k], "application"); a = low; b = high
			model = sorted(app[k], "model"); replay = sorted(app[k], "replay")
			printf "%-12s%14.3f%14.3f%14.3f", app[k], sorted(app[k], "recorded"), model, replay
			printf "%20s%13.1f%%%13.1f%%\n", sprintf("%.3f (%.3f-%.3f)", there, a, b), off(model, there), off(replay, there)
		}
	}' apps="${done-}" "$dir/figures"
