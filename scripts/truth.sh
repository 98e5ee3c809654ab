#!/bin/sh
# truth.sh DIR [APP…]: how true is a replay? Takes each application five times in
# turn through a run without a recorder, a recorded run, compile and replay, so
# that all meet the same machine, and shows medians. Each run starts from the
# same files, in DIR, whose file system is the one that is measured. All that it
# makes stands in DIR/APP. PIANOLA is the program to be tried, bin/pianola by
# default. docs/fidelity.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=5
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
[ $# -gt 0 ] || set -- $all
known "$@"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # where nobody has settings
recorded() { "$pianola" record ${user:+--user "$user"} -o "trace$i.txt" -- "$@"; }

# fresh APP: what a run begins with. What the last one left is put aside: ext4
# avoids inodes that were removed within the last minutes, and looks at all of
# them whenever it makes a file, so that nothing is removed before the end.
aside=0
fresh() {
	[ ! -e work ] || mv work "left$((aside += 1))"
	fresh_$1
	sync
}
tidy() { cd "$dir" && rm -rf ./*/work ./*/left* ./*/root*; }

# tell APP: the medians of its rounds.
tell() {
	python3 - "$1" "$rounds" <<'PY'
import json, re, statistics, sys
app, rounds = sys.argv[1], range(1, int(sys.argv[2]) + 1)
read = lambda name: [open(name.replace("N", str(i))).read() for i in rounds]
compared = [json.loads(x) for x in read("compareN.json")]
replays = [json.loads(x) for x in read("replayN.json")]
plain = [float(x) for x in read("plainN")]
recorded = [float(x) for x in read("recordedN")]
unexplained = [int(re.search(r"^not explained: (\d+)", x, re.M)[1]) for x in read("reportN.txt")]
median = statistics.median
side = lambda c, row, who: c[who].get(row + "_seconds") or 0
replay = [side(c, "elapsed", "replay") for c in compared]
print(f"\n{app}: run time {median(plain):.3f} s plain ({min(plain):.3f} to {max(plain):.3f}), {median(recorded):.3f} s recorded, "
      f"{median(side(c, 'elapsed', 'application') for c in compared):.3f} s compiled, {median(replay):.3f} s replayed ({median(replay) / median(plain):.3f} of plain)")
print(f"{median(r['events']['executed'] for r in replays):.0f} events, {max(r['events']['failed'] for r in replays)} failed, "
      f"{max(r['events']['differed'] for r in replays)} differed, {max(unexplained)} not explained; "
      f"waited for order {median(r['order_wait_seconds'] for r in replays):.3f} s, late decodes {median(r['late_decodes'] for r in replays):.0f}")
print(f"{'':10} {'application s':>13} {'replay s':>10} {'ratio':>7}  ratios of the rounds")
for row in "read", "write", "sync", "metadata", "elapsed":
    each = sorted(side(c, row, "replay") / side(c, row, "application") for c in compared if side(c, row, "application"))
    if each:
        a, b = (median(side(c, row, who) for c in compared) for who in ("application", "replay"))
        print(f"{row:10} {a:13.4f} {b:10.4f} {median(each):7.3f}  " + " ".join(f"{x:.3f}" for x in each))
PY
}

for app in "$@"; do
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
		a=$(now); into run.out run_$app plain; b=$(now)
		echo "$a $b" | awk '{ print $2 - $1 }' >plain$i
		at "$app: recording $i of $rounds"
		fresh $app
		into run.out run_$app recorded
		awk '/^# elapsed:/ { print $3 }' trace$i.txt >recorded$i
		at "$app: compile, replay and compare, $i of $rounds"
		into compile.out "$pianola" compile --report report$i.txt -o trace$i.bin trace$i.txt
		"$pianola" replay --root root$i --keep --json --log replay$i.log trace$i.bin >replay$i.json || [ $? = 1 ]
		"$pianola" compare --json --tolerance 1000% trace$i.bin replay$i.log >compare$i.json
	done
	at "$app: its table"
	tell $app
done
