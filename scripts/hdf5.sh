#!/bin/sh
# hdf5.sh DIR [TIMES [RUNS]]: what an HDF5 program would gain if its files lived
# in memory. For datasets of 10x10, 50x50 and 100x100 integers it records a
# program that writes and reads TIMES of them, five times, and takes the
# recording of the median run time; then the laboratory replays that RUNS times
# on a root in DIR, and as often in memory, in turn. All that it makes stands in
# DIR. PIANOLA is the program to be tried, bin/pianola by default. Takes h5cc
# (libhdf5-dev) and the rights to record.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
times=${2-300}
runs=${3-10}
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
h5cc -O2 -o datasets "$source/testdata/hdf5/datasets.c"
rm -f datasets.o

for n in 10 50 100; do
	at "datasets of ${n}x$n"
	for i in 1 2 3 4 5; do
		"$pianola" record -o "$n-$i.txt" -- ./datasets app.h5 "$n" "$times"
		rm app.h5
		"$pianola" profile --json "$n-$i.txt" | awk -v i="$i" -F'[:,]' '/"run_time_seconds"/ { print $2 + 0, i; exit }'
	done >times
	sort -n times | sed -n 3p >typical
	read -r _ i <typical
	mv "$n-$i.txt" "$n.txt"
	rm -f "$n"-?.txt
	"$pianola" lab --json --runs "$runs" --root root "$n.txt" --try backend=memory >"$n.json"
	awk -F'[:,]' -v n="$n" '
	$1 ~ /"application"/ { who = "application" }
	$1 ~ /"baseline"/ { who = "replay" }
	$1 ~ /"candidates"/ { who = "memory" }
	$1 ~ /"(elapsed|read|write)_seconds"/ { gsub(/[ "]|_seconds/, "", $1); s[who, $1] = $2 }
	$1 ~ /"interval_(low|high)"/ { bound = $1 ~ /low/ ? "low" : "high" }
	$1 ~ /"finding"/ { bound = "" }
	bound && $1 ~ /^ *"(elapsed|read|write)"$/ { gsub(/[ "]/, "", $1); s[bound, $1] = $2 }
	$1 ~ /"(failed|differed)"/ { off += $2 }
	END {
		k = split("write read elapsed", keys, " ")
		for (i = 1; i <= k; i++) {
			key = keys[i]
			printf "%-9s %-9s %12.3f %10.3f %10.3f %10.2f  %.2f to %.2f\n", n "x" n, key == "elapsed" ? "run time" : key,
				s["application", key] * 1e3, s["replay", key] * 1e3, s["memory", key] * 1e3, s["memory", key] / s["replay", key], s["low", key], s["high", key]
		}
		if (off) print n "x" n ": " off " events failed or differed"
	}' "$n.json" >"$n.table"
done
printf '%-9s %-9s %12s %10s %10s %10s  %s\n' datasets ms application replay 'in memory' 'of replay' interval
cat 10.table 50.table 100.table
