#!/bin/sh
# alarms.sh DIR [RUNS]: how often does a comparison of equal runs find a difference,
# and how often does it find one that there is? Records a short program, sqlite3 with
# some transactions, in DIR, replays it RUNS times, 300 by default, and compares groups
# of six of these runs with others of them, 200 times. docs/internals/compare.md says how to read the
# table. PIANOLA is the program to be tried, bin/pianola by default.
set -eu
. "$(dirname "$0")/lib.sh"
here=$(pwd)
runs=${2-300}
pianola=${PIANOLA-$here/bin/pianola}
mkdir -p "$1"
cd "$1"
export LC_ALL=C
at recording
rm -f app.db trace.txt r*.log
for i in $(seq 25); do echo "insert into t values($i, 'event $i'); select count(*), max(i) from t;"; done >app.sql
into record.out sqlite3 -init /dev/null app.db 'create table t(i, what)'
into record.out "$pianola" record -o trace.txt -- sqlite3 -init /dev/null app.db ".read app.sql"
into compile.out "$pianola" compile -o trace.bin trace.txt
for i in $(seq -w "$runs"); do
	at "replay $i of $runs"
	judged into replay.out "$pianola" replay --root root --keep --log "r$i.log" trace.bin
done
at "saving the runs"
into save.out "$pianola" compare --save pool.json r*.log
rm -f r*.log
at "the table"
pool=$(pwd)/pool.json
cd "$here"
PIANOLA_ALARMS=$pool ${GO-go} test -count=1 -run '^TestAlarms$' -v ./baseline | grep -v '^\(=== RUN\|--- PASS\|PASS\|ok\)'
