# apps.sh: the applications that replays are tried with, to be sourced with lib.sh,
# LC_ALL=C and HOME in a directory without settings. sql is the file of the demo.
# scripts/measure/studies.go has the table of them.
#
# An application is three functions that stand in a directory of its own: seed_APP
# makes, once, what it starts from; fresh_APP puts that into the directory work,
# which isn't there; run_APP runs it, through the command "$@". The user that it
# runs as is in user. What was seeded can be copied and runs elsewhere. Where
# synced is no, those that can run without syncs.
user=
synced=yes
plain() { if [ -n "$user" ]; then setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"; else "$@"; fi; }

# here APP: whether the machine has it, or says that it has not.
here() {
	case $1 in
	postgres*) [ -n "$server" ] && [ "$(id -u)" = 0 ] ;;
	gcc | make4) has gcc && has make ;;
	rocksdb* | rocksmap) has db_bench ;;
	mariadb) has mariadbd && has mariadb-slap && [ "$(id -u)" = 0 ] ;;
	redis) has redis-server && has redis-benchmark ;;
	sqlite3*) has sqlite3 ;;
	uring | libaio) has fio ;;
	lmdb) has mdb_load && has mdb_dump ;;
	mapread | ingest) has gcc ;;
	hydro) has gfortran ;;
	ripgrep) has rg ;;
	lucene) has java && has javac && [ -e "${jars%%:*}" ] ;;
	pipeline | beside) has tar && has gzip ;;
	java) has java && has javac ;;
	derby) has java && has javac && [ -e "$derby" ] ;;
	etcd) has etcd && has ab && has curl ;;
	osync) has python3 ;;
	*) has "$1" ;;
	esac || { echo "$1: left out, it is not here or, for postgres and mariadb, this is not root"; return 1; }
}

# tree DIR N: N small files of text in 20 directories, always the same.
tree() {
	awk -v dir="$1" -v n="$2" 'BEGIN {
		srand(1)
		for (d = 0; d < 20; d++) system("mkdir -p " dir "/d" d)
		for (i = 0; i < n; i++) {
			f = dir "/d" i % 20 "/f" i ".txt"
			for (k = int(rand() * 120); k >= 0; k--) printf "%d %d some text in file %d\n", k, rand() * 1e9, i >f
			close(f)
		}
	}'
}

# --- sqlite3: the demo, transactions and temporary files ---
seed_sqlite3() { :; }
fresh_sqlite3() { mkdir work; }
run_sqlite3() { "$@" sqlite3 -cmd "$(pragma)" work/app.db ".read '$sql'"; }
pragma() { if [ $synced = yes ]; then echo 'pragma synchronous'; else echo 'pragma synchronous = off'; fi; }

# --- git: clone, checkout, status and gc of a repository of 30 commits ---
seed_git() {
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	tree src 1500
	git -c init.defaultBranch=main init -q src
	for k in $(seq 30); do
		for f in src/d$((k % 20))/*; do echo "line $k" >>"$f"; done
		git -C src add .
		git -C src commit -q -m "commit $k"
	done
	cat >git.sh <<'S'
git clone -q src work
git -C work checkout -q HEAD~25
git -C work status --short
git -C work checkout -q main
for d in 1 2 3 4; do for f in work/d$d/*; do echo changed >>"$f"; done; done
git -C work status --short
git -C work commit -q -a -m changed
git -C work gc -q
git -C work log --stat -n 10
S
}
fresh_git() { :; }
run_git() { "$@" sh git.sh; }

# --- tar: there and back, plain and through pipes to and from gzip ---
seed_tar() {
	tree src 10000
	cat >tar.sh <<'S'
tar -cf work/a.tar src
tar -xf work/a.tar -C work
tar -cf - src | gzip -1 >work/b.tar.gz
gzip -dc work/b.tar.gz | tar -xf - -C work/again
S
}
fresh_tar() { mkdir -p work/again; }
run_tar() { "$@" sh tar.sh; }

# --- gcc: make -j2 of small sources ---
seed_gcc() {
	mkdir src
	for k in $(seq 24); do
		{
			echo '#include <stdio.h>'; echo '#include <stdlib.h>'; echo '#include <string.h>'
			for f in $(seq 60); do echo "int f${k}_$f(int x) { return printf(\"%d\", x * $f); }"; done
		} >src/f$k.c
	done
	echo 'int main(void) { return 0; }' >src/main.c
	cat >src/Makefile <<'M'
objects := $(patsubst %.c,%.o,$(wildcard *.c))
main: $(objects)
	gcc -o $@ $(objects)
%.o: %.c
	gcc -O1 -c -o $@ $<
M
}
fresh_gcc() { cp -a src work; }
run_gcc() { "$@" make -s -j2 -C work; }

# --- python3: many files, json, copies of trees ---
seed_python3() {
	# What "python3" is can be a shell script that looks for the real one.
	python=$(python3 -c 'import sys; print(sys.executable)')
	cat >work.py <<'P'
import json, os, shutil
for i in range(1500):
    d = f"work/a/d{i % 30}"
    os.makedirs(d, exist_ok=True)
    with open(f"{d}/f{i}.json", "w") as f:
        json.dump({"i": i, "list": list(range(i % 300)), "text": "x" * (i % 1000)}, f)
total = 0
for at, dirs, files in os.walk("work/a"):
    for name in sorted(files):
        with open(os.path.join(at, name)) as f:
            total += len(json.load(f)["list"])
shutil.copytree("work/a", "work/b")
for i in range(30):
    shutil.move(f"work/b/d{i}", f"work/b/e{i}")
shutil.make_archive("work/c", "tar", "work/b")
with open("work/log", "w") as f:
    for i in range(100000):
        f.write(f"{i} {total}\n")
    f.flush()
    os.fsync(f.fileno())
with open("work/log") as f:
    assert sum(1 for line in f) == 100000
shutil.rmtree("work/a/d0") # not all: ext4 would look at their inodes
P
}
fresh_python3() { mkdir work; }
run_python3() { "$@" "$python" work.py; }

# --- fio: four threads, reads and writes at random, fsync, some thinking ---
seed_fio() {
	for k in 0 1 2 3; do head -c 16M /dev/urandom >src$k; done
	cat >load.fio <<'F'
[global]
thread=1
ioengine=psync
rw=randrw
rwmixread=60
bsrange=4k-16k
size=16m
io_size=24m
fsync=32
thinktime=500
thinktime_blocks=2
[thread0]
filename=work/src0
[thread1]
filename=work/src1
[thread2]
filename=work/src2
[thread3]
filename=work/src3
F
}
fresh_fio() { mkdir work; cp src? work; }
run_fio() { "$@" fio --output=fio.out load.fio; }

# --- osync: writes at random with O_SYNC, as of a database, to a file of which half
# is set aside and not written, and an eighth has no blocks ---
seed_osync() {
	python=$(python3 -c 'import sys; print(sys.executable)')
	cat >seed.py <<'P'
import os
fd = os.open("work/db", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 27 << 20)
os.posix_fallocate(fd, 12 << 20, 12 << 20)
for at in range(0, 12 << 20, 65536):
    os.pwrite(fd, os.urandom(65536), at)
os.fsync(fd)
P
	cat >osync.py <<'P'
import os, random
random.seed(1)
fd = os.open("work/db", os.O_RDWR | os.O_SYNC)
page = os.urandom(16384)
for at in random.sample(range(27 << 6), 27 << 6):
    os.pwrite(fd, page, at * 16384)
P
}
fresh_osync() { mkdir work && "$python" seed.py; }
run_osync() { "$@" "$python" osync.py; }

# --- postgres: a server and all its processes, under pgbench, which is not recorded ---
server=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
as_postgres() { user=postgres plain "$@"; }
seed_postgres() {
	user=postgres
	mkdir src
	chown postgres . src
	as_postgres "$server/initdb" -D src -A trust >initdb.out
	cat >>src/postgresql.conf <<C
listen_addresses = ''
shared_buffers = 8MB
max_wal_size = 32MB
min_wal_size = 32MB
autovacuum_naptime = 1s
C
	as_postgres "$server/pg_ctl" -D src -o "-k $(pwd)" -l pgbench.out -w start >>initdb.out
	"$server/pgbench" -h "$(pwd)" -U postgres -i -q -s ${scale-3} postgres 2>>initdb.out
	as_postgres "$server/pg_ctl" -D src -m fast -w stop >>initdb.out
}
fresh_postgres() { cp -a src work; }
run_postgres() {
	"$@" "$server/postgres" -D work -k "$(pwd)" >server.out 2>&1 &
	until "$server/pg_isready" -q -h "$(pwd)" -U postgres; do
		kill -0 $! || { cat server.out >&2; return 1; }
		sleep 0.02
	done
	"$server/pgbench" -h "$(pwd)" -U postgres -n -c 2 -t 200 -R 200 postgres >pgbench.out 2>&1 || { cat pgbench.out >&2; return 1; }
	as_postgres "$server/pg_ctl" -D work -m fast -W stop >/dev/null
	wait $!
}

# --- rocksdb: four threads that fill and read a database that is larger than its caches ---
seed_rocksdb() { :; }
fresh_rocksdb() { mkdir work; }
run_rocksdb() {
	"$@" db_bench --db=work --benchmarks=fillrandom,readrandom,readwhilewriting --threads=4 --num=8000 --reads=4000 --value_size=400 \
		--write_buffer_size=4194304 --cache_size=1048576 --compression_type=none --open_files=64 --statistics=0 >db_bench.out 2>&1
}

# --- postgres1, postgres8: the same in a closed loop, and recorded with its clients ---
#
# -N leaves out the rows that all transactions of pgbench would change. A server that
# has more time does more autovacuum, so there is none.
seed_closed() {
	seed_postgres
	echo "autovacuum = off" >>src/postgresql.conf
	cat >postgres.sh <<S
PATH=/usr/bin:/bin # not all directories of root's are open to everybody
"$server/postgres" -D work -k "\$(pwd)" -c fsync=\$3 >server.out 2>&1 &
until "$server/pg_isready" -q -h "\$(pwd)"; do
	kill -0 \$! || exit 1
	sleep 0.02
done
"$server/pgbench" -h "\$(pwd)" -n -N -c \$1 -t \$2 postgres || { kill -INT \$!; exit 1; }
kill -INT \$!
wait \$!
S
}
seed_postgres1() { seed_closed; }
seed_postgres8() { seed_closed; }
fresh_postgres1() { fresh_postgres; }
fresh_postgres8() { fresh_postgres; }
run_postgres1() { "$@" sh postgres.sh 1 500 $(on_or_off); }
run_postgres8() { "$@" sh postgres.sh 8 150 $(on_or_off); }
on_or_off() { if [ $synced = yes ]; then echo on; else echo off; fi; }

# --- rocksdb1, rocksdb4, rocksdb16: threads that write, each waiting for its sync;
# the writes of those that wait meanwhile go together ---
seed_rocksdb1() { :; }
seed_rocksdb4() { :; }
seed_rocksdb16() { :; }
fresh_rocksdb1() { mkdir work; }
fresh_rocksdb4() { mkdir work; }
fresh_rocksdb16() { mkdir work; }
run_rocksdb1() { rocksdb 1 600 "$@"; }
run_rocksdb4() { rocksdb 4 250 "$@"; }
run_rocksdb16() { rocksdb 16 120 "$@"; }
rocksdb() {
	threads=$1 num=$2
	shift 2
	"$@" db_bench --benchmarks=fillrandom --sync=$(if [ $synced = yes ]; then echo 1; else echo 0; fi) --threads=$threads --num=$num --value_size=100 --db="$(pwd)/work"
}

# --- mariadb: a server and four clients, each of which waits for its commit ---
seed_mariadb() {
	cat >mariadb.sh <<'S'
server="mariadbd --no-defaults --user=root --skip-grant-tables --skip-networking --datadir=$(pwd)/$1 --socket=$(pwd)/socket \
	--innodb-log-file-size=8M --innodb-buffer-pool-size=16M --innodb-buffer-pool-load-at-startup=0 \
	--innodb-buffer-pool-dump-at-shutdown=0"
$server >server.out 2>&1 &
until [ -S socket ]; do
	kill -0 $! || exit 1
	sleep 0.02
done
mariadb-slap --no-defaults --socket="$(pwd)/socket" "--create=create table t (i int auto_increment primary key, v varchar(100))" \
	"--query=insert into t (v) values ('$(printf %090d 0)')" --concurrency=4 --number-of-queries=$2 || { kill $!; exit 1; }
kill $!
wait $!
S
	mariadb-install-db --no-defaults --user=root --auth-root-authentication-method=normal --innodb-log-file-size=8M --datadir="$(pwd)/src" >install.out 2>&1
	sh mariadb.sh src 4 >first.out # which makes the files of temporary tables
}
fresh_mariadb() { cp -a src work; }
run_mariadb() { "$@" sh mariadb.sh work 500; }

# --- redis: four clients, each of which waits until its command is in the log ---
seed_redis() {
	cat >redis.sh <<'S'
redis-server --port 0 --unixsocket "$(pwd)/work/socket" --dir "$(pwd)/work" --save '' --appendonly yes --appendfsync $1 >server.out 2>&1 &
until [ -S work/socket ]; do
	kill -0 $! || exit 1
	sleep 0.02
done
redis-benchmark -s work/socket -t set -n 1500 -c 4 -q || { kill $!; exit 1; }
redis-cli -s work/socket shutdown nosave
wait $!
S
}
fresh_redis() { mkdir work; }
run_redis() { "$@" sh redis.sh $(if [ $synced = yes ]; then echo always; else echo no; fi); }

# --- sqlite3x3: three processes that write one database, and look again after a
# while where it is locked ---
seed_sqlite3x3() {
	sqlite3 src.db 'create table t (p, i); create index o on t (i)'
	for p in 1 2 3; do
		for i in $(seq 40); do echo "insert into t values ($p, $i); select count(*), max(i) from t;"; done >$p.sql
	done
	cat >three.sh <<'S'
for p in 1 2 3; do
	sqlite3 -cmd '.timeout 60000' -cmd "$1" work/app.db <$p.sql >work/$p.out &
done
wait
S
}
fresh_sqlite3x3() { mkdir work && cp src.db work/app.db; }
run_sqlite3x3() { "$@" sh three.sh "$(pragma)"; }

# --- sqlite3wal: transactions of some rows, by a log that is synced at each ---
seed_sqlite3wal() {
	awk 'BEGIN {
		print "pragma journal_mode = wal; pragma synchronous = full; create table t (k integer primary key, v text);"
		for (i = 0; i < 1200; i++) {
			print "begin;"
			for (k = 0; k < 5; k++) printf "insert into t (v) values (printf(\"%%0600d\", %d));\n", i * 5 + k
			print "commit;"
		}
	}' >wal.sql
}
fresh_sqlite3wal() { mkdir work && : >work/app.db; }
run_sqlite3wal() { "$@" sqlite3 work/app.db ".read wal.sql"; }

# --- make4: make -j4, with a sync of each object ---
seed_make4() {
	seed_gcc
	cat >src/Makefile <<'M'
objects := $(patsubst %.c,%.o,$(wildcard *.c))
main: $(objects)
	gcc -o $@ $(objects)
	sync $@
%.o: %.c
	gcc -O1 -c -o $@ $<
	sync $@
M
}
fresh_make4() { cp -a src work; }
run_make4() { "$@" make -s -j4 -C work; }

# --- pipeline: through pipes to gzip and back, with a sync at the end of each ---
seed_pipeline() {
	tree src 3000
	cat >pipeline.sh <<'S'
tar -cf - src | gzip -1 >work/a.tar.gz
sync work/a.tar.gz
gzip -dc work/a.tar.gz | tar -xf - -C work
sync -f work
S
}
fresh_pipeline() { mkdir work; }
run_pipeline() { "$@" sh pipeline.sh; }

# --- beside: a pipeline that computes, and beside it a writer that syncs and ends before ---
seed_beside() {
	cat >beside.sh <<'S'
for k in $(seq 40); do dd if=/dev/zero of=work/out$k bs=16k count=4 conv=fsync; done &
cat /usr/bin/* 2>/dev/null | head -c 40M | gzip -9 | wc -c
wait
S
}
fresh_beside() { mkdir work; }
run_beside() { "$@" sh beside.sh; }

# --- derby: eight threads that add rows to a database in Java, each waiting for its commit
# (Debian's libderby-java) ---
derby=/usr/share/java/derby.jar
seed_derby() {
	cat >Rows.java <<'J'
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;

class Rows {
	static final String database = "jdbc:derby:work/db";

	public static void main(String[] args) throws Exception {
		try (Connection c = DriverManager.getConnection(database + ";create=true"); Statement s = c.createStatement()) {
			s.execute("create table t (i int generated always as identity, v varchar(100))");
		}
		ExecutorService pool = Executors.newFixedThreadPool(8);
		List<Future<Void>> all = new ArrayList<>();
		for (int i = 0; i < 8; i++)
			all.add(pool.submit(() -> insert(Integer.parseInt(args[0]))));
		for (Future<Void> each : all)
			each.get();
		pool.shutdown();
		try {
			DriverManager.getConnection("jdbc:derby:;shutdown=true");
		} catch (SQLException stopped) { // as it always is
		}
	}

	static Void insert(int rows) throws Exception {
		try (Connection c = DriverManager.getConnection(database); PreparedStatement s = c.prepareStatement("insert into t (v) values (?)")) {
			for (int i = 0; i < rows; i++) {
				s.setString(1, "v".repeat(90));
				s.execute();
			}
		}
		return null;
	}
}
J
	javac Rows.java
}
fresh_derby() { mkdir work; }
run_derby() { "$@" java -Xshare:auto -XX:+UseSerialGC -Dderby.stream.error.file=work/log $(if [ $synced = no ]; then echo -Dderby.system.durability=test; fi) -cp "$derby:." Rows 100; }

# --- etcd: a server of the raft library, and eight clients over HTTP ---
seed_etcd() {
	printf '{"key": "Zm9v", "value": "%0120d"}' 0 >put.json
	cat >etcd.sh <<'S'
etcd --data-dir work --listen-client-urls http://127.0.0.1:23790 --advertise-client-urls http://127.0.0.1:23790 --listen-peer-urls http://127.0.0.1:23800 >server.out 2>&1 &
until curl -s -o health.out -d @put.json http://127.0.0.1:23790/v3/kv/put; do
	kill -0 $! || exit 1
	sleep 0.02
done
ab -q -k -c 8 -n 1000 -p put.json -T application/json http://127.0.0.1:23790/v3/kv/put || { kill $!; exit 1; }
kill $!
wait $!
true # etcd ends by the signal
S
}
fresh_etcd() { mkdir work; }
run_etcd() { "$@" sh etcd.sh; }

# --- java: a pool of four threads that write files and force them ---
seed_java() {
	cat >Pool.java <<'J'
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

class Pool {
	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Integer>> all = new ArrayList<>();
		for (int i = 0; i < 400; i++) {
			Path path = Path.of("work/f" + i);
			all.add(pool.submit(() -> write(path)));
		}
		int sum = 0;
		for (Future<Integer> each : all)
			sum += each.get();
		pool.shutdown();
		System.out.println(sum);
	}

	static int write(Path path) throws Exception {
		byte[] bytes = new byte[16384];
		int sum = 0;
		for (int i = 0; i < bytes.length; i++)
			sum += bytes[i] = (byte) (i * 31 + i / 7);
		try (FileChannel file = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
			file.write(ByteBuffer.wrap(bytes));
			file.force(true);
		}
		return sum;
	}
}
J
	javac Pool.java
}
fresh_java() { mkdir work; }
run_java() { "$@" java -Xshare:auto -XX:+UseSerialGC -cp . Pool; }

# --- uring, libaio: random reads and writes with eight in flight, and a sync ---
requests() {
	engine=$1
	shift
	"$@" fio --name=f --filename=work/file --size=64m --io_size=16m --bs=4k --rw=randrw --direct=1 --iodepth=8 \
		--ioengine="$engine" --norandommap --thread --end_fsync=1
}
seed_uring() { head -c 67108864 /dev/urandom >src; }
fresh_uring() { mkdir work && cp src work/file; }
run_uring() { requests io_uring "$@"; }
seed_libaio() { seed_uring; }
fresh_libaio() { fresh_uring; }
run_libaio() { requests libaio "$@"; }

# --- lmdb: a database read through a mapping, and written ---
seed_lmdb() {
	mkdir src
	awk 'BEGIN {
		srand(1)
		print "VERSION=3\nformat=print\ntype=btree\nmapsize=268435456\nHEADER=END"
		for (i = 0; i < 100000; i++) printf " %08d\n %0200d\n", i * 7919 % 100000, rand() * 1e9
		print "DATA=END"
	}' | mdb_load src
	cat >lmdb.sh <<'S'
mdb_dump -p work >work/text
mdb_load -f work/text work/again
S
}
fresh_lmdb() { cp -a src work && mkdir work/again; }
run_lmdb() { "$@" sh lmdb.sh; }

# --- mapread: 2000 touches of a mapping of 64 MiB, at random ---
seed_mapread() {
	head -c 67108864 /dev/urandom >src
	cat >mapread.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void)
{
	int fd = open("work/file", O_RDONLY);
	volatile char *p = mmap(0, 64 << 20, PROT_READ, MAP_SHARED, fd, 0);
	char sum = 0;
	if (fd < 0 || p == MAP_FAILED || madvise((void *)p, 64 << 20, MADV_RANDOM))
		return 1;
	for (int i = 0; i < 2000; i++)
		sum += p[(size_t)random() % (64 << 20)];
	return sum == 0 && p[0] == 1;
}
C
	gcc -O1 -o mapread mapread.c
}
fresh_mapread() { mkdir work && cp src work/file; }
run_mapread() { "$@" ./mapread; }

# --- sqlite3map: queries of a database that is mapped ---
seed_sqlite3map() {
	sqlite3 src.db "create table t (k integer primary key, v text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
		insert into t select i * 7919 % 200003, hex(randomblob(100)) from n;"
	awk 'BEGIN { srand(1); for (i = 0; i < 1000; i++) printf "select sum(length(v)) from t where k between %d and %d;\n", k = int(rand() * 200000), k + 5 }' >map.sql
}
fresh_sqlite3map() { mkdir work && cp src.db work/app.db; }
run_sqlite3map() { "$@" sqlite3 -cmd 'pragma mmap_size = 268435456' work/app.db '.read map.sql'; }

# --- ripgrep: a search of mapped files ---
seed_ripgrep() { tree src 3000; }
fresh_ripgrep() { cp -a src work; }
run_ripgrep() { "$@" rg --mmap -c 'in file 77$' work; }

# --- rocksmap: random reads of tables that are mapped ---
seed_rocksmap() { db_bench --benchmarks=fillseq,compact --num=200000 --value_size=200 --compression_type=none --db="$(pwd)/src" >seed.out 2>&1; }
fresh_rocksmap() { cp -a src work; }
run_rocksmap() {
	"$@" db_bench --benchmarks=readrandom --reads=3000 --num=200000 --use_existing_db=1 --mmap_read=1 --seed=1 --db="$(pwd)/work"
}

# --- lucene: an index of 50 000 texts, and searches in it (Debian's liblucene4.10-java) ---
jars=/usr/share/java/lucene-core-4.10.4.jar:/usr/share/java/lucene-analyzers-common-4.10.4.jar
seed_lucene() {
	cat >Texts.java <<'J'
import java.io.File;
import java.util.Random;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.*;
public class Texts {
	static String word(Random r) { return "w" + (int) (20000 * r.nextDouble() * r.nextDouble()); }
	public static void main(String[] args) throws Exception {
		Random r = new Random(1);
		Directory dir = new MMapDirectory(new File(args[1]));
		if (args[0].equals("index")) {
			IndexWriter to = new IndexWriter(dir, new IndexWriterConfig(org.apache.lucene.util.Version.LATEST, new WhitespaceAnalyzer()));
			for (int i = 0; i < 50000; i++) {
				StringBuilder text = new StringBuilder();
				for (int k = 0; k < 40; k++) text.append(word(r)).append(' ');
				Document d = new Document();
				d.add(new TextField("text", text.toString(), Field.Store.YES));
				to.addDocument(d);
			}
			to.forceMerge(1);
			to.close();
			return;
		}
		IndexSearcher in = new IndexSearcher(DirectoryReader.open(dir));
		long found = 0;
		for (int i = 0; i < 300; i++) {
			TopDocs hits = in.search(new TermQuery(new Term("text", word(r))), 10);
			for (ScoreDoc h : hits.scoreDocs) found += in.doc(h.doc).get("text").length();
		}
		System.out.println(found);
	}
}
J
	javac -cp "$jars" Texts.java
	java -cp "$jars:." Texts index src
}

fresh_lucene() { cp -a src work; }
run_lucene() { "$@" java -cp "$jars:." Texts search work; }

# --- ingest: a list of edges that is larger than its memory becomes a graph ---
seed_ingest() {
	gcc -O2 -o ingest "$TOP/scripts/load/ingest.c"
	./ingest make src 1000000 16000000
}
fresh_ingest() { mkdir work && cp src work/edges; }
run_ingest() { "$@" ./ingest run work/edges work 16777216; }

# --- hydro: a grid that is computed, dumped and read again, in Fortran ---
seed_hydro() {
	gfortran -O2 -o hydro "$TOP/testdata/fortran/hydro.f90"
	mkdir src
	./hydro make src 80
}
fresh_hydro() { cp -a src work; }
run_hydro() { "$@" ./hydro run work 80 100 10; }
