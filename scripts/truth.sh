#!/bin/sh
# truth.sh DIR: how true is a replay? Records the demo five times, replays the
# recording five times, in turn, so that both meet the same machine, and
# compares the medians. The application's side is the recording, so what the
# recorder costs is shown beside it: five runs without it.
set -eu
dir=$1
pianola=$(pwd)/bin/pianola
sql=$(pwd)/scripts/demo.sql
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
app() { rm -f app.db; "$@" sqlite3 app.db ".read $sql"; }
now() { date +%s.%N; }

app
for i in 1 2 3 4 5; do
	a=$(now); app; b=$(now)
	echo "$a $b" | awk '{ print $2 - $1 }' >>plain
	app "$pianola" record -o "trace$i.txt" --
	"$pianola" compile -o "trace$i.bin" "trace$i.txt"
	rm -f app.db
	"$pianola" replay --log "replay$i.log" "trace$i.bin" >"replay$i.out"
	"$pianola" compare --json --tolerance 1000% "trace$i.bin" "replay$i.log" >"compare$i.json"
done
python3 - <<'PY'
import json, statistics
runs = [json.load(open(f"compare{i}.json")) for i in range(1, 6)]
plain = sorted(float(x) for x in open("plain"))
print(f"without recorder, run time: median {statistics.median(plain):.3f} s, {plain[0]:.3f} to {plain[-1]:.3f}")
print(f"{'':10} {'application s':>13} {'replay s':>10} {'ratio':>7}  ratios of the five")
for k, row in enumerate(runs[0]["rows"]):
    side = lambda r, s: r["rows"][k][s].get("seconds") or 0
    a = statistics.median(side(r, "application") for r in runs)
    b = statistics.median(side(r, "replay") for r in runs)
    each = sorted(side(r, "replay") / side(r, "application") for r in runs if side(r, "application"))
    if each:
        print(f"{row['name']:10} {a:13.4f} {b:10.4f} {statistics.median(each):7.3f}  " + " ".join(f"{x:.3f}" for x in each))
PY
