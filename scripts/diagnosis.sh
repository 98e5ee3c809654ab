#!/bin/sh
# diagnosis.sh DIR [CASE…]: is the diagnosis right? Records each case once and prints
# what profile says to look at. Then it follows that: in the program, which runs ROUNDS times (3)
# as it is and changed, in turn, or in the laboratory. Prints a row for each case: the
# findings, what is left of the recorded run without the time of those that are
# followed, and the run times as it is and changed, medians. With ADVISE=1 two columns follow: what
# pianola lab (six runs) found worth doing, with the gain that it predicts, and the gain of the change. All that it makes stands in DIR/CASE. PIANOLA is the
# program to be tried, bin/pianola by default. docs/internals/diagnosis.md has the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-3} dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
. scripts/apps.sh
cases="sqlite3-journal sqlite3-wal sqlite3-cache sqlite3-cold redis rocksdb postgres lmdb fio-osync fio-random fio-direct \
dd-small gcc-path tar git make python3 ripgrep mariadb"
[ $# -gt 0 ] || set -- $cases
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

# describe CASE: sets programs, which the case needs, seed, which makes what each run
# starts from, command, rules, the findings that are followed, and either changed,
# the command that follows them, or try, a candidate of the laboratory. Commands are for sh, in
# the directory work of the case.
describe() {
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
		programs=setpriv
		[ -n "$server" ] || programs=postgres-server
		as='setpriv --reuid postgres --regid postgres --clear-groups'
		# A socket's name has at most 107 bytes.
		seed="chown postgres .; $as $server/initdb -D db -A trust
			$as $server/pg_ctl -D db -o \"-k /tmp -p 7415 -c listen_addresses=''\" -l seed.log -w start
			$server/pgbench -h /tmp -p 7415 -U postgres -i -q -s 3 postgres; $as $server/pg_ctl -D db -m fast -w stop"
		run="& until $server/pg_isready -q -h /tmp -p 7415; do sleep 0.01; done
			$server/pgbench -h /tmp -p 7415 -U postgres -n -N -c 1 -t 1000 postgres; kill -INT \$!; wait"
		command="$as $server/postgres -D db -k /tmp -p 7415 -c listen_addresses='' 2>server.out $run"
		changed="$as $server/postgres -D db -k /tmp -p 7415 -c listen_addresses='' -c synchronous_commit=off 2>server.out $run" rules=sync
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
	*) fail 2 "no case $1; there are: $cases" ;;
	esac
}

# run WAY COMMAND…: runs the case through a command, and notes how long it takes.
run() {
	at "$case, $1"
	way=$1
	shift
	rm -rf work
	cp -a seed work
	cd work
	sync -f .
	began=$(now)
	into ../run.out timeout 300 "$@"
	echo "seconds $way $(awk -v from="$began" -v to="$(now)" 'BEGIN { print to - from }')" >>../figures
	cd ..
}

# findings: the rules that found something, with their share and seconds, of a profile in JSON.
findings() {
	awk -F'[:,]' '
		/"diagnosis"/ { inside = 1 }
		inside && /"rule"/ { gsub(/[ "]/, "", $2); rule = $2 }
		inside && /"seconds"/ { seconds = $2 + 0 }
		inside && /"share"/ { print rule, $2 + 0, seconds }
		/"run_time_seconds"/ { print "run", 1, $2 + 0; exit }' profile.json
	# What compute leaves to I/O.
	tr -s '\n ' ' ' <profile.txt | sed -n 's/.*I\/O takes [^(]*(\([0-9.]*\) \([mµ]*s\)).*/\1 \2/p' | awk '{ print "io", 0, $1 / ($2 == "s" ? 1 : $2 == "ms" ? 1e3 : 1e6) }'
}

# laboratory: the run times of the baseline and of the candidate, in seconds.
laboratory() {
	judged into lab.json "$pianola" lab --json --runs "$rounds" --try "$try" trace.txt
	awk -F'[:,]' '/"baseline"/ { way = "plain" } /"candidates"/ { way = "changed" } /"application"/ { way = "" }
		way != "" && /^ *"elapsed_seconds"/ { print "seconds", way, $2 + 0; way = "" }' lab.json >>figures
}

# advised: what pianola lab found worth doing, or beyond the program, in a line.
advised() {
	judged into advise.json "$pianola" lab --json trace.txt
	awk -F'"' '
		/^  "findings"/ { found = 1 }
		!found { next }
		/"name":/ { name = $4 }
		/"outcome":/ { outcome = $4 }
		/"gain":/ && (outcome == "worth_doing" || outcome == "beyond_program") {
			split($3, gain, /[:,]/)
			printf "%s%s%s %+.0f %%", sep, outcome == "beyond_program" ? "beyond the program " : "", name, 100 * gain[2]
			sep = ", "
		}
		END { print sep == "" ? "nothing" : "" }' advise.json
}

head='| case | what the profile says | followed by | recorded, s | left without that, s | as it is, s | changed, s |'
rule='| --- | --- | --- | --- | --- | --- | --- |'
if [ -n "${ADVISE-}" ]; then
	head="$head worth doing | gained |" rule="$rule --- | --- |"
fi
echo "$head"
echo "$rule"
for case in "$@"; do
	describe "$case"
	lacks "$case" && continue
	seeded "$case"
	run recorded "$pianola" record -o ../trace.txt -- sh -c "$command"
	"$pianola" profile trace.txt >profile.txt
	"$pianola" profile --json trace.txt >profile.json
	findings >findings
	if [ -n "$changed" ]; then
		for _ in $(seq "$rounds"); do
			run plain sh -c "$command"
			run changed sh -c "$changed"
		done
		followed=program
	else
		at "$case: the laboratory"
		laboratory
		followed="\`$try\`"
	fi
	advice=''
	if [ -n "${ADVISE-}" ]; then
		at "$case: advice"
		advice=$(advised)
	fi
	awk -v name="$case" -v rules="$rules" -v followed="$followed" -v advice="$advice" "$medians"'
		FILENAME == "findings" {
			if ($1 == "run") { run = $3; next }
			if ($1 == "io") { io = $3; next }
			says = says sprintf("%s%s %.0f %%", says == "" ? "" : ", ", $1, 100 * $2)
			if (index(" " rules " ", " " $1 " ")) gone += $1 == "compute" ? 0 : $3
		}
		END {
			if (io > 0 && index(" " rules " ", " compute ")) gone = io
			plain = sorted("seconds", "plain")
			changed = sorted("seconds", "changed")
			printf "| %s | %s | %s | %.3f | %.3f | %.3f | %.3f |", name, says, followed, run, run - gone, plain, changed
			if (advice != "" && plain > 0) printf " %s | %+.0f %% |", advice, 100 * (1 - changed / plain)
			print ""
		}' figures findings
	rm -rf work
done
