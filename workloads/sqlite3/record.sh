#!/bin/sh
# Transactions with a rollback journal, then with a write-ahead log, then queries at
# random of a database that is not in memory.
. "$(dirname "$0")/../record.sh"
programs=sqlite3=sqlite3
version() { sqlite3 --version | cut -d ' ' -f 1; }
seed() {
	sqlite3 app.db "create table t (k integer primary key, v text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
		insert into t select i, hex(randomblob(100)) from n;"
	awk 'BEGIN {
		srand(1)
		print "pragma synchronous = full;"
		for (i = 0; i < 200; i++) printf "update t set v = printf(\"%%0200d\", %d) where k = %d;\n", i, int(rand() * 200000)
		print "pragma journal_mode = wal;"
		for (i = 0; i < 600; i++) {
			print "begin;"
			for (k = 0; k < 5; k++) printf "insert into t (v) values (printf(\"%%0600d\", %d));\n", i * 5 + k
			print "commit;"
		}
		for (i = 0; i < 2000; i++) printf "select sum(length(v)) from t where k between %d and %d;\n", k = int(rand() * 200000), k + 5
		print "create index o on t (v);"
	}' >load.sql
}
run() { "$@" sqlite3 -init /dev/null app.db '.read load.sql'; }
record
