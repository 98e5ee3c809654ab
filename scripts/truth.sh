#!/bin/sh
# truth.sh DIR [APP…]: how true is a replay? Takes each application five times in
# turn through a run without a recorder, a recorded run, compile, and a replay with
# and without order, so that all meet the same machine, and shows medians. Each run
# starts from the same files. closed stands for all with closed loops (apps.sh).
#
# The file system that is measured is that of DIR, or where IMAGES is set, which
# takes root, a new ext4 in an image in the directory IMAGES, in which nothing else
# happens: then it also shows the bytes that reach its device. PIANOLA is the
# program to be tried, bin/pianola by default. docs/internals/fidelity.md says how to read
# the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-5}
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
. scripts/device.sh
[ $# -gt 0 ] || set -- $all
choose "$@"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings
recorded() { "$pianola" record ${user:+--user "$user"} -o "$out/trace$i.txt" -- "$@"; }

settle() { sync -f .; }
tidy() {
	cd "$dir"
	rm -rf ./*/work ./*/left* ./*/root* ./*/free*
	[ -z "${IMAGES-}" ] || take_down mnt
}

# note WHAT NUMBER: of a round.
note() { echo "$1 of $2" >>"$out/figures"; }

# counted WHAT COMMAND…: runs the command, and notes the megabytes that it read from
# the device and wrote to it, with what was still to be written at its end.
counted() {
	what=$1
	shift
	before=$(moved)
	"$@"
	settle
	[ -z "$before" ] || echo "$before $(moved)" |
		awk -v what="$what" '{ printf "%s_read of %.6f\n%s_written of %.6f\n", what, ($3 - $1) / 1e6, what, ($4 - $2) / 1e6 }' >>"$out/figures"
}
moved() { [ -z "${IMAGES-}" ] || bytes; }

# replay ROOT OPTION…: replays the recording of the round. Its files are made before,
# so that what that writes does not count.
replay() {
	"$pianola" replay --prepare only --root $1 "$out/trace$i.bin" >/dev/null
	settle
	root=$1
	shift
	counted ${root%$i} judged "$pianola" replay "$@" --prepare never --cache asis --root $root --keep --json "$out/trace$i.bin" >"$out/$root.json"
}

# tell APP: the medians of its rounds.
tell() {
	compared $rounds total read write sync metadata elapsed >table
	awk "$medians"'
		function median(what) { return sorted(what, "of") }
		function most(what) { sorted(what, "of"); return high }
		function row(name, plain, replay) { return sprintf("%-10s %13.3f %10.3f %7s  ", name, plain, replay, plain > 0 ? sprintf("%.3f", replay / plain) : "-") }
		END {
			plain = median("plain")
			printf "\n%s: run time %.3f s plain (%.3f to %.3f), %.3f s recorded, ", app, plain, low, high, median("recorded")
			printf "%.3f s compiled, %.3f s replayed\n", compiled, replayed
			printf "%.0f events, %d failed, %d differed, %d unexplained; ", median("executed"), most("failed"), most("differed"), most("unexplained")
			printf "waited for order %.3f s, late decodes %.0f\n", median("order_wait_seconds"), median("late_decodes")
			free = median("free")
			printf "%-10s %13s %10s %7s\n", "", "plain", "replay", "ratio"
			print row("s", plain, replayed)
			print row("unordered", plain, free)
			summary = sprintf("%-12s%9.3f s%9.3f s%9.3f s%8.1f%%%11.1f%%", app, plain, median("recorded"), replayed, (replayed / plain - 1) * 100, (free / plain - 1) * 100)
			if (("plain_read", "of") in all) {
				print row("MB read", r = median("plain_read"), s = median("root_read"))
				print row("MB written", w = median("plain_written"), x = median("root_written"))
				summary = summary sprintf("%9.1f%9.1f%9.1f%9.1f", r, s, w, x)
			}
			print summary >>summaries
		}' app="$1" summaries="$dir/summary" $(awk '$1 == "elapsed" { print "compiled=" $2, "replayed=" $3 }' table) figures
	cat table
}

if [ -n "${IMAGES-}" ]; then
	[ "$(id -u)" = 0 ] || fail 1 "only root can mount an image"
	at "the image"
	put_up ext4 mnt
fi
printf '%-12s%11s%11s%11s%9s%12s%s\n' '' plain recorded replay off unordered "${IMAGES:+  MB read   replay  written   replay}" >summary
for app in $apps; do
	here $app || continue
	user=
	out=$dir/$app
	rm -rf "$out"
	mkdir "$out"
	output=$out/run.out
	place=$out
	if [ -n "${IMAGES-}" ]; then
		place=$dir/mnt/$app
		mkdir "$place"
		export TMPDIR="$place" # temporary files are on the device, too
	fi
	cd "$place"
	at "$app: its files"
	seed_$app
	at "$app: the run that warms up"
	fresh $app
	into "$output" run_$app plain
	for i in $(seq $rounds); do
		at "$app: run $i of $rounds"
		fresh $app
		counted plain timed $app
		note plain $took
		at "$app: recording $i of $rounds"
		fresh $app
		into "$output" run_$app recorded
		note recorded "$(awk '/^# elapsed:/ { print $3 }' "$out/trace$i.txt")"
		at "$app: compile and replay, $i of $rounds"
		into "$out/compile.out" "$pianola" compile --report "$out/report$i.txt" -o "$out/trace$i.bin" "$out/trace$i.txt"
		replay root$i --log "$out/replay$i.log"
		for what in executed failed differed order_wait_seconds late_decodes; do note $what "$(figure $what "$out/root$i.json")"; done
		note unexplained "$(sed -n 's/^unexplained: //p' "$out/report$i.txt")"
		replay free$i --order thread
		note free "$(figure elapsed_seconds "$out/free$i.json")"
	done
	at "$app: its table"
	cd "$out"
	tell $app
done
at "the summary"
echo
cat "$dir/summary"
