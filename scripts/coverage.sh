#!/bin/sh
# coverage.sh DIR [CASE…]: how much of a program's I/O does a recording hold?
# Records each case once, and prints a row of a table: what the recording says of
# its coverage, beside what the kernel counted for the processes and what the
# program is known to move. Where OLD is another pianola, the last column is what
# that says of the same case. All that it makes stands in DIR/CASE. PIANOLA is the
# program to be tried, bin/pianola by default. docs/internals/coverage.md says how to read
# the figures.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola} old=${OLD-}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
cases="true ls pipeline curl redis nginx nginx-sendfile sqlite3 sqlite3-mmap git gcc python3 tar rsync restic borg \
fio-psync fio-mmap fio-mmap-write fio-huge fio-libaio fio-io_uring fio-sqpoll fio-fixed fio-batch \
mariadb postgres rocksdb-fill rocksdb-mmap rocksdb-direct lmdb lmdb-writemap \
qemu-img qemu-native qemu-aio qemu-io_uring java-map java-stream"
[ $# -gt 0 ] || set -- $cases
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings
port=7411
server=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)

# describe CASE: sets programs, which the case needs, seed, which makes what each run
# starts from, command, which is recorded, and moves, the bytes that the program
# is known to move, as far as that can be said. Both are for sh, in a directory
# of the case, and small. Its files are in the page cache if warm is set.
describe() {
	programs=${1%%-*} seed=: moves='' warm=''
	fio="fio --name=x --filename=data --size=32M --bs=4k --output=fio.out"
	laid="$fio --rw=write --end_fsync=1"
	bench="db_bench --num=100000 --value_size=200 --compression_type=none --db=db"
	up() { echo "until $1 >up.out 2>&1; do sleep 0.1; done"; }
	case $1 in
	true | ls) command="$1" ;;
	pipeline) programs=sort command="find /usr/share/doc | sort | tail -n 1" ;;
	curl) seed="head -c 20M /dev/urandom >data" moves=41943040 command="curl -s -o copy file://$dir/$1/work/data" ;;
	redis)
		programs=redis-benchmark
		command="redis-server --port $port --save '' --appendonly yes >server.out & $(up "redis-cli -p $port ping")
			redis-benchmark -p $port -q -n 20000 -t set,get; redis-cli -p $port shutdown nosave; wait"
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
		seed="mariadb-install-db --no-defaults --user=root --datadir=\$PWD/db --skip-test-db --auth-root-authentication-method=normal"
		command="mariadbd --no-defaults --user=root --datadir=\$PWD/db --socket=$dir/mariadb.socket --skip-networking --innodb-buffer-pool-size=16M 2>server.out &
			sql() { mariadb --no-defaults -u root -S $dir/mariadb.socket \"\$@\"; }
			$(up "sql -e 'select 1'")
			sql -e \"create database d; use d; create table t(a int primary key auto_increment, b varchar(400));
				insert into t(b) select repeat(md5(seq), 10) from seq_1_to_60000; update t set b = concat(b, 'x'); select count(*) from t where b like '%ab%'\"
			mariadb-admin --no-defaults -u root -S $dir/mariadb.socket shutdown; wait"
		;;
	postgres)
		programs=setpriv
		[ -n "$server" ] || programs="postgres-server"
		seed="chown postgres .; setpriv --reuid postgres --regid postgres --clear-groups $server/initdb -D db -A trust"
		command="chown postgres .; setpriv --reuid postgres --regid postgres --clear-groups $server/postgres -D db -k $dir/$1/work -c listen_addresses='' -c shared_buffers=8MB 2>server.out &
			$(up "$server/pg_isready -q -h $dir/$1/work")
			$server/pgbench -h $dir/$1/work -U postgres -i -q -s 3 postgres; $server/pgbench -h $dir/$1/work -U postgres -c 2 -t 300 postgres
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
	*) fail 2 "no case $1; there are: $cases" ;;
	esac
}

# run PROGRAM TRACE: records the case from a new start, with what the kernel has
# counted for its processes in io.
run() {
	rm -rf work io
	mkdir work
	into seed.out sh -c "cd work; $seed"
	sync
	[ -n "$warm" ] || find work -type f -size +1M -exec dd if={} iflag=nocache count=0 status=none \; # out of the page cache
	into run.out timeout 120 "$1" record -o "$2" -- sh -c "cd work; ($command); while read -r name n; do echo \"\$name \$n\"; done </proc/\$\$/io >../io"
}

# before: what another pianola says of it.
before() {
	run "$old" old.txt
	lost=$(sed -n 's/^# lost: \([0-9]*\).*/lost \1/p' old.txt)
	strict=refuses
	"$old" compile --strict -o old.bin old.txt >strict.out 2>&1 && strict=passes
	"$old" compile -o old.bin old.txt >compile.out 2>&1 || :
	timeout 120 "$old" replay --root root --log old.log old.bin >replay.out 2>&1 || :
	"$old" compare old.bin old.log >compare.out 2>&1 || :
	echo "$lost, strict $strict, $(tail -n 1 compare.out)"
}

# row CASE: its line of the table.
row() {
	awk -v name="$1" -v moves="$moves" -v said_before="$2" '
		function bytes(n) { return n >= 1e9 ? sprintf("%.2f GB", n / 1e9) : n >= 1e6 ? sprintf("%.2f MB", n / 1e6) : n >= 1e3 ? sprintf("%.1f kB", n / 1e3) : n " B" }
		FILENAME == "counted" { io[$1] = $2; next }
		/^# coverage:/ { split($3, f, "="); held = f[2] }
		FILENAME == "said" && /coverage: / { sub(/.*coverage: /, ""); said = $0 }
		END {
			split(said, part, "; missing: ")
			split(part[1], share, " of the ")
			sub(/bytes, /, "", share[2])
			printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, share[1], share[2], part[2], bytes(held),
				bytes(io["rchar:"] + io["wchar:"]), bytes(io["read_bytes:"] + io["write_bytes:"]), moves == "" ? "" : bytes(moves), said_before
		}' counted trace.head said
}

echo '| case | of the bytes | of the time | not recorded | recorded | through calls | from and to storage | known | before |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for case in "$@"; do
	describe "$case"
	for program in $programs; do
		has "$program" || { echo "$case: left out, $program is not here" >&2; continue 2; }
	done
	at "$case: the recording"
	rm -rf "${dir:?}/$case"
	mkdir "$dir/$case"
	cd "$dir/$case"
	run "$pianola" trace.txt
	grep '^# coverage' trace.txt >trace.head
	mv io counted
	"$pianola" compile -o trace.bin trace.txt >said 2>&1
	at "$case: the other program"
	said=
	[ -z "$old" ] || said=$(before)
	row "$case" "$said"
done
