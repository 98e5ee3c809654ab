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
	"$pianola" compile -o trace$i.bin trace.txt
	"$pianola" replay --root root --keep --cache recorded --strict --log replay$i.log trace$i.bin >replay.out
done
at "the table"
compared 5 file warm cold
