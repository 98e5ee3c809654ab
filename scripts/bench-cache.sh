#!/bin/sh
# bench-cache.sh DIR: does --cache recorded give a warm file and a cold one the
# times that they had? dd reads a file of 100 MB that is in the page cache and
# one that is not, is recorded and replayed, five times in turn; medians.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pianola=${PIANOLA-$(pwd)/bin/pianola}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
for f in warm cold; do
	dd if=/dev/urandom of=$f bs=1M count=100 status=none
done
sync
for i in 1 2 3 4 5; do
	at "round $i of 5"
	cat warm >/dev/null
	dd if=cold iflag=nocache count=0 status=none # drops it
	"$pianola" record -o trace.txt -- sh -c 'dd if=warm of=/dev/null bs=64k status=none; dd if=cold of=/dev/null bs=64k status=none'
	"$pianola" compile -o trace.bin trace.txt
	"$pianola" replay --root root --keep --cache recorded --strict --log replay.log trace.bin >replay.out
	for who in trace.bin replay.log; do
		"$pianola" profile --json "$who" >$who.$i.json
	done
done
at "the table"
python3 - <<'PY'
import json, os, statistics
def seconds(name, which):
    for f in json.load(open(name))["files"]:
        if os.path.basename(f["name"]) == which:
            return f["seconds"]
print(f"{'':5} {'application s':>14} {'replay s':>9} {'ratio':>6}  ratios of the five")
for which in "warm", "cold":
    a, b = ([seconds(f"{who}.{i}.json", which) for i in range(1, 6)] for who in ("trace.bin", "replay.log"))
    each = sorted(y / x for x, y in zip(a, b))
    print(f"{which:5} {statistics.median(a):14.4f} {statistics.median(b):9.4f} {statistics.median(each):6.3f}  " + " ".join(f"{x:.3f}" for x in each))
PY
