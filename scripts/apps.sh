# apps.sh: the applications that scripts try replays with, to be sourced with
# lib.sh, LC_ALL=C and HOME where nobody has settings. sql is the file of the demo.
#
# An application is three functions that stand in a directory of its own: seed_APP
# makes, once, what it starts from; fresh_APP puts that into the directory work,
# which isn't there; run_APP runs it, through the command "$@". The user that it
# runs as is in user. What was seeded can be copied and runs elsewhere.
all="sqlite3 git tar gcc python3 fio postgres"
threaded="rocksdb mariadb redis" # databases, for scripts that take them besides
user=
now() { date +%s.%N; }
plain() { if [ -n "$user" ]; then setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"; else "$@"; fi; }

# known APP…: ends the script where one of them is none.
known() {
	for app in "$@"; do
		case " $all " in *" $app "*) ;; *) fail 2 "no application $app; there are: $all" ;; esac
	done
}

# here APP: whether the machine has it, or says that it has not.
here() {
	case $1 in
	postgres) [ -n "$server" ] && [ "$(id -u)" = 0 ] ;;
	gcc) has gcc && has make ;;
	rocksdb) has db_bench ;;
	mariadb) has mariadbd && has mariadb-slap && [ "$(id -u)" = 0 ] ;;
	redis) has redis-server && has redis-benchmark ;;
	*) has "$1" ;;
	esac || { echo "$1: left out, it is not here or, for postgres, this is not root"; return 1; }
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
run_sqlite3() { "$@" sqlite3 work/app.db ".read '$sql'"; }

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
shutil.rmtree("work/a/d0") # not all: see fresh in truth.sh
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
	"$server/pgbench" -h "$(pwd)" -U postgres -i -q -s 3 postgres 2>>initdb.out
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

# --- mariadb: a server and its threads, under four clients, which are not recorded ---
seed_mariadb() {
	user=mysql
	mkdir src
	chown mysql . src
	mariadb-install-db --no-defaults --user=mysql --datadir="$(pwd)/src" --auth-root-authentication-method=normal >install.out 2>&1 || { cat install.out >&2; return 1; }
}
fresh_mariadb() { cp -a src work; }
run_mariadb() {
	"$@" "$(command -v mariadbd)" --no-defaults --datadir="$(pwd)/work" --socket="$(pwd)/sock" --skip-networking --innodb-buffer-pool-size=8M >server.out 2>&1 &
	until mariadb-admin --no-defaults --socket="$(pwd)/sock" -u root ping >ping.out 2>&1; do
		kill -0 $! || { cat server.out >&2; return 1; }
		sleep 0.02
	done
	mariadb-slap --no-defaults --socket="$(pwd)/sock" -u root --concurrency=4 --number-of-queries=1000 --auto-generate-sql \
		--auto-generate-sql-load-type=mixed --auto-generate-sql-guid-primary --engine=innodb >slap.out 2>&1 || { cat slap.out >&2; return 1; }
	mariadb-admin --no-defaults --socket="$(pwd)/sock" -u root shutdown
	wait $!
}

# --- redis: a server that keeps a log, under its benchmark, which is not recorded ---
seed_redis() { :; }
fresh_redis() { mkdir work; }
run_redis() {
	"$@" redis-server --port 0 --unixsocket "$(pwd)/sock" --dir work --appendonly yes --save '' >server.out 2>&1 &
	until redis-cli -s "$(pwd)/sock" ping >ping.out 2>&1; do
		kill -0 $! || { cat server.out >&2; return 1; }
		sleep 0.02
	done
	redis-benchmark -s "$(pwd)/sock" -c 8 -n 40000 -q -t set,get,lpush >benchmark.out 2>&1 || { cat benchmark.out >&2; return 1; }
	redis-cli -s "$(pwd)/sock" shutdown >>ping.out 2>&1 || true
	wait $!
}
