#!/bin/sh
# bench-prepare.sh DIR [FILES [GIB [ROUNDS]]]: how long a replay takes to make its
# files, beside cp -r of the same tree and fio laying out as much: FILES of 16
# KiB on average in a hundred directories, as many empty ones, and one of so many
# GiB. They take turns, and each ends with a sync; medians are shown. All that it
# makes stands in DIR, which needs room for the long file twice.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
files=${2-100000}
gib=${3-10}
rounds=${4-3}
pianola=$(pwd)/bin/pianola
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
now() { date +%s%N; }
took() { # WHAT HOW COMMAND…
	what=$1 how=$2
	shift 2
	at "$what, $how, round $round"
	a=$(now)
	into out "$@"
	sync -f .
	echo "$what $how $(($(now) - a))" >>figures
}
trace() { # NAME FILES BYTES: of each file none, or from 0 to twice so many
	awk -v n="$2" -v mean="$3" 'BEGIN {
		many = n > 1
		for (d = 0; many && d < 100; d++) printf "# file: \"d%d\" dir mode=0755 size=0 cached=-1\n", d
		for (i = 0; i < n; i++) {
			seed = (seed * 1103515245 + 12345) % 2147483648
			printf "# file: \"%sf%d\" reg mode=0644 size=%.0f cached=-1\n", many ? "d" i % 100 "/" : "", i, many ? int(seed / 2147483648 * 2 * mean) : mean
		}
		print "open ( nothing 1 ) = -1 ENOENT"
	}' >"$1.txt"
	at "compile of $1"
	into compile.out "$pianola" compile -o "$1.bin" "$1.txt"
}
layout() { # FILES BYTES
	fio --name=a --directory=fio --nrfiles="$1" --filesize="$2" --rw=read --bs=1m --create_only=1 --openfiles=100
}
prepare() { "$pianola" replay --prepare only --cache asis "$@"; }

trace small "$files" 16384
trace empty "$files" 0
trace long 1 $((gib << 30))
for what in small empty long; do
	for round in $(seq $rounds); do
		took $what "pianola, anew" prepare --root root $what.bin
		took $what "pianola, kept" prepare --root root $what.bin
		took $what "cp -r" cp -r root copy
		rm -rf copy
		mkdir fio
		case $what in
		small) ! has fio || took $what fio layout "$files" 16k ;;
		long) ! has fio || took $what fio layout 1 "${gib}g" ;;
		esac
		rm -rf root fio
		sync -f .
	done
done
echo "seconds to make $files files of 16 KiB on average, $files empty ones, and one of $gib GiB"
awk '
{ how = $2; for (i = 3; i < NF; i++) how = how " " $i; all[$1, how] = all[$1, how] " " $NF }
function median(k,    v, n, i, j, t) {
	n = split(all[k], v, " ")
	for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
	return n ? sprintf("%.2f", v[int((n + 1) / 2)] / 1e9) : "-"
}
END {
	printf "%-16s %10s %10s %10s\n", "", "small", "empty", "long"
	m = split("pianola, anew;pianola, kept;cp -r;fio", hows, ";")
	for (i = 1; i <= m; i++) printf "%-16s %10s %10s %10s\n", hows[i], median("small" SUBSEP hows[i]), median("empty" SUBSEP hows[i]), median("long" SUBSEP hows[i])
}' figures
rm -rf ./*.txt ./*.bin
