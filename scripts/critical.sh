#!/bin/sh
# critical.sh DIR [CASE…]: does the critical path explain the run time? Each case
# runs ROUNDS times (5) as it is, recorded, and without its syncs (eatmydata), in
# turn. Prints a row for each: medians of the run times, of how much of the recorded
# run syncs took in all and on the critical path, and of what is left of it without
# the latter. All that it makes stands in DIR/CASE. PIANOLA is the
# program to be tried, bin/pianola by default. docs/internals/profile.md has the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-5} dir=$1
shift
pianola=${PIANOLA-$(pwd)/bin/pianola}
. scripts/apps.sh
cases="rocksdb-1 rocksdb-4 sqlite3 postgres beside"
[ $# -gt 0 ] || set -- $cases
has eatmydata || fail 2 "eatmydata is not here"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
export LC_ALL=C HOME="$dir" # a directory without settings

# describe CASE: sets programs, which the case needs, seed, which makes what each run
# starts from, and command. Both are for sh, in the directory work of the case.
describe() {
	programs=${1%%-*} seed=:
	case $1 in
	rocksdb-*) programs=db_bench command="db_bench --benchmarks=fillrandom --sync=1 --threads=${1#*-} --num=$((6000 / ${1#*-})) --db=db" ;;
	sqlite3)
		seed="sqlite3 app.db 'create table t(a, b)'
			for k in \$(seq 600); do echo \"insert into t values(\$k, hex(randomblob(200)));\"; done >inserts"
		command="sqlite3 app.db <inserts"
		;;
	postgres)
		programs=setpriv
		[ -n "$server" ] || programs=postgres-server
		as='setpriv --reuid postgres --regid postgres --clear-groups'
		# A socket's name has at most 107 bytes.
		seed="chown postgres .; $as $server/initdb -D db -A trust
			$as $server/pg_ctl -D db -o \"-k /tmp -p 7414 -c listen_addresses=''\" -l seed.log -w start
			$server/pgbench -h /tmp -p 7414 -U postgres -i -q -s 3 postgres; $as $server/pg_ctl -D db -m fast -w stop"
		command="$as $server/postgres -D db -k /tmp -p 7414 -c listen_addresses='' 2>server.out &
			until $server/pg_isready -q -h /tmp -p 7414; do sleep 0.01; done
			$server/pgbench -h /tmp -p 7414 -U postgres -n -c 1 -t 2000 postgres; kill -INT \$!; wait"
		;;
	beside) # a pipeline that computes, and beside it a writer that syncs and ends before
		programs=gzip
		command="for k in \$(seq 40); do dd if=/dev/zero of=out\$k bs=16k count=4 conv=fsync; done & cat /usr/bin/* 2>/dev/null | head -c 40M | gzip -9 | wc -c; wait"
		;;
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
	sync
	began=$(now)
	into ../run.out timeout 120 "$@" sh -c "$command"
	echo "seconds $way $(awk -v from="$began" -v to="$(now)" 'BEGIN { print to - from }')" >>../figures
	cd ..
}

# path: the run time of a recording, that of its syncs, and that of those on its
# critical path, in seconds.
path() {
	"$pianola" profile --json trace.txt | awk -F'[:,]' '
		/"run_time_seconds"/ && !n++ { run = $2; print "seconds run", run }
		/"categories"/ { inside = 1 }
		inside && /"name": "sync"/ { synced = 1 }
		synced && /"seconds"/ { print "seconds syncs", $2; synced = inside = 0 }
		/"critical_path"/ { critical = 1 }
		critical && /"name"/ { sync = $2 ~ /sync/ }
		critical && sync && /"seconds"/ { sum += $2 }
		critical && /^  \]/ { critical = 0 }
		END { print "seconds path", sum + 0; print "seconds left", run - sum }'
}

echo '| case | plain, s | recorded, s | in syncs, s | of them on the path, s | without these, s | run without syncs, s |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
for case in "$@"; do
	describe "$case"
	lacks "$case" && continue
	seeded "$case"
	for _ in $(seq "$rounds"); do
		run plain env
		run recorded "$pianola" record -o ../trace.txt --
		path >>figures
		run without eatmydata
	done
	awk -v name="$case" "$medians"'
		END {
			printf "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", name, sorted("seconds", "plain"), sorted("seconds", "run"),
				sorted("seconds", "syncs"), sorted("seconds", "path"), sorted("seconds", "left"), sorted("seconds", "without")
		}' figures
	rm -rf work
done
