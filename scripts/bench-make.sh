#!/bin/sh
# bench-make.sh DIR [ROUNDS [FILES]]: what recording page faults adds to `make -j2`, whose compilers map
# much. Compiles a generated C program of FILES files, unrecorded, recorded with --no-faults, and recorded,
# in turns; medians, with the least and the most, in seconds. PIANOLA is the program to be tried, bin/pianola
# by default.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1 rounds=${2-5} files=${3-60}
pianola=${PIANOLA-$(pwd)/bin/pianola}
export LC_ALL=C
at "the sources"
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
for i in $(seq "$files"); do
	printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <pthread.h>\nint f%d(int x) { char b[64]; snprintf(b, sizeof b, "%%d", x); return (int)strlen(b) + (int)sqrt(x); }\n' "$i" >"f$i.c"
done
printf 'OBJECTS = $(patsubst %%.c,%%.o,$(wildcard f*.c))\nprogram.a: $(OBJECTS)\n\tar rcs $@ $(OBJECTS)\n%%.o: %%.c\n\tcc -O2 -c -o $@ $<\n' >Makefile

# build HOW COMMAND…: compiles all once.
build() {
	how=$1
	shift
	at "$how"
	rm -f ./*.o program.a
	before=$(date +%s%N)
	into build.out "$@" make -j2
	echo "$how seconds $((($(date +%s%N) - before) / 1000))" | awk '{ print $1, $2, $3 / 1e6 }' >>figures
}
build first env
rm -f figures
for i in $(seq "$rounds"); do
	build free env
	build no-faults "$pianola" record --no-faults -o without.txt --
	build faults "$pianola" record -o with.txt --
done
echo 'make -j2      seconds   least    most   added'
awk "$medians"'
	END {
		free = sorted("free", "seconds")
		n = split("free no-faults faults", names, " ")
		for (i = 1; i <= n; i++) {
			m = sorted(names[i], "seconds")
			printf "%-10s %10.3f %7.3f %7.3f %+6.1f%%\n", names[i], m, low, high, 100 * (m / free - 1)
		}
	}' figures
echo "lines: $(grep -c '^[0-9]' without.txt) without faults, $(grep -c '^[0-9]' with.txt) with, of them $(grep -c ' map_[a-z]*(' with.txt) faults"
