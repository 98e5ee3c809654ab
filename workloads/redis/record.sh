#!/bin/sh
# A server whose log is synced before each reply, with four clients, then each second,
# with many requests at once; at last a rewrite of the log and a snapshot.
. "$(dirname "$0")/../record.sh"
programs="redis-server=redis-server redis-benchmark=redis-tools"
version() { redis-server --version | sed 's/.*v=\([0-9.]*\).*/\1/'; }
seed() {
	mkdir db
	cat >load.sh <<'S'
redis-server --port 0 --unixsocket "$PWD/socket" --dir "$PWD/db" --save '' --appendonly yes --appendfsync always >server.out 2>&1 &
until [ -S socket ]; do
	kill -0 $! || exit 1
	sleep 0.05
done
client() { redis-cli -s socket "$@"; }
redis-benchmark -s socket -t set -n 5000 -c 4 -r 100000 -d 200 -q || { kill $!; exit 1; }
client config set appendfsync everysec
redis-benchmark -s socket -t set -n 100000 -c 8 -P 16 -r 100000 -d 500 -q || { kill $!; exit 1; }
client bgrewriteaof
while client info persistence | grep -q 'aof_rewrite_in_progress:1\|aof_rewrite_scheduled:1'; do sleep 0.1; done
client save
client shutdown nosave
wait $!
S
}
run() { "$@" sh load.sh; }
record
