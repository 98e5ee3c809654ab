#!/bin/sh
# layers.sh DIR: what record --layer costs a call of a library, beside ltrace, in a process
# that is recorded and in one that is not: nanoseconds a call of the fastest 50 in a row.
# Then the calls of libraries in recordings of programs. All that it makes stands in DIR.
# PIANOLA is the program to be tried, bin/pianola by default. Takes gcc, and the rights to
# record; what else is missing is left out.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
export LC_ALL=C
other=
tidy() { [ -z "$other" ] || kill "$other" 2>/dev/null || :; }

at 'the cost of a call'
gcc -O1 -o calls "$source/scripts/load/calls.c"
rounds=2000
printf 'fputc, nanoseconds a call: '
printf 'plain %s, ' "$(./calls $rounds)"
"$pianola" record -o calls.txt --layer stdio -- ./calls $rounds >recorded 2>calls.out
printf 'recorded %s ' "$(cat recorded)"
printf '(calibrated %s), ' "$(sed -n 's/^# cost: .* span=\([0-9]*\).*/\1/p' calls.txt | head -1)"
mkfifo hold
: >other.txt
"$pianola" record -o other.txt --layer stdio -- cat hold >other.out 2>&1 &
other=$!
exec 3>hold # until cat opens it, and so everything is probed
printf 'beside a recording %s' "$(./calls $rounds)"
exec 3>&-
wait "$other"
other=
if has ltrace; then
	printf ', ltrace %s' "$(ltrace -o ltrace.out -e fputc ./calls 20)"
fi
echo

# spans NAME LAYERS COMMAND…: records the command and prints what came of it.
spans() {
	name=$1 layers=$2
	shift 2
	at "$name"
	into "$name.out" "$pianola" record -o "$name.txt" --slow-functions --layer "$layers" -- "$@"
	awk -v name="$name" '
	/^# lost:/ { lost = $3 }
	/^# layer:/ && / functions=[1-9]/ { files = files " " $4 }
	/^[0-9]/ { events++; n = split($3, at, ":"); if (n > 1 && at[1] ~ /^(hdf5|mpi|sqlite3|stdio)$/) { spans++; events-- } }
	END { printf "%-10s %8d %8d %6d %s\n", name, spans, events, lost, files }' "$name.txt"
}
printf '\n%-10s %8s %8s %6s  %s\n' program spans events lost 'probed files'
if has h5cc; then
	h5cc -shlib -O2 -o datasets "$source/testdata/hdf5/datasets.c"
	rm -f datasets.o
	spans checkpoint hdf5 ./datasets app.h5 100 50
	if has h5repack; then
		spans h5repack hdf5 h5repack app.h5 app2.h5
		spans h5dump hdf5,stdio h5dump app.h5
	fi
fi
if has mpicc.mpich && has mpiexec.mpich; then
	mpicc.mpich -O2 -o mpifile "$source/scripts/load/mpifile.c"
	spans mpifile mpi mpiexec.mpich -n 4 ./mpifile mpi.dat 4
fi
if has sqlite3; then
	spans sqlite3 sqlite3 sqlite3 app.db ".read $source/scripts/demo.sql"
fi
seq 20000 | sort -R >lines 2>/dev/null || seq 20000 >lines
spans sort stdio sort lines
