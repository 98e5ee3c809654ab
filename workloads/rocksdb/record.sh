#!/bin/sh
# A log-structured store: four threads whose writes are synced, then writes without
# sync that cause flushes and compactions, then reads while one thread writes.
. "$(dirname "$0")/../record.sh"
programs=db_bench=rocksdb-tools
version() { dpkg-query -W -f '${Version}' rocksdb-tools | cut -d - -f 1; }
seed() {
	mkdir db
	cat >load.sh <<'S'
set -e
bench() { db_bench --db="$PWD/db" --compression_type=none --cache_size=1048576 --write_buffer_size=4194304 --target_file_size_base=4194304 --open_files=64 --statistics=0 --value_size=400 "$@"; }
bench --benchmarks=fillrandom --sync=1 --threads=4 --num=300
bench --benchmarks=overwrite,waitforcompaction --threads=1 --num=60000 --use_existing_db=1
bench --benchmarks=readwhilewriting --threads=4 --num=60000 --reads=2000 --use_existing_db=1
S
}
run() { "$@" sh load.sh; }
record
