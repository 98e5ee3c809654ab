#!/bin/sh
# waits.sh DIR [CASE…]: how much of the time in which threads are blocked does a
# recording explain? Records each case once, with what it talks to, and prints a row
# of a table: the share of that time by what ended it, from the JSON of
# pianola profile. All that it makes stands in DIR/CASE. PIANOLA is the program to
# be tried, bin/pianola by default. docs/internals/record.md says how to read the table.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
pool=$(pwd)/scripts/load/pool
. scripts/apps.sh
cases="postgres-tcp postgres-unix mariadb redis rocksdb-4 rocksdb-16 sqlite3 make pipeline go java epoll"
[ $# -gt 0 ] || set -- $cases
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings
port=7413

# describe CASE: sets programs, which the case needs, seed, which makes what it
# starts from, and command, which is recorded. Both are for sh, in the directory
# work of the case.
describe() {
	programs=${1%%-*} seed=:
	up() { echo "until $1 >up.out 2>&1; do sleep 0.1; done"; }
	case $1 in
	postgres-*)
		programs=setpriv
		[ -n "$server" ] || programs=postgres-server
		as='setpriv --reuid postgres --regid postgres --clear-groups'
		# A socket's name has at most 107 bytes.
		seed="chown postgres .; $as $server/initdb -D db -A trust
			$as $server/pg_ctl -D db -o \"-k /tmp -p $port -c listen_addresses=''\" -l seed.log -w start
			$server/pgbench -h /tmp -p $port -U postgres -i -q -s 3 postgres; $as $server/pg_ctl -D db -m fast -w stop"
		host=127.0.0.1
		[ "$1" = postgres-tcp ] || host=/tmp
		command="$as $server/postgres -D db -k /tmp -p $port -c listen_addresses=127.0.0.1 2>server.out &
			$(up "$server/pg_isready -q -h $host -p $port")
			$server/pgbench -h $host -p $port -U postgres -n -c 4 -j 2 -t 500 postgres
			kill -INT \$!; wait"
		;;
	mariadb)
		programs="mariadbd mariadb-install-db mariadb-slap"
		seed="mariadb-install-db --no-defaults --user=root --datadir=\$PWD/db --skip-test-db --auth-root-authentication-method=normal"
		command="mariadbd --no-defaults --user=root --datadir=\$PWD/db --socket=/tmp/mariadb.$port --skip-networking --innodb-buffer-pool-size=16M 2>server.out &
			$(up "mariadb-admin --no-defaults -u root -S /tmp/mariadb.$port ping")
			mariadb-slap --no-defaults -u root -S /tmp/mariadb.$port --auto-generate-sql --concurrency=4 --number-of-queries=2000 --engine=innodb
			mariadb-admin --no-defaults -u root -S /tmp/mariadb.$port shutdown; wait"
		;;
	redis)
		programs="redis-server redis-benchmark"
		command="redis-server --port $port --save '' --appendonly yes >server.out & $(up "redis-cli -p $port ping")
			redis-benchmark -p $port -q -n 20000 -c 20 -t set,get; redis-cli -p $port shutdown nosave; wait"
		;;
	rocksdb-*) programs=db_bench command="db_bench --benchmarks=fillrandom --sync=1 --threads=${1#*-} --num=$((4000 / ${1#*-})) --db=db" ;;
	sqlite3)
		seed="sqlite3 app.db 'create table t(a, b)'
			for k in \$(seq 200); do echo \"insert into t values(\$k, hex(randomblob(200)));\"; done >inserts"
		command="for k in 1 2 3; do sqlite3 -cmd '.timeout 60000' app.db <inserts & done; wait"
		;;
	make) programs="make gcc" seed="seed_gcc; mv src/* ." command="make -s -j4" ;;
	pipeline) programs=sort command="find /usr/share/doc /usr/include | sort -r | gzip -9 | wc -c" ;;
	go) seed="(cd $pool && go build -o $dir/$1/work/pool .)" command="./pool" ;;
	java)
		programs="java javac"
		seed="cat >Pool.java <<J
import java.nio.file.*; import java.util.*; import java.util.concurrent.*;
class Pool { public static void main(String[] a) throws Exception {
	ExecutorService pool = Executors.newFixedThreadPool(4);
	List<Future<Long>> sums = new ArrayList<>();
	for (int i = 0; i < 2000; i++) {
		Path p = Path.of(\"f\" + i % 50);
		sums.add(pool.submit(() -> {
			synchronized (Pool.class) { Files.write(p, new byte[8192]); }
			long sum = 0;
			for (byte b : Files.readAllBytes(p)) sum += b;
			return sum;
		}));
		if (i % 10 == 9) sums.get(i).get();
	}
	pool.shutdown();
} }
J
javac Pool.java"
		command="java Pool"
		;;
	epoll)
		programs="nginx ab"
		seed="head -c 20000 /dev/urandom >data
			echo 'daemon off; pid pid; error_log stderr; worker_processes 2; events {} user root;
			http { access_log off; server { listen 127.0.0.1:$port; root .; } }' >conf"
		command="nginx -p . -c conf 2>server.out & $(up "curl -sfo got http://127.0.0.1:$port/conf")
			ab -q -k -c 8 -n 10000 http://127.0.0.1:$port/data; kill \$!; wait"
		;;
	*) fail 2 "no case $1; there are: $cases" ;;
	esac
}

# row CASE DOCUMENT: its line of the table.
row() {
	awk -F'[:,]' -v name="$1" -v threads="$("$pianola" profile --by thread --all --format csv trace.txt | tail -n +2 | wc -l)" '
		/"blocked"/ { inside = 1 }
		inside && /_seconds"/ { key = $1; gsub(/[^a-z]/, "", key); s[key] = $2; }
		inside && /storage_seconds/ { inside = 0 }
		function share(key) { return total > 0 && s[key "seconds"] > 0 ? sprintf("%.1f", 100 * s[key "seconds"] / total) : "" }
		END {
			total = s["explainedseconds"] + s["unexplainedseconds"]
			printf "| %s | %d | %.2f | %.2f |", name, threads, total, (total > 0 ? 100 * s["explainedseconds"] / total : 100)
			n = split("futex poll socket pipe process signal lock rest timer storage", keys, " ")
			for (k = 1; k <= n; k++) printf " %s |", share(keys[k])
			print ""
		}' "$2"
}

echo '| case | threads | blocked, s | explained, % | futex | poll | socket | pipe | process | signal | lock | rest | timer | storage |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for case in "$@"; do
	describe "$case"
	for program in $programs; do
		has "$program" || { echo "$case: left out, $program is not here" >&2; continue 2; }
	done
	at "$case: the recording"
	rm -rf "${dir:?}/$case"
	mkdir -p "$dir/$case/work"
	cd "$dir/$case/work"
	into ../seed.out eval "$seed"
	into ../run.out timeout 120 "$pianola" record -o ../trace.txt -- sh -c "$command"
	cd ..
	"$pianola" profile --json trace.txt >profile.json
	row "$case" profile.json
done
