#!/bin/sh
# A tree of 6000 files packed, unpacked, and through pipes to and from gzip. What is
# unpacked is synced.
. "$(dirname "$0")/../record.sh"
programs="tar=tar gzip=gzip"
version() { tar --version | sed -n '1s/.* //p'; }
seed() {
	tree src 6000
	mkdir work again
	cat >load.sh <<'S'
set -e
tar -cf a.tar src
tar -xf a.tar -C work
sync -f work
tar -cf - src | gzip -1 >b.tar.gz
gzip -dc b.tar.gz | tar -xf - -C again
sync -f again
rm -r work
S
}
run() { "$@" sh load.sh; }
record
