# cases.sh: small programs that are recorded for one question each, to be sourced by
# sides.sh. A function for each question, such as covered, takes the name of a case and
# sets seed, which makes what each run starts from, and command. Both are for sh: seed
# runs in the directory seed, and command in its copy work. programs are what a case needs.
port=7411
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
up() { echo "until $1 >up.out 2>&1; do sleep 0.1; done"; }
postgres=setpriv
[ -n "$server" ] || postgres=postgres-server
as='setpriv --reuid postgres --regid postgres --clear-groups'
# A socket's name has at most 107 bytes.
seed_postgres="chown postgres .; $as $server/initdb -D db -A trust
	$as $server/pg_ctl -D db -o \"-k /tmp -p $port -c listen_addresses=''\" -l seed.log -w start
	$server/pgbench -h /tmp -p $port -U postgres -i -q -s 3 postgres; $as $server/pg_ctl -D db -m fast -w stop"
seed_mariadb="mariadb-install-db --no-defaults --user=root --datadir=\$PWD/db --skip-test-db --auth-root-authentication-method=normal"

# on_redis and on_mariadb print commands that run others while a server runs.
on_redis() {
	echo "redis-server --port $port --save '' --appendonly yes >server.out & $(up "redis-cli -p $port ping")
		$1; redis-cli -p $port shutdown nosave; wait"
}
on_mariadb() {
	echo "mariadbd --no-defaults --user=root --datadir=\$PWD/db --socket=/tmp/mariadb.$port --skip-networking --innodb-buffer-pool-size=16M 2>server.out &
		$1
		mariadb-admin --no-defaults -u root -S /tmp/mariadb.$port shutdown; wait"
}

# covered CASE: moves is what the program is known to move, in bytes, as far as that can be
# said. Its files are in the page cache if warm is set.
covered() {
	programs=${1%%-*} seed=: moves='' warm=''
	fio="fio --name=x --filename=data --size=32M --bs=4k --output=fio.out"
	laid="$fio --rw=write --end_fsync=1"
	bench="db_bench --num=100000 --value_size=200 --compression_type=none --db=db"
	case $1 in
	true | ls) command="$1" ;;
	pipeline) programs=sort command="find /usr/share/doc | sort | tail -n 1" ;;
	curl) seed="head -c 20M /dev/urandom >data" moves=41943040 command="curl -s -o copy file://$(pwd)/work/data" ;;
	redis)
		programs=redis-benchmark
		command=$(on_redis "redis-benchmark -p $port -q -n 20000 -t set,get")
		;;
	nginx | nginx-sendfile)
		programs="nginx curl" sendfile=off
		[ $1 = nginx ] || sendfile=on
		seed="head -c 1M /dev/urandom >data
			echo 'daemon off; pid pid; error_log stderr; events {} user root;
			http { access_log off; sendfile $sendfile; server { listen 127.0.0.1:$port; root .; } }' >conf"
		moves=104857600
		command="nginx -p . -c conf 2>server.out & $(up "curl -sfo got http://127.0.0.1:$port/conf")
			for i in \$(seq 100); do curl -s http://127.0.0.1:$port/data; done >/dev/null; kill \$!; wait"
		;;
	sqlite3) command="sqlite3 app.db \".read '$sql'\"" ;;
	sqlite3-mmap) seed="sqlite3 app.db \".read '$sql'\"" command="sqlite3 app.db 'pragma mmap_size=268435456; pragma integrity_check'" ;;
	git)
		seed="git init -q src; for i in \$(seq 200); do seq \$i 3000 >src/\$i; done; git -C src add .
			git -C src -c user.name=a -c user.email=a@b commit -q -m all"
		command="git clone -q --no-hardlinks src copy; git -C copy gc -q"
		;;
	gcc) seed="echo '#include <stdio.h>
			int main(void) { return puts(\"x\"); }' >x.c" command="gcc -O2 -o x x.c; ./x" ;;
	python3) command="python3 -c 'import json, ssl, sqlite3, decimal; open(\"x\", \"w\").write(\"x\" * 3000000)'" ;;
	tar) command="tar -cf x.tar /usr/include; tar -xf x.tar" ;;
	rsync) command="rsync -a /usr/include ." ;;
	restic) seed="RESTIC_PASSWORD=x restic init -q -r repo" command="RESTIC_PASSWORD=x restic -q -r repo backup --no-cache /usr/include/linux" ;;
	borg) seed="borg init -e none repo" command="borg create repo::a /usr/include/linux" ;;
	fio-psync) moves=33554432 seed="$laid" command="$fio --rw=randrw --ioengine=psync" ;;
	fio-mmap) moves=33554432 seed="$laid" command="$fio --rw=randread --ioengine=mmap" ;;
	fio-mmap-write) moves=33554432 seed="$laid" command="$fio --rw=randwrite --ioengine=mmap" ;;
	fio-huge) moves=33554432 warm=yes seed="dd if=/dev/zero of=data bs=32M count=1; sync" command="$fio --rw=read --ioengine=mmap --invalidate=0" ;;
	fio-libaio) moves=33554432 seed="$laid" command="$fio --rw=randrw --ioengine=libaio --direct=1 --iodepth=16" ;;
	fio-io_uring) moves=33554432 seed="$laid" command="$fio --rw=randrw --ioengine=io_uring --iodepth=16" ;;
	fio-sqpoll) moves=33554432 seed="$laid" command="$fio --rw=randread --ioengine=io_uring --direct=1 --sqthread_poll=1 --iodepth=16" ;;
	fio-fixed) moves=33554432 seed="$laid" command="$fio --rw=randread --ioengine=io_uring --direct=1 --fixedbufs=1 --registerfiles=1 --iodepth=16" ;;
	fio-batch) moves=100663296 seed="$laid" command="$fio --rw=randrw --ioengine=libaio --direct=1 --iodepth=16 --iodepth_batch=8 --numjobs=3" ;;
	mariadb)
		programs="mariadbd mariadb-install-db"
		seed=$seed_mariadb
		command=$(on_mariadb "sql() { mariadb --no-defaults -u root -S /tmp/mariadb.$port \"\$@\"; }
			$(up "sql -e 'select 1'")
			sql -e \"create database d; use d; create table t(a int primary key auto_increment, b varchar(400));
				insert into t(b) select repeat(md5(seq), 10) from seq_1_to_60000; update t set b = concat(b, 'x'); select count(*) from t where b like '%ab%'\"")
		;;
	postgres)
		programs=$postgres
		seed="chown postgres .; $as $server/initdb -D db -A trust"
		command="chown postgres .; $as $server/postgres -D db -k $(pwd)/work -c listen_addresses='' -c shared_buffers=8MB 2>server.out &
			$(up "$server/pg_isready -q -h $(pwd)/work")
			$server/pgbench -h $(pwd)/work -U postgres -i -q -s 3 postgres; $server/pgbench -h $(pwd)/work -U postgres -c 2 -t 300 postgres
			kill -INT \$!; wait"
		;;
	rocksdb-fill) programs=db_bench command="$bench --benchmarks=fillseq" ;;
	rocksdb-mmap) programs=db_bench seed="$bench --benchmarks=fillseq,compact" command="$bench --benchmarks=readrandom --reads=30000 --use_existing_db=1 --mmap_read=1" ;;
	rocksdb-direct) programs=db_bench seed="$bench --benchmarks=fillseq,compact" command="$bench --benchmarks=readrandom --reads=3000 --use_existing_db=1 --use_direct_reads=1" ;;
	lmdb | lmdb-writemap)
		programs=mdb_stat map=False
		[ $1 = lmdb ] || map=True
		seed="cat >load.py <<P
import lmdb
e = lmdb.open('db', map_size=1 << 30, writemap=$map)
for b in range(20):
    with e.begin(write=True) as t:
        for i in range(2000):
            t.put(b'%08d' % (b * 2000 + i), b'x' * 300)
with e.begin() as t:
    print(sum(len(v) for k, v in t.cursor()))
P
/usr/bin/python3 -c 'import lmdb'"
		command="/usr/bin/python3 load.py"
		;;
	qemu-img) programs=qemu-img seed="head -c 64M /dev/urandom >data" moves=134217728 command="qemu-img convert -f raw -O qcow2 data copy" ;;
	qemu-native) programs=qemu-img seed="head -c 64M /dev/urandom >data" moves=134217728 command="qemu-img convert -f raw -O raw -T none -t none data copy" ;;
	qemu-aio) programs=qemu-img seed="head -c 64M /dev/urandom >data" moves=8192000 command="qemu-img bench -i native -t none -f raw -c 2000 -s 4096 data" ;;
	qemu-io_uring) programs=qemu-img seed="head -c 64M /dev/urandom >data" moves=8192000 command="qemu-img bench -i io_uring -t none -f raw -c 2000 -s 4096 data" ;;
	java-map | java-stream)
		programs="java javac" moves=33554432
		seed="head -c 32M /dev/urandom >data; cat >Read.java <<J
import java.io.*; import java.nio.*; import java.nio.channels.*; import java.nio.file.*;
class Read { public static void main(String[] a) throws Exception {
	long sum = 0;
	if (a[0].equals(\"java-map\")) try (FileChannel c = FileChannel.open(Path.of(\"data\"))) {
		MappedByteBuffer b = c.map(FileChannel.MapMode.READ_ONLY, 0, c.size());
		while (b.hasRemaining()) sum += b.get();
	} else try (InputStream in = new FileInputStream(\"data\")) {
		byte[] b = new byte[65536];
		for (int n; (n = in.read(b)) > 0;) sum += n;
	}
	System.out.println(sum);
} }
J
javac Read.java"
		command="java Read $1"
		;;
	esac
}

# waiting CASE: programs whose threads and processes wait for one another, with what they
# talk to.
waiting() {
	programs=${1%%-*} seed=:
	case $1 in
	postgres-*)
		programs=$postgres
		seed=$seed_postgres
		host=127.0.0.1
		[ "$1" = postgres-tcp ] || host=/tmp
		command="$as $server/postgres -D db -k /tmp -p $port -c listen_addresses=127.0.0.1 2>server.out &
			$(up "$server/pg_isready -q -h $host -p $port")
			$server/pgbench -h $host -p $port -U postgres -n -c 4 -j 2 -t 500 postgres
			kill -INT \$!; wait"
		;;
	mariadb)
		programs="mariadbd mariadb-install-db mariadb-slap"
		seed=$seed_mariadb
		command=$(on_mariadb "$(up "mariadb-admin --no-defaults -u root -S /tmp/mariadb.$port ping")
			mariadb-slap --no-defaults -u root -S /tmp/mariadb.$port --auto-generate-sql --concurrency=4 --number-of-queries=2000 --engine=innodb")
		;;
	redis)
		programs="redis-server redis-benchmark"
		command=$(on_redis "redis-benchmark -p $port -q -n 20000 -c 20 -t set,get")
		;;
	rocksdb-*) programs=db_bench command="db_bench --benchmarks=fillrandom --sync=1 --threads=${1#*-} --num=$((4000 / ${1#*-})) --db=db" ;;
	sqlite3)
		seed="sqlite3 app.db 'create table t(a, b)'
			for k in \$(seq 200); do echo \"insert into t values(\$k, hex(randomblob(200)));\"; done >inserts"
		command="for k in 1 2 3; do sqlite3 -cmd '.timeout 60000' app.db <inserts & done; wait"
		;;
	make) programs="make gcc" seed="seed_gcc; mv src/* ." command="make -s -j4" ;;
	pipeline) programs=sort command="find /usr/share/doc /usr/include | sort -r | gzip -9 | wc -c" ;;
	go) seed="(cd $TOP/scripts/load/pool && go build -o $(pwd)/work/pool .)" command="./pool" ;;
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
	esac
}

# diagnosed CASE: rules are the findings that are followed, by the command changed, or by
# try, a candidate of the laboratory.
diagnosed() {
	programs=${1%%-*} seed=: changed='' try=''
	inserts="for k in \$(seq 300); do echo \"insert into t values(\$k, hex(randomblob(200)));\"; done"
	laid="fio --name=x --filename=data --size=32m --rw=write --bs=1m --end_fsync=1"
	redis() {
		echo "redis-server --port 0 --unixsocket \$PWD/s --dir \$PWD --save '' --appendonly yes --appendfsync $1 >out 2>&1 &
			until [ -S s ]; do sleep 0.01; done; redis-benchmark -s s -t set -n 3000 -c 4 -q; redis-cli -s s shutdown nosave; wait"
	}
	case $1 in
	sqlite3-journal)
		seed="sqlite3 app.db 'create table t(a, b)'; $inserts >inserts"
		command="sqlite3 app.db <inserts" changed="sqlite3 -cmd 'pragma journal_mode=wal' -cmd 'pragma synchronous=normal' app.db <inserts" rules=rollback-journal
		;;
	sqlite3-wal)
		seed="sqlite3 app.db 'pragma journal_mode=wal; create table t(a, b)'; $inserts >inserts"
		command="sqlite3 app.db <inserts" changed="(echo 'begin;'; cat inserts; echo 'commit;') | sqlite3 app.db" rules=sync
		;;
	sqlite3-cache)
		seed="sqlite3 app.db \"create table t(k integer primary key, v text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
			insert into t select i, hex(randomblob(200)) from n\"
			echo 'select sum(length(v)) from t join (with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) select i * 7919 % 59999 + 1 as j from n) on k = j;' >query"
		command="sqlite3 app.db <query" changed="sqlite3 -cmd 'pragma cache_size=-100000' app.db <query" rules="read-again small-reads"
		;;
	sqlite3-cold)
		seed="sqlite3 app.db \"create table t(k integer primary key, v text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
			insert into t select i, hex(randomblob(200)) from n\"
			for k in \$(seq 3000); do echo \"select length(v) from t where k = \$((k * 7919 % 99991 + 1));\"; done >query"
		command="dd if=app.db iflag=nocache count=0 2>dd.out; sqlite3 app.db <query" changed="cat app.db >/dev/null; sqlite3 app.db <query" rules=random-reads
		;;
	redis) programs="redis-server redis-benchmark" command=$(redis always) changed=$(redis everysec) rules=sync ;;
	rocksdb) programs=db_bench command="db_bench --benchmarks=fillrandom --sync=1 --num=2000 --db=db" changed="db_bench --benchmarks=fillrandom --sync=0 --num=2000 --db=db" rules=sync ;;
	postgres)
		programs=$postgres
		seed=$seed_postgres
		run="& until $server/pg_isready -q -h /tmp -p $port; do sleep 0.01; done
			$server/pgbench -h /tmp -p $port -U postgres -n -N -c 1 -t 1000 postgres; kill -INT \$!; wait"
		command="$as $server/postgres -D db -k /tmp -p $port -c listen_addresses='' 2>server.out $run"
		changed="$as $server/postgres -D db -k /tmp -p $port -c listen_addresses='' -c synchronous_commit=off 2>server.out $run" rules=sync
		;;
	lmdb)
		programs=mdb_load
		seed="awk 'BEGIN { print \"VERSION=3\\nformat=print\\ntype=btree\\nmapsize=268435456\\nHEADER=END\"; for (i = 0; i < 30000; i++) printf \" %08d\\n %0200d\\n\", i * 7919 % 30000, i; print \"DATA=END\" }' >text; mkdir db"
		command="mdb_load -f text db" try=sync=none rules="sync synchronous-writes"
		;;
	fio-osync) seed=$laid command="fio --name=x --filename=data --size=32m --rw=randwrite --bs=16k --io_size=16m --sync=1 --ioengine=psync" changed="fio --name=x --filename=data --size=32m --rw=randwrite --bs=16k --io_size=16m --fsync=64 --ioengine=psync" rules=synchronous-writes ;;
	fio-random) seed=$laid command="fio --name=x --filename=data --size=32m --rw=randread --bs=4k --ioengine=psync --thread" changed="fio --name=x --filename=data --size=32m --rw=randread --bs=4k --ioengine=io_uring --iodepth=32 --direct=1 --thread" rules=random-reads ;;
	fio-direct) seed=$laid command="fio --name=x --filename=data --size=32m --rw=read --bs=4k --direct=1 --ioengine=psync --thread" changed="fio --name=x --filename=data --size=32m --rw=read --bs=1m --direct=1 --ioengine=psync --thread" rules=direct-in-sequence ;;
	dd-small) command="dd if=/dev/zero of=data bs=64 count=400000" changed="dd if=/dev/zero of=data bs=64k count=390" rules=small-writes ;;
	tar) seed="tree src 4000; tar -cf a.tar src; rm -rf src" command="tar -xf a.tar" try=backend=memory rules="metadata" ;;
	git)
		seed="tree src 1500; git -c init.defaultBranch=main init -q src; git -C src add .; git -C src commit -q -m 1"
		command="git clone -q --no-hardlinks src copy; git -C copy status; git -C copy gc -q" try=backend=memory rules="compute metadata"
		;;
	make) programs="make gcc" seed="seed_gcc; mv src/* ." command="make -s -j2" try=backend=memory rules=compute ;;
	python3) seed="seed_python3; mkdir work" command="python3 work.py" try=backend=memory rules="compute metadata" ;;
	gcc-path)
		seed="mkdir m; for d in \$(seq 300); do mkdir p\$d; echo 'int x;' >p\$d/other.h; done
			for i in \$(seq 300); do echo \"int x\$i;\" >m/h\$i.h; echo \"#include <h\$i.h>\"; done >all.c"
		command="gcc \$(seq -f -Ip%g 300) -Im -E -o all.i all.c" changed="gcc -Im \$(seq -f -Ip%g 300) -E -o all.i all.c" rules=failing-names
		;;
	ripgrep) programs=rg seed="tree src 6000" command="rg -j1 -c 'in file 77$' src" try=backend=memory rules="compute metadata" ;;
	mariadb) seed="seed_mariadb; mv src db" command="sh mariadb.sh db 500" try=sync=none rules=sync ;;
	esac
}

# checked CASE: synced is command with one more fsync for each transaction, commit or step
# of the build, and more is command with 1 % more bytes.
checked() {
	programs=$1
	case $1 in
	sqlite3)
		seed="sqlite3 app.db 'create table t(i, data)'
			for n in 100 101; do for i in \$(seq \$n); do echo \"insert into t values(\$i, zeroblob(3000));\"; done >\$n.sql; done"
		command="sqlite3 app.db '.read 100.sql'"
		synced="sqlite3 app.db 'pragma synchronous = extra' '.read 100.sql'"
		more="sqlite3 app.db '.read 101.sql'"
		;;
	git)
		export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		seed="git -c init.defaultBranch=main init -q .
			mkdir some more
			for i in \$(seq 8); do
				head -c 20000 /dev/urandom >some/\$i
				{ cat some/\$i; head -c 208 /dev/urandom; } >more/\$i
			done
			echo 'for i in \$(seq 8); do cp \$1/\$i f\$i; git add f\$i; git \$2 commit -q -m \$i; done' >commits"
		command="sh commits some"
		synced="sh commits some '-c core.fsync=reference'"
		more="sh commits more"
		;;
	make)
		programs="make gcc"
		seed="for k in \$(seq 6); do
				{ echo '#include <stdio.h>'; for f in \$(seq 30); do echo \"int f\${k}_\$f(int x) { return printf(\\\"%d\\\", x * \$f); }\"; done; } >f\$k.c
			done
			echo 'int main(void) { return 0; }' >main.c
			echo 'char data[SIZE] = {1};' >data.c
			printf '%b\n' 'objects := main.o data.o f1.o f2.o f3.o f4.o f5.o f6.o' 'SIZE = 20000' 'main: \$(objects)' '\tgcc -o \$@ \$(objects)' \
				'%.o: %.c' '\tgcc -O1 -DSIZE=\$(SIZE) -c -o \$@ \$<' '\t\$(SYNC)' >Makefile"
		command="make -s -j2"
		synced="make -s -j2 SYNC='sync \$@'"
		more="make -s -j2 SIZE=20770"
		;;
	esac
}
