#!/bin/sh
# bench-replay.sh DIR [ROUNDS [EVENTS]]: how fast and how punctual a replay is,
# seen from outside, beside C loops of the same reads and fio: what is compared
# takes turns, so that all meet the same machine, and medians are shown with the
# least and the most. Then a day at speed, a trace of EVENTS (50 million; it
# must take more than a second) and interruptions. All that it makes stands in
# DIR, at most 70 bytes an event. Takes root, some minutes, and a machine with
# nothing else to do. Without fio its rows are left out, without bpftrace issue
# times are those of the replay's log.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
rounds=${2-5}
events=${3-50000000}
here=$(pwd)
pianola=$here/bin/pianola
rm -rf "$dir"
mkdir -p "$dir"
gcc -O2 -pthread -o "$dir/pread" scripts/load/pread.c
cd "$dir"
dir=$(pwd)
export TMPDIR="$dir"
now() { date +%s%N; }
note() { echo "$@" >>figures; } # what, how, number
head -c 1048576 /dev/urandom >f

# trace NAME THREADS CALLS GAP: a trace of reads, GAP nanoseconds apart in each
# thread; the threads take turns.
trace() {
	awk -v threads="$2" -v calls="$3" -v gap="$4" 'BEGIN {
		print "# file: \"f\" reg mode=0600 size=1048576 cached=256"
		for (t = 1; t <= threads; t++) printf "# thread: %d process=1 parent=0 start=0.000000000\n", t
		for (t = 1; t <= threads; t++) printf "%d compute ( %.9f )\n%d open ( f 1 ) = %d\n", t, gap * (t - 1) / threads / 1e9, t, t + 2
		for (i = 0; i < calls; i++)
			for (t = 1; t <= threads; t++) {
				if (gap) printf "%d compute ( %.9f )\n", t, gap / 1e9
				printf "%d pread64 ( %d 4096 %d ) = 4096\n", t, t + 2, i % 256 * 4096
			}
	}' >"$1.txt"
	at "compile of $1"
	"$pianola" compile -o "$1.bin" "$1.txt"
	rm "$1.txt"
}

# --- as fast as possible ---
calls=2000000
trace afap 1 $calls 0
"$pianola" print --format fio -o afap.iolog afap.bin
rate() { note afap "$1" "$(echo "$2" | awk -v n=$calls '{ print n / $1 / 1e6 }')"; } # HOW SECONDS
fio_rate() { # HOW OPTION…
	how=$1
	shift
	fio --name=f --thread --ioengine=psync --replay_no_stall=1 --output-format=json --read_iolog=afap.iolog "$@" >out.json
	rate "$how" "$(awk -F'[:,]' '/"runtime"/ { print $2 / 1000; exit }' out.json)"
}
for i in $(seq "$rounds"); do
	at "as fast as possible, round $i"
	rate bare "$(./pread bare f $calls)"
	rate clock "$(./pread clock f $calls)"
	"$pianola" replay --timing afap --json afap.bin >out.json
	rate replay "$(figure elapsed_seconds out.json)"
	if has fio; then
		fio_rate fio
		fio_rate fio_reduced --gtod_reduce=1
	fi
done

# --- issue times ---
# bpftrace keeps the times in a map and prints them at the end: a line for each
# call would wake it up in mid-run, on a processor that the replay may want.
# Keys of a map are counted, so what is lost shows as calls missing. It takes a
# path, and needs tracefs, which it gets for itself alone where it isn't mounted.
probe='tracepoint:syscalls:sys_enter_pread64 /pid == cpid && args->count == 4096/ { $t = nsecs; @at[tid, @n[tid]++] = $t; @in[tid] = $t; }
tracepoint:syscalls:sys_exit_pread64 /@in[tid]/ { @spent[tid] += nsecs - @in[tid]; @in[tid] = 0; }'
watched() { # COMMAND…
	log=$dir/err
	BPFTRACE_MAP_KEYS_MAX=1000000 BPFTRACE_MAX_MAP_KEYS=1000000 unshare -m sh -c '
		[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
		exec bpftrace -o times.out -e "$1" -c "$2" 2>err' sh "$probe" "$*" >out.json
	awk -F'[][, :]+' '/^@at/ { print "at", $2, $3, $4 } /^@spent/ { print "spent", $2, $3 }' times.out >times
}
logged() { # OPTION… TRACE: the times that the replay itself noted
	"$pianola" replay --log times.log "$@" >out.json
	awk '/^#/ { next } { now += $2 * 1e9 } $3 ~ /^pread64/ { print "at", $1, n[$1] + 0, now; n[$1]++; split($NF, d, /[<>]/); spent[$1] += d[2] * 1e9 }
		END { for (t in spent) print "spent", t, spent[t] }' times.log >times
}
# lateness WHAT HOW GAP CALLS: notes p50, p99 and max in microseconds, drift in
# per cent and calls missed. Nothing is ever issued early, so the call that came
# first with respect to its due time is taken for punctual. By --timing compute
# and in the loop "after" calls are due so long after the last one ended: there
# the drift alone is told, without the time in the calls, but with what the
# probes take around them.
lateness() {
	awk -v gap="$3" '
	$1 == "at" { late = $4 - $3 * gap; if (!($2 in low) || late < low[$2]) low[$2] = late; at[$2, $3] = late; if ($3 >= n[$2]) n[$2] = $3 + 1 }
	END { for (t in n) for (i = 0; i < n[t]; i++) if ((t, i) in at) printf "%.3f\n", (at[t, i] - low[t]) / 1e3 }' times | sort -n >late
	seen=$(wc -l <late)
	awk -v gap="$3" -v how="$2" '
	$1 == "at" && $3 == 0 { first[$2] = $4 }
	$1 == "at" && $3 >= n[$2] { n[$2] = $3; last[$2] = $4 }
	$1 == "spent" { spent[$2] = $3 }
	END {
		for (t in n) {
			took = last[t] - first[t]
			if (how == "after" || how == "compute") took -= spent[t] * n[t] / (n[t] + 1)
			drift = (took / (n[t] * gap) - 1) * 100
			if (drift * drift >= worst * worst) worst = drift
		}
		printf "%.4f\n", worst
	}' times >drift
	note "$1" "$2.drift" "$(cat drift)"
	note "$1" "$2.missed" $(($4 - seen))
	case $2 in after | compute) return ;; esac
	note "$1" "$2.p50" "$(sed -n "$(((seen + 1) / 2))p" late)"
	note "$1" "$2.p99" "$(sed -n "$(((seen * 99 + 99) / 100))p" late)"
	note "$1" "$2.max" "$(tail -n 1 late)"
}
replayed() { # WHAT TIMING GAP CALLS
	at "$1, --timing $2"
	case $by in
	bpftrace) watched "$pianola" replay --timing "$2" --json "$1.bin" ;;
	*) logged --timing "$2" --json "$1.bin" ;;
	esac
	lateness "$1" "$2" "$3" "$4"
	for p in p50 p99 max; do note "$1" "$2.own.$p" "$(figure $p out.json | awk '{ print $1 * 1e6 }')"; done
}
looped() { # WHAT HOW GAP CALLS THREADS
	[ $by = bpftrace ] || return 0
	at "$1, C loop, $2"
	watched "$dir/pread" "$2" "$dir/f" $(($4 / $5)) "$3" "$5"
	lateness "$1" "$2" "$3" "$4"
}
by=log
if has bpftrace && [ "$(id -u)" = 0 ]; then by=bpftrace; fi
singles="1000000:2000 100000:20000 20000:100000" # gap:calls
eights="1000000:2000 100000:20000"
for s in $singles; do trace "1x${s%:*}" 1 "${s#*:}" "${s%:*}"; done
for s in $eights; do trace "8x${s%:*}" 8 "${s#*:}" "${s%:*}"; done
for i in $(seq "$rounds"); do
	for s in $singles; do
		gap=${s%:*} n=${s#*:}
		looped "1x$gap" spin "$gap" "$n" 1
		replayed "1x$gap" schedule "$gap" "$n"
		looped "1x$gap" after "$gap" "$n" 1
		replayed "1x$gap" compute "$gap" "$n"
	done
	for s in $eights; do
		gap=${s%:*} n=$((8 * ${s#*:}))
		looped "8x$gap" sleep "$gap" "$n" 8
		replayed "8x$gap" schedule "$gap" "$n"
		replayed "8x$gap" compute "$gap" "$n"
	done
done

# --- a day in three seconds ---
at "a day"
trace day 1 86400 1000000000
for i in $(seq "$rounds"); do
	"$pianola" replay --timing schedule --speed 28800 --json day.bin >out.json
	note day elapsed "$(figure elapsed_seconds out.json)"
	note day executed "$(figure executed out.json)"
done

# --- a large trace ---
at "a large trace"
awk -v n="$events" 'BEGIN {
	print "# pianola intermediate 1"
	print "# file: \"f\" reg mode=0644 size=1048576 cached=-1"
	print "open ( f 4 ) = 3"
	for (i = 0; i < n; i++)
		printf "compute ( %.9f )\npread64 ( 3 4096 %d ) = 4096\n", rand() * 1e-5, int(rand() * 256) * 4096
}' >large.txt
"$pianola" compile -o large.bin large.txt
# peak COMMAND…: the most memory that it had resident, KiB, in the variable of
# that name.
peak() {
	peak=0
	"$@" &
	pid=$!
	while v=$(awk '/VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null); [ -n "$v" ]; do
		peak=$v
		sleep 0.1
	done
	wait $pid
}
a=$(now)
peak "$pianola" replay --timing afap --json large.bin >out.json
b=$(now)
note large rate "$(figure elapsed_seconds out.json | awk -v n="$(figure executed out.json)" '{ print n / $1 / 1e6 }')"
note large executed "$(figure executed out.json)"
note large peak "$(echo $peak | awk '{ print $1 / 1024 }')"
note large bytes "$(stat -c %s large.bin)"
note large command "$(((b - a) / 1000000))"

# --- interruptions ---
# interrupted NAME OPTION…: a replay that is ended a second after it began, when
# it is in mid-run; its log must be one that compare reads.
interrupted() {
	name=$1
	at "an interruption of $name"
	shift
	rm -rf root
	"$pianola" replay --root root --log "$name.log" --json "$@" "$name.bin" >out.json &
	pid=$!
	while [ ! -s root/f ]; do
		kill -0 $pid
		sleep 0.01
	done
	sleep 1
	a=$(now)
	kill -INT $pid
	status=0
	wait $pid || status=$?
	b=$(now)
	grep -q '"interrupted": true' out.json && [ $status = 130 ] || fail 1 "$name: not interrupted, status $status"
	judged "$pianola" compare "$name.bin" "$name.log" >compare.out
	[ "$(grep -c '^[0-9]' "$name.log")" = "$(figure executed out.json)" ] || fail 1 "$name.log is not whole"
	note "$name" interrupted $(((b - a) / 1000000))
	note "$name" part "$(figure executed out.json)"
	rm -f "$name.log"
}
trace slow 8 10000 1000000
for i in $(seq "$rounds"); do
	interrupted slow
	interrupted large --timing afap
done
rm -f large.bin

# --- the tables ---
at "the tables"
awk -v by=$by "$medians"'
function cell(what, how, f,    m) {
	if (!((what, how) in all)) return "-"
	m = sorted(what, how)
	return sprintf(f " (" f " to " f ")", m, low, high)
}
function issue(what, gap, how, name) {
	if (!((what, how ".drift") in all)) return
	printf "%-7s %-26s %23s %25s %27s %28s %6d", gap, name, cell(what, how ".p50", "%.2f"), cell(what, how ".p99", "%.1f"), cell(what, how ".max", "%.0f"), cell(what, how ".drift", "%+.3f"), sorted(what, how ".missed")
	if ((what, how ".own.p50") in all) printf " %7.2f %7.1f %7.0f", sorted(what, how ".own.p50"), sorted(what, how ".own.p99"), sorted(what, how ".own.max")
	print ""
}
END {
	base = sorted("afap", "bare")
	print "as fast as possible, one thread, cached pread of 4 KiB: M/s; share of the bare loop"
	m = split("bare=C loop;clock=C loop, a clock reading a call;replay=pianola replay --timing afap;fio=fio --read_iolog;fio_reduced=fio --read_iolog --gtod_reduce=1", rows, ";")
	for (i = 1; i <= m; i++) {
		split(rows[i], r, "=")
		name = substr(rows[i], length(r[1]) + 2)
		if (("afap", r[1]) in all) printf "%-40s %22s %6.2f\n", name, cell("afap", r[1], "%.3f"), sorted("afap", r[1]) / base
	}
	print "\nlateness of issue, microseconds, " (by == "bpftrace" ? "by a bpftrace probe at the entry of the call" : "by the replay'"'"'s own log: no bpftrace here") "; and what replay says of itself"
	printf "%-7s %-26s %23s %25s %27s %28s %6s %7s %7s %7s\n", "gap", "", "p50", "p99", "max", "drift, %", "missed", "own p50", "p99", "max"
	m = split("1000000=1 ms;100000=100 us;20000=20 us", gaps, ";")
	for (t = 1; t <= 8; t += 7) {
		print t == 1 ? "one thread" : "eight threads"
		for (i = 1; i <= m; i++) {
			split(gaps[i], g, "=")
			what = t "x" g[1]
			issue(what, g[2], "spin", "C loop, spinning")
			issue(what, g[2], "sleep", "C loop, sleeping")
			issue(what, g[2], "schedule", "replay --timing schedule")
			issue(what, g[2], "after", "C loop, compute after call")
			issue(what, g[2], "compute", "replay --timing compute")
		}
	}
	printf "\n24 hours of %d events at --speed 28800: %s s, 3 were due\n", sorted("day", "executed"), cell("day", "elapsed", "%.4f")
	printf "%d events as fast as possible: %.3f M/s, peak memory %.0f MiB, command %.1f s, trace %.1f bytes an event\n", sorted("large", "executed"), sorted("large", "rate"), sorted("large", "peak"), sorted("large", "command") / 1e3, sorted("large", "bytes") / sorted("large", "executed")
	printf "interrupted: ended after %s ms with %d events of eight threads in the log, after %s ms with %d of the large trace\n", cell("slow", "interrupted", "%.0f"), sorted("slow", "part"), cell("large", "interrupted", "%.0f"), sorted("large", "part")
}' figures
