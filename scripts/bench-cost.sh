#!/bin/sh
# bench-cost.sh DIR [PAIRS [APP…]]: how long programs run plain and recorded, in pairs
# whose order alternates, and what compile makes of the recorded run time: that of
# the plain run, if the recorder knows what it costs. Medians, with the least and the
# greatest. The programs are those of truth.sh and databases with threads. All that it
# makes stands in DIR/APP. PIANOLA is the program to be tried, bin/pianola by default.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pairs=${2-20}
[ $# -lt 2 ] && shift || shift 2
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
all="$all rocksdb"
[ $# -gt 0 ] || set -- $all mariadb redis
choose "$@"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings
recorded() { "$pianola" record ${user:+--user "$user"} -o trace.txt -- "$@"; }

settle() { sync; }
tidy() { cd "$dir" && rm -rf ./*/work ./*/left*; }
note() { echo "$1 of $2" >>figures; }

# The clock's own time, and that of starting a program, is in that of true.
took() { # COMMAND…
	a=$(date +%s%N)
	"$@"
	echo $(($(date +%s%N) - a)) >took
}
pair_plain() {
	fresh $1
	into run.out took run_$1 plain
	note plain "$(cat took)"
	took plain true
	note nothing "$(cat took)"
}
pair_recorded() {
	fresh $1
	into run.out run_$1 recorded
	into compile.out "$pianola" compile -o trace.bin trace.txt
	"$pianola" profile --json trace.bin >profile.json
	note recorded "$(awk '/^# elapsed:/ { print $3 * 1e9 }' trace.txt)"
	note compiled "$(awk -F'[:,]' '/"run_time_seconds"/ { print $2 * 1e9; exit }' profile.json)"
	note events "$(figure events profile.json)"
	sed -n 's/^# cost: //p' trace.txt >>costs
}

printf '%-10s %8s %8s %17s  %8s %7s  %8s %7s %17s\n' '' events plain, s '' recorded '' compiled '' ''
for app in $apps; do
	here $app || continue
	user=
	rm -rf "$dir/$app"
	mkdir "$dir/$app"
	cd "$dir/$app"
	at "$app: its files"
	seed_$app
	at "$app: the run that warms up"
	fresh $app
	into run.out run_$app plain
	for i in $(seq "$pairs"); do
		at "$app: pair $i of $pairs"
		case $((i % 2)) in
		0) pair_plain $app; pair_recorded $app ;;
		1) pair_recorded $app; pair_plain $app ;;
		esac
	done
	at "$app: its row"
	awk "$medians"'
		END {
			nothing = sorted("nothing", "of"); events = sorted("events", "of")
			plain = sorted("plain", "of") - nothing; pl = low - nothing; ph = high - nothing
			recorded = sorted("recorded", "of")
			compiled = sorted("compiled", "of")
			printf "%-10s %8.0f %8.3f %7.3f to %6.3f  %8.3f %+6.1f%%  %8.3f %+6.1f%% %7.3f to %6.3f\n", app, events,
				plain / 1e9, pl / 1e9, ph / 1e9, recorded / 1e9, (recorded / plain - 1) * 100, compiled / 1e9, (compiled / plain - 1) * 100, low / 1e9, high / 1e9
		}' app="$app" figures
done
