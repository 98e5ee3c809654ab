#!/bin/sh
# bench-production.sh DIR [PAIRS [SECONDS]]: what a live recording costs a server that
# keeps all processors busy: transactions a second of pgbench -S (reads from memory),
# in pairs of runs without and with `record --pid` of the server, whose order
# alternates. Medians and spread. All that it makes stands in DIR. Takes root and
# PostgreSQL. PIANOLA is the program to be tried, bin/pianola by default; OTHER is
# another one, which has a run of its own in each round. OUTPUT is where the script
# goes, trace.txt by default.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pairs=${2-10}
seconds=${3-5}
pianola=${PIANOLA-$(pwd)/bin/pianola}
other=${OTHER-}
. scripts/apps.sh
[ "$(id -u)" = 0 ] || fail 1 "only root can record a server"
rm -rf "$dir"
mkdir -p "$dir"
[ -n "$server" ] || fail 1 "PostgreSQL is not here"
cd "$dir"
dir=$(pwd)
output=${OUTPUT-$dir/trace.txt}
postmaster=
recorder=
tidy() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null || true
	[ -z "$postmaster" ] || as_postgres "$server/pg_ctl" -D src -m fast -w stop >/dev/null
}

at "the server"
user=postgres
mkdir src
chown postgres . src
as_postgres "$server/initdb" -D src -A trust >initdb.out
printf "listen_addresses = ''\nshared_buffers = 256MB\nautovacuum = off\n" >>src/postgresql.conf
as_postgres "$server/pg_ctl" -D src -o "-k $dir" -l server.out -w start >>initdb.out
postmaster=$(head -n 1 src/postmaster.pid)
clients=$(($(nproc) * 2))
bench() { "$server/pgbench" -h "$dir" -U postgres -n -S -c $clients -j $clients -T "$1" postgres; }
"$server/pgbench" -h "$dir" -U postgres -i -q -s 10 postgres 2>>initdb.out
at "the run that warms up"
into pgbench.out bench "$seconds"

# transactions a second
rate() { awk '/^tps/ { print $3 }' pgbench.out; }
alone() {
	into pgbench.out bench "$seconds"
	echo "tps plain $(rate)" >>figures
}
recorded() { # HOW PROGRAM
	[ ! -f "$output" ] || rm "$output"
	"$2" record --pid "$postmaster" -o "$output" 2>recorder.err &
	recorder=$!
	# Every thread has storage once the head of the recording is written.
	until [ -s "$output" ] || [ ! -f "$output" ] && [ -e "$output" ]; do
		kill -0 $recorder || { cat recorder.err >&2; return 1; }
		sleep 0.1
	done
	before=$(spent)
	into pgbench.out bench "$seconds"
	after=$(spent)
	kill -INT $recorder
	wait $recorder || true
	recorder=
	echo "tps $1 $(rate)" >>figures
	echo "spent $1 $(((after - before) * 1000 / $(getconf CLK_TCK)))" >>figures
	[ ! -f "$output" ] || echo "events $1 $(grep -vc '^#' "$output")" >>figures
}
# The processor time of the recorder, in clock ticks.
spent() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' /proc/$recorder/stat; }

for i in $(seq "$pairs"); do
	at "pair $i of $pairs"
	case $((i % 2)) in
	0) alone; recorded recorded "$pianola"; [ -z "$other" ] || recorded other "$other" ;;
	1) [ -z "$other" ] || recorded other "$other"; recorded recorded "$pianola"; alone ;;
	esac
done

at "the table"
awk -v seconds="$seconds" "$medians"'
function pairs(way,    a, b, n, k) {
	n = split(all["tps", "plain"], a, " ")
	split(all["tps", way], b, " ")
	for (k = 1; k <= n; k++) all["ratio", way] = all["ratio", way] " " (b[k] / a[k] - 1) * 100
	return sorted("ratio", way)
}
function row(way,    m) {
	m = sorted("tps", way)
	printf "%-10s %10.0f %10.0f to %7.0f", way, m, low, high
	if (way != "plain") {
		m = pairs(way)
		printf " %+7.1f %% %+6.1f to %+5.1f %10.0f", m, low, high, sorted("events", way) / seconds
		printf " %9.1f %%", sorted("spent", way) / seconds / 10
	}
	print ""
}
END {
	printf "%-10s %10s %21s %9s %15s %10s %11s\n", "", "tps", "", "of pairs", "", "events/s", "recorder"
	row("plain"); row("recorded")
	if (("tps", "other") in all) row("other")
}' figures
