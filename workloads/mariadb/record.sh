#!/bin/sh
# A server with InnoDB and four clients: inserts, each with its commit, then updates
# and queries by key.
. "$(dirname "$0")/../record.sh"
programs="mariadbd=mariadb-server mariadb-slap=mariadb-client"
version() { mariadbd --version | sed 's/.*Ver \([0-9.]*\).*/\1/'; }
seed() {
	cat >load.sh <<'S'
mariadbd --no-defaults --user=root --skip-grant-tables --skip-networking --datadir="$PWD/data" --socket="$PWD/socket" \
	--innodb-log-file-size=16M --innodb-buffer-pool-size=16M --innodb-buffer-pool-load-at-startup=0 \
	--innodb-buffer-pool-dump-at-shutdown=0 >server.out 2>&1 &
until [ -S socket ]; do
	kill -0 $! || exit 1
	sleep 0.05
done
slap() { mariadb-slap --no-defaults --socket="$PWD/socket" --create-schema=app --no-drop "$@" || { kill $!; exit 1; }; }
S
	cp load.sh first.sh
	cat >>first.sh <<'S'
mariadb --no-defaults --socket="$PWD/socket" -e "create database app; use app;
	create table t (i int auto_increment primary key, v varchar(500));
	insert into t (v) select repeat(md5(seq), 12) from seq_1_to_60000" || { kill $!; exit 1; }
kill $!
wait $!
S
	cat >>load.sh <<'S'
slap --query="insert into t (v) values (repeat('a', 400))" --concurrency=4 --number-of-queries=600
slap --delimiter=';' --query="set @k = 1 + floor(rand() * 60000); select length(v) from t where i = @k; update t set v = repeat('c', 380) where i = @k" --concurrency=4 --number-of-queries=3000
kill $!
wait $!
S
	mariadb-install-db --no-defaults --user=root --auth-root-authentication-method=normal --innodb-log-file-size=16M --datadir="$place/data"
	sh first.sh
}
run() { "$@" sh load.sh; }
record
