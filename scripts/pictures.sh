#!/bin/sh
# pictures.sh DEMO DIR: takes the plot and pictures of the page about the demo in
# DEMO, and of a page about a compilation. They show the directory of this clone as
# another, and no host.
set -eu
. "$(dirname "$0")/lib.sh"
tmp=$(mktemp -d)
tidy() { rm -rf "$tmp"; }
pianola=$(pwd)/bin/pianola
sed "s,$(pwd),/home/user/pianola,g; /^# host: /d" "$1/trace.txt" >"$tmp/trace.txt"
(cd "$tmp" && "$pianola" profile --html page.html trace.txt >profile.txt)
at "make -j4"
mkdir "$tmp/make"
for i in 1 2 3 4 5 6 7 8; do
	printf '#include <stdio.h>\nint f%s(void) { return puts("%s"); }\n' "$i" "$i" >"$tmp/make/f$i.c"
done
printf 'all: f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o\n%%.o: %%.c\n\tgcc -O2 -c $<\n' >"$tmp/make/Makefile"
bin/pianola record --no-host -o "$tmp/make.txt" -- make -s -C "$tmp/make" -j4
bin/pianola profile --html "$tmp/make.html" "$tmp/make.txt" >"$tmp/profile.txt"
at "pictures"
cp "$1/profile.svg" "$2/profile.svg"
go run ./scripts/pictures "$tmp/page.html" "$tmp/make.html" "$2"
cp "$1/profile.svg" "$2/profile.svg"
