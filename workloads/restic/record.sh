#!/bin/sh
# A backup of 3000 files, of what changed then, a check of the repository, and a
# restore.
. "$(dirname "$0")/../record.sh"
programs=restic=restic
version() { restic version | cut -d ' ' -f 2; }
seed() {
	tree src 3000
	noise src/large 48
	cat >load.sh <<'S'
set -e
export RESTIC_PASSWORD=load RESTIC_REPOSITORY=$PWD/repository RESTIC_CACHE_DIR=$PWD/cache GOMAXPROCS=2
restic init
restic backup --host load src
for f in src/d3/* src/d7/*; do echo changed >>"$f"; done
restic backup --host load src
restic check
restic restore latest --target restored
S
}
run() { "$@" sh load.sh; }
record
