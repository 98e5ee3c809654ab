#!/bin/sh
# truth.sh DIR [APP…]: how true is a replay? Takes each application five times in
# turn through a run without a recorder, a recorded run, compile and replay, so
# that all meet the same machine, and shows medians. Each run starts from the
# same files, in DIR, whose file system is the one that is measured. All that it
# makes stands in DIR/APP. PIANOLA is the program to be tried, bin/pianola by
# default. closed stands for all with closed loops (apps.sh). docs/fidelity.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=5
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
[ $# -gt 0 ] || set -- $all
choose "$@"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # where nobody has settings
recorded() { "$pianola" record ${user:+--user "$user"} -o "trace$i.txt" -- "$@"; }

settle() { sync; }
tidy() { cd "$dir" && rm -rf ./*/work ./*/left* ./*/root*; }

# note WHAT NUMBER: of a round.
note() { echo "$1 of $2" >>figures; }

# tell APP: the medians of its rounds.
tell() {
	compared $rounds total read write sync metadata elapsed >table
	awk "$medians"'
		function median(what) { return sorted(what, "of") }
		function most(what) { sorted(what, "of"); return high }
		END {
			plain = median("plain")
			printf "\n%s: run time %.3f s plain (%.3f to %.3f), %.3f s recorded, ", app, plain, low, high, median("recorded")
			printf "%.3f s compiled, %.3f s replayed (%.3f of plain)\n", compiled, replayed, replayed / plain
			printf "%.0f events, %d failed, %d differed, %d unexplained; ", median("executed"), most("failed"), most("differed"), most("unexplained")
			printf "waited for order %.3f s, late decodes %.0f\n", median("order_wait_seconds"), median("late_decodes")
		}' app="$1" $(awk '$1 == "elapsed" { print "compiled=" $2, "replayed=" $3 }' table) figures
	cat table
}

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
	for i in $(seq $rounds); do
		at "$app: run $i of $rounds"
		fresh $app
		timed $app
		note plain $took
		at "$app: recording $i of $rounds"
		fresh $app
		into run.out run_$app recorded
		note recorded "$(awk '/^# elapsed:/ { print $3 }' trace$i.txt)"
		at "$app: compile and replay, $i of $rounds"
		into compile.out "$pianola" compile --report report$i.txt -o trace$i.bin trace$i.txt
		judged "$pianola" replay --root root$i --keep --json --log replay$i.log trace$i.bin >replay$i.json
		for what in executed failed differed order_wait_seconds late_decodes; do note $what "$(figure $what replay$i.json)"; done
		note unexplained "$(sed -n 's/^unexplained: //p' report$i.txt)"
	done
	at "$app: its table"
	tell $app
done
