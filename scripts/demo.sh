#!/bin/sh
# demo.sh DIR: takes sqlite3 through the whole pipeline: record, compile, replay,
# compare. All that it makes is in DIR.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pianola=${PIANOLA-$(pwd)/bin/pianola}
sql=$(pwd)/scripts/demo.sql
at "pianola doctor"
"$pianola" doctor
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"

run() { at "pianola $1"; echo; echo "\$ pianola $*"; "$pianola" "$@"; }
run record -o trace.txt -- sqlite3 app.db ".read '$sql'"
run compile -o trace.bin trace.txt
run replay --log replay.log trace.bin

# Six runs of each side, in turn, tell a difference from noise.
applications="--application trace.txt"
for n in 2 3 4 5 6; do
	rm -f app.db
	run record -q -o "trace-$n.txt" -- sqlite3 app.db ".read '$sql'"
	run replay -q --log "replay-$n.log" trace.bin
	applications="$applications --application trace-$n.txt"
done
judged run compare $applications --plot profile.svg --html profile.html replay.log replay-[2-6].log
ls -l trace.txt trace.bin profile.svg profile.html | awk '{ print $5, $9 }'
rm -f app.db
echo "look at $dir/profile.html"
