#!/bin/sh
# make -j2 of 40 files in C. Compiler and headers are not in the page cache.
. "$(dirname "$0")/../record.sh"
programs="gcc=gcc make=make"
inputs="/usr/include $(gcc -print-search-dirs | sed -n 's/^install: //p')"
version() { gcc -dumpfullversion; }
seed() {
	mkdir src
	for k in $(seq 40); do
		{
			for h in stdio stdlib string math time errno signal fcntl unistd pthread sys/stat sys/socket netinet/in; do echo "#include <$h.h>"; done
			for f in $(seq 60); do echo "int f${k}_$f(int x) { return printf(\"%d\", x * $f); }"; done
		} >src/f$k.c
	done
	echo 'int main(void) { return 0; }' >src/main.c
	cat >src/Makefile <<'M'
objects := $(patsubst %.c,%.o,$(wildcard *.c))
main: $(objects)
	gcc -o $@ $(objects)
%.o: %.c
	gcc -O1 -g -c -o $@ $<
M
}
run() { "$@" make -s -j2 -C src; }
record
