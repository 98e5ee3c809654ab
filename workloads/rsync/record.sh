#!/bin/sh
# A copy of 4000 small files and three large ones, then a second copy with what
# changed: some small files, and parts of a large one.
. "$(dirname "$0")/../record.sh"
programs=rsync=rsync
version() { rsync --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p'; }
seed() {
	tree src 4000
	for k in 1 2 3; do noise src/large$k 24; done
	cat >load.sh <<'S'
set -e
rsync -a src/ copy/
for f in src/d3/* src/d7/*; do echo changed >>"$f"; done
for at in 1 5 9 17; do dd if=/dev/zero of=src/large2 bs=1M count=1 seek=$at conv=notrunc status=none; done
rm -r src/d9
rsync -a --delete --no-whole-file --fsync src/ copy/
rsync -a --checksum --dry-run src/ copy/
S
}
run() { "$@" sh load.sh; }
record
