#!/bin/sh
# truth.sh DIR [APP…]: how true is a replay? Takes each application five times in
# turn through a run without a recorder, a recorded run, compile and replay, so
# that all meet the same machine, and shows medians. Each run starts from the
# same files, in DIR, whose file system is the one that is measured. All that it
# makes stands in DIR/APP. PIANOLA is the program to be tried, bin/pianola by
# default. docs/fidelity.md says how to read the figures.
set -eu
all="sqlite3 git tar gcc python3 fio postgres"
rounds=5
dir=$1
shift
[ $# -gt 0 ] || set -- $all
here=$(pwd)
pianola=${PIANOLA-$here/bin/pianola}
sql=$here/scripts/demo.sql
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # where nobody has settings
has() { command -v "$1" >/dev/null 2>&1; }
now() { date +%s.%N; }

# An application is three functions that stand in DIR/APP: seed_APP makes, once,
# what it starts from; fresh_APP puts that into the directory work, which isn't
# there; run_APP runs it, through the command "$@". The user that it runs as is
# in user.
user=
plain() { if [ -n "$user" ]; then setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"; else "$@"; fi; }
recorded() { "$pianola" record ${user:+--user "$user"} -o "trace$i.txt" -- "$@"; }

# fresh APP: what a run begins with. What the last one left is put aside: ext4
# avoids inodes that were removed within the last minutes, and looks at all of
# them whenever it makes a file, so that nothing is removed before the end.
aside=0
fresh() {
	[ ! -e work ] || mv work "left$((aside += 1))"
	fresh_$1
	sync
}
tidy() { cd "$dir" && rm -rf */work */left* */root*; }
trap tidy EXIT

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
run_sqlite3() { "$@" sqlite3 work/app.db ".read $sql"; }

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
shutil.rmtree("work/a")
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
unix_socket_directories = '$(pwd)'
shared_buffers = 8MB
max_wal_size = 32MB
min_wal_size = 32MB
autovacuum_naptime = 1s
C
	as_postgres "$server/pg_ctl" -D src -l pgbench.out -w start >>initdb.out
	"$server/pgbench" -h "$(pwd)" -U postgres -i -q -s 3 postgres 2>>initdb.out
	as_postgres "$server/pg_ctl" -D src -m fast -w stop >>initdb.out
}
fresh_postgres() { cp -a src work; }
run_postgres() {
	"$@" "$server/postgres" -D work >server.out 2>&1 &
	until "$server/pg_isready" -q -h "$(pwd)" -U postgres; do sleep 0.02; done
	"$server/pgbench" -h "$(pwd)" -U postgres -n -c 2 -t 200 -R 200 postgres >pgbench.out 2>&1
	as_postgres "$server/pg_ctl" -D work -m fast -W stop >/dev/null
	wait $!
}

# tell APP: the medians of its rounds.
tell() {
	python3 - "$1" "$rounds" <<'PY'
import json, re, statistics, sys
app, rounds = sys.argv[1], range(1, int(sys.argv[2]) + 1)
read = lambda name: [open(name.replace("N", str(i))).read() for i in rounds]
compared = [json.loads(x) for x in read("compareN.json")]
replays = [json.loads(x) for x in read("replayN.json")]
plain = [float(x) for x in read("plainN")]
recorded = [float(x) for x in read("recordedN")]
unexplained = [int(re.search(r"^not explained: (\d+)", x, re.M)[1]) for x in read("reportN.txt")]
median = statistics.median
side = lambda c, row, who: c[who].get(row + "_seconds") or 0
replay = [side(c, "elapsed", "replay") for c in compared]
print(f"\n{app}: run time {median(plain):.3f} s plain ({min(plain):.3f} to {max(plain):.3f}), {median(recorded):.3f} s recorded, "
      f"{median(side(c, 'elapsed', 'application') for c in compared):.3f} s compiled, {median(replay):.3f} s replayed ({median(replay) / median(plain):.3f} of plain)")
print(f"{median(r['events']['executed'] for r in replays):.0f} events, {max(r['events']['failed'] for r in replays)} failed, "
      f"{max(r['events']['differed'] for r in replays)} differed, {max(unexplained)} not explained; "
      f"waited for order {median(r['order_wait_seconds'] for r in replays):.3f} s, late decodes {median(r['late_decodes'] for r in replays):.0f}")
print(f"{'':10} {'application s':>13} {'replay s':>10} {'ratio':>7}  ratios of the rounds")
for row in "read", "write", "sync", "metadata", "elapsed":
    each = sorted(side(c, row, "replay") / side(c, row, "application") for c in compared if side(c, row, "application"))
    if each:
        a, b = (median(side(c, row, who) for c in compared) for who in ("application", "replay"))
        print(f"{row:10} {a:13.4f} {b:10.4f} {median(each):7.3f}  " + " ".join(f"{x:.3f}" for x in each))
PY
}

for app in "$@"; do
	case " $all " in *" $app "*) ;; *) echo "truth.sh: no application $app; there are: $all" >&2; exit 2 ;; esac
	case $app in
	postgres) [ -n "$server" ] && [ "$(id -u)" = 0 ] ;;
	gcc) has gcc && has make ;;
	*) has $app ;;
	esac || { echo "$app: left out, it is not here or, for postgres, this is not root"; continue; }
	user=
	rm -rf "$dir/$app"
	mkdir "$dir/$app"
	cd "$dir/$app"
	seed_$app
	fresh $app
	run_$app plain >run.out 2>&1 # warms up
	for i in $(seq $rounds); do
		fresh $app
		a=$(now); run_$app plain >run.out 2>&1; b=$(now)
		echo "$a $b" | awk '{ print $2 - $1 }' >plain$i
		fresh $app
		run_$app recorded >run.out 2>record.err || { cat record.err >&2; exit 1; }
		awk '/^# elapsed:/ { print $3 }' trace$i.txt >recorded$i
		"$pianola" compile --report report$i.txt -o trace$i.bin trace$i.txt 2>compile.err || { cat compile.err >&2; exit 1; }
		"$pianola" replay --root root$i --keep --json --log replay$i.log trace$i.bin >replay$i.json || [ $? = 1 ]
		"$pianola" compare --json --tolerance 1000% trace$i.bin replay$i.log >compare$i.json
	done
	tell $app
done
