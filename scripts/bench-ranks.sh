#!/bin/sh
# bench-ranks.sh DIR [RUNS]: what a replay by several ranks on one machine costs: how long
# a rank takes to hear of another one's event, how far clocks are off after correction,
# how late ranks start, and their memory. Medians of RUNS runs (5), with the least and the
# most. The ranks have clocks 1000 s apart where time namespaces can be had, so that the
# true error of the correction is known. All that it makes stands in DIR. Takes root, a
# minute, and a machine with nothing else to do. PIANOLA is the program to be tried.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1 runs=${2-5}
pianola=${PIANOLA-$(pwd)/bin/pianola}
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"

# trace RANKS ROUNDS: ranks in a ring; each writes 2 ms after the one before.
trace() {
	awk -v ranks="$1" -v rounds="$2" 'BEGIN {
		for (r = 1; r <= ranks; r++) printf "# thread: %d process=%d parent=0 rank=%d start=0.000000000\n", r, r, r - 1
		for (r = 1; r <= ranks; r++) printf "%d openm ( out%d 50 384 ) = 3\n", r, r
		after = ""
		for (i = 1; i <= rounds; i++)
			for (r = 1; r <= ranks; r++) {
				printf "%d write ( 3 4096 ) = 4096%s\n", r, after
				after = sprintf(" {after=%d:%d+0.002000000:message}", r, i)
			}
		for (r = 1; r <= ranks; r++) printf "%d close ( 3 ) = 0\n", r
	}' >"ring$1.txt"
	"$pianola" compile -q -o "ring$1.bin" "ring$1.txt"
}

for ranks in 2 4 16 64; do
	at "$ranks ranks"
	trace $ranks $((640 / ranks))
	for run in $(seq "$runs"); do
		for rank in $(seq $((ranks - 1)) -1 0); do
			apart=
			! unshare --time --fork true 2>/dev/null || apart="unshare --time --monotonic $((1000 * rank)) --fork"
			PIANOLA_RANK=$rank PIANOLA_SIZE=$ranks $apart "$pianola" replay --ranks --rendezvous . --json "ring$ranks.bin" >"$rank.out" &
		done
		wait
		mv 0.out "run-$ranks-$run.json"
	done
done

python3 - <<'EOF'
import glob, json, os, statistics as st

apart = os.system("unshare --time --fork true 2>/dev/null") == 0
print("| ranks | edge p50 µs | edge p99 µs | clock error µs | bound µs | start late µs | rank 0, its carrier MB | others MB |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for ranks in (2, 4, 16, 64):
    runs = [json.load(open(f)) for f in glob.glob(f"run-{ranks}-*.json")]
    def cell(of, scale=1e6):
        v = [of(r) * scale for r in runs]
        return f"{st.median(v):.1f} ({min(v):.1f} to {max(v):.1f})"
    between = lambda key: lambda r: r["between_ranks"]["latency"][key]
    worst = lambda of: lambda r: max(of(one) for one in r["ranks"])
    error = lambda one: abs(one["clock_offset_seconds"] + (1000 * one["rank"] if apart else 0))
    mb = lambda of: lambda r: of(r) / 1e6
    first, rest = (lambda r: r["ranks"][0]), (lambda r: r["ranks"][1:])
    print("|", ranks, "|", cell(between("p50_seconds")), "|", cell(between("p99_seconds")), "|", cell(worst(error)), "|",
          cell(worst(lambda one: one["clock_error_seconds"])), "|", cell(worst(lambda one: one["late_seconds"])), "|",
          cell(mb(lambda r: first(r)["memory_bytes"]), 1), ",", cell(mb(lambda r: first(r)["carrier_bytes"]), 1), "|",
          cell(mb(lambda r: max(o["memory_bytes"] + o["carrier_bytes"] for o in rest(r))), 1), "|")
EOF
