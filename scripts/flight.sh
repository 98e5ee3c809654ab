#!/bin/sh
# flight.sh DIR: a flight recorder on a server for a long time. PostgreSQL answers pgbench -C, a new
# connection and thus a fork for each transaction.
#
# First its cost: transactions a second in PAIRS pairs (default 5) of SECONDS_EACH (8) without and with
# `record --last`, whose order alternates. Then the recorder runs for FLIGHT (5m) with the window LAST (20s)
# in MEMORY (64MiB). At the end, while pgbench still runs, SIGUSR1 has it write the window, which is
# compiled, and replayed as fast as possible. It prints the recorder's memory, what the window holds and how
# many results differ, and ends with 1 where some do or the memory is larger than it may be.
# Takes root and PostgreSQL. All that it makes stands in DIR. PIANOLA is the program, bin/pianola by default.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
pairs=${PAIRS-5} seconds=${SECONDS_EACH-8}
flight=${FLIGHT-5m} last=${LAST-20s} memory=${MEMORY-64MiB} ring=${RING-16}
pianola=${PIANOLA-$(pwd)/bin/pianola}
. scripts/apps.sh
[ "$(id -u)" = 0 ] || fail 1 "only root can record a server"
[ -n "$server" ] || fail 1 "PostgreSQL is not here"
case $flight in
*m) flight=$((${flight%m} * 60)) ;;
*s) flight=${flight%s} ;;
*) fail 2 "FLIGHT=$flight is no time such as 30s or 5m" ;;
esac
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
postmaster= recorder= load=
tidy() {
	for pid in $recorder $load; do kill "$pid" 2>/dev/null || true; done
	[ -z "$postmaster" ] || as_postgres "$server/pg_ctl" -D src -m fast -w stop >/dev/null
}

at "the server"
mkdir src
chown postgres . src
as_postgres "$server/initdb" -D src -A trust >initdb.out
printf "listen_addresses = ''\nshared_buffers = 64MB\n" >>src/postgresql.conf
as_postgres "$server/pg_ctl" -D src -o "-k $dir" -l server.out -w start >>initdb.out
postmaster=$(head -n 1 src/postmaster.pid)
"$server/pgbench" -h "$dir" -U postgres -i -q -s 5 postgres 2>>initdb.out
clients=4
bench() { exec "$server/pgbench" -h "$dir" -U postgres -n -C -c $clients -j 2 -T "$1" postgres; }
rate() { awk '/^tps/ { print $3 }' "$1"; }
# The processor time of the recorder, in clock ticks.
spent() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' /proc/$recorder/stat; }

# fly NAME: starts the recorder, and waits until it records.
fly() {
	"$pianola" record --pid "$postmaster" --last "$last" --last-memory "$memory" --ring "${ring}MiB" -o "$1.txt" 2>"$1.err" &
	recorder=$!
	until grep -q 'are kept' "$1.err"; do
		kill -0 $recorder || { cat "$1.err" >&2; return 1; }
		sleep 0.1
	done
}

# land: ends the recorder.
land() {
	kill -INT $recorder
	wait $recorder || true
	recorder=
}

plain_run() {
	into pgbench.out bench "$seconds"
	echo "tps without $(rate pgbench.out)" >>figures
}
recorded_run() {
	fly pair
	before=$(spent)
	into pgbench.out bench "$seconds"
	echo "tps with $(rate pgbench.out)" >>figures
	echo "spent with $((($(spent) - before) * 1000 / $(getconf CLK_TCK)))" >>figures
	land
}
into pgbench.out bench 2 # warms up
: >figures
for i in $(seq "$pairs"); do
	at "pair $i of $pairs"
	case $((i % 2)) in
	0) plain_run; recorded_run ;;
	1) recorded_run; plain_run ;;
	esac
done
rm -f pair.*

at "the flight"
fly flight
bench "$((flight + 60))" >flight.pgbench 2>&1 &
load=$!
connections() { "$server/psql" -h "$dir" -U postgres -Atc 'select sum(sessions) from pg_stat_database'; }
before=$(connections)
for second in $(seq "$flight"); do
	sleep 1
	awk -v second="$second" '/^Rss(Anon|File)/ { rss[$1] = $2 } END { print second, rss["RssAnon:"], rss["RssFile:"] }' /proc/$recorder/status >>rss
done
after=$(connections)

at "the window"
asked=$(date +%s.%N)
kill -USR1 $recorder
until grep -q ' in flight\.' flight.err; do
	kill -0 $recorder || { cat flight.err >&2; exit 1; }
	sleep 0.1
done
written=$(date +%s.%N)
cp flight.000001.txt window.txt
kill $load
wait $load 2>wait.err || true
load=
land

at "compile"
into compile.out "$pianola" compile -o window.bin window.txt
at "replay"
mkdir root
judged into replay.out "$pianola" replay --root root --timing afap --json window.bin
sed -n '/^{/,$p' replay.out >replay.json

at "the table"
[ "$pairs" = 0 ] || awk -v seconds="$seconds" "$medians"'
	END {
		a = sorted("tps", "without"); printf "tps without the recorder %.0f (%.0f to %.0f)\n", a, low, high
		b = sorted("tps", "with"); printf "tps with it              %.0f (%.0f to %.0f), %+.1f %%\n", b, low, high, (b / a - 1) * 100
		n = split(all["tps", "without"], v, " "); split(all["tps", "with"], w, " ")
		for (k = 1; k <= n; k++) all["pair", "x"] = all["pair", "x"] " " (w[k] / v[k] - 1) * 100
		c = sorted("pair", "x"); printf "of the pairs             %+.1f %% (%+.1f to %+.1f)\n", c, low, high
		s = sorted("spent", "with"); printf "processor time of it     %.2f s (%.2f to %.2f) in %d s\n", s / 1000, low / 1000, high / 1000, seconds
	}' figures
echo "seconds $flight, connections $((after - before)), each a fork"
grep 'the last .* in ' flight.err
echo "seconds from SIGUSR1 to the script: $(awk -v a="$asked" -v b="$written" 'BEGIN { printf "%.1f", b - a }')"
awk '{ print "anon all", $2 / 1024; print "file all", $3 / 1024; print "rss all", ($2 + $3) / 1024 }' rss | awk "$medians"'
	END {
		for (k = split("rss anon file", names, " "); k > 0; k--) {
			m = sorted(names[k], "all"); printf "%s MB %.0f (%.0f to %.0f)\n", names[k], m, low, high
		}
	}'
grep '^# coverage' window.txt
grep '^# lost' window.txt
executed=$(figure executed replay.json) differed=$(figure differed replay.json)
echo "events replayed $executed, results that differ $differed"
bound=$(numfmt --from=iec-i --suffix=B "$memory" | tr -d B)
awk -v most=$(((bound >> 10) + (2 * ring << 10) + (96 << 10))) '$2 + $3 > most { exit 1 }' rss || fail 1 "the recorder takes more memory than the window, the ring twice, and 96 MiB"
[ "$differed" = 0 ] || fail 1 "results differ"
