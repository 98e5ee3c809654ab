#!/bin/sh
# A server under pgbench: eight clients, each of which waits for its commit, then
# four that only read. The clients are recorded, too.
. "$(dirname "$0")/../record.sh"
programs=pg_createcluster=postgresql
user=postgres
bin() { ls -d /usr/lib/postgresql/*/bin | tail -n 1; }
version() { "$(bin)/postgres" --version | sed 's/[^0-9]*\([0-9.]*\).*/\1/'; }
seed() {
	plain "$(bin)/initdb" -D data -A trust
	cat >>data/postgresql.conf <<C
listen_addresses = ''
unix_socket_directories = '$place'
shared_buffers = 16MB
max_wal_size = 64MB
autovacuum = off
C
	plain "$(bin)/pg_ctl" -D data -l log -w start
	plain "$(bin)/pgbench" -h "$place" -i -q -s 5 postgres
	plain "$(bin)/pg_ctl" -D data -m fast -w stop
	cat >load.sh <<S
"$(bin)/postgres" -D data >server.out 2>&1 &
until "$(bin)/pg_isready" -q -h "$place"; do
	kill -0 \$! || exit 1
	sleep 0.05
done
"$(bin)/pgbench" -h "$place" -n -c 8 -t 300 postgres || { kill -INT \$!; exit 1; }
"$(bin)/pgbench" -h "$place" -n -S -c 4 -t 300 postgres || { kill -INT \$!; exit 1; }
kill -INT \$!
wait \$!
S
}
run() { "$@" sh load.sh; }
record
