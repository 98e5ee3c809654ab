#!/bin/sh
# A database that is mapped: 60 000 values loaded, with a sync at each commit, and
# another one dumped, through page faults.
. "$(dirname "$0")/../record.sh"
programs=mdb_load=lmdb-utils
version() { mdb_load -V | sed 's/.*LMDB \([0-9.]*\).*/\1/'; }
seed() {
	mkdir src work
	awk 'BEGIN {
		srand(1)
		print "VERSION=3\nformat=print\ntype=btree\nmapsize=268435456\nHEADER=END"
		for (i = 0; i < 60000; i++) printf " %08d\n %0300d\n", i * 7919 % 60000, rand() * 1e9
		print "DATA=END"
	}' >text
	mdb_load -f text src
	cat >load.sh <<'S'
set -e
mdb_load -f text work
mdb_dump -p src >dump
sync dump
S
}
run() { "$@" sh load.sh; }
record
