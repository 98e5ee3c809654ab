#!/bin/sh
# uring.sh DIR [ROUNDS [WAY…]]: programs that submit requests, replayed. fio makes
# them in many ways, qemu-img in two where it is installed. Each way is run plain,
# recorded, replayed with its times, and replayed as fast as possible, in turn;
# medians, with the least and the most. What it shows of each way: coverage, events,
# those that failed or differed, the time that the job took, the time of a request in
# flight as fio, the recording and the replay have it, and requests a second as fast as
# possible beside fio's own. The time of the job is that of the thread that submits: fio
# waits for the job in steps of 10 ms and more, which a replay keeps. Take a DIR whose device is steady, and a machine with nothing
# else to do. The recordings go to OUT, which should be on another device.
set -eu
. "$(dirname "$0")/lib.sh"
pianola=${PIANOLA-$(pwd)/bin/pianola}
dir=$1
rounds=${2-5}
[ $# -le 2 ] && shift $# || shift 2
out=${OUT-$dir}
rm -rf "$dir"
mkdir -p "$dir" "$out"
out=$(cd "$out" && pwd)
cd "$dir"
export LC_ALL=C

common="--name=f --filename=file --size=64m --bs=4k --norandommap --thread --output-format=json --output=fio.json"
mixed="--rw=randrw --io_size=256m --end_fsync=1"
cached="--rw=randread --io_size=3200m --invalidate=0 --iodepth=32 --iodepth_batch_submit=8 --iodepth_batch_complete_min=8"
ways="direct buffered vectored fixed sqpoll async depth1 depth32 fsync cached libaio libaio-memory libaio-cached qemu-uring qemu-native"
options() {
	case $1 in
	direct) echo "$mixed --ioengine=io_uring --direct=1 --iodepth=8" ;;
	buffered) echo "$mixed --ioengine=io_uring --iodepth=8" ;;
	vectored) echo "$mixed --ioengine=io_uring --nonvectored=0 --iodepth=8" ;;
	fixed) echo "$mixed --ioengine=io_uring --direct=1 --fixedbufs=1 --registerfiles=1 --iodepth=8" ;;
	sqpoll) echo "$mixed --ioengine=io_uring --direct=1 --sqthread_poll=1 --iodepth=8" ;;
	async) echo "$mixed --ioengine=io_uring --force_async=1 --iodepth=8" ;;
	depth1) echo "$mixed --ioengine=io_uring --direct=1 --iodepth=1" ;;
	depth32) echo "$mixed --ioengine=io_uring --direct=1 --iodepth=32 --iodepth_batch_submit=8 --iodepth_batch_complete_min=4" ;;
	fsync) echo "$mixed --ioengine=io_uring --fsync=64 --iodepth=8" ;;
	cached) echo "$cached --ioengine=io_uring" ;;
	libaio) echo "$mixed --ioengine=libaio --direct=1 --iodepth=8" ;;
	libaio-memory) echo "$mixed --ioengine=libaio --direct=1 --iodepth=8 --userspace_reap" ;;
	libaio-cached) echo "$cached --ioengine=libaio" ;;
	esac
}
command_of() {
	case $1 in
	qemu-uring) echo "qemu-img bench -c 20000 -d 32 -s 4096 -t none -i io_uring -f raw file" ;;
	qemu-native) echo "qemu-img bench -c 20000 -d 32 -s 4096 -t none -i native -f raw file" ;;
	*) echo "fio $common $(options "$1")" ;;
	esac
}
now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.6f", $1 - $2 }'; }
note() { echo "$way/$1 of $2" >>figures; }

# job FILE: the seconds from the first to the last event of its busiest thread.
job() {
	"$pianola" profile --by thread --format csv "$1" | awk -F, 'NR > 1 && $3 > calls { calls = $3; value = $32 - $31 } END { print value }'
}

# flight WHAT FILE: the median and the 99th percentile of its reads in flight, in µs.
flight() {
	"$pianola" profile --by operation --json "$2" >ops.json
	note "$1-p50" "$(reads p50_seconds)"
	note "$1-p99" "$(reads p99_seconds)"
}
reads() {
	awk -F'[:,]' -v key="\"$1\"" '/"name"/ { read = $2 ~ /"(pread64|preadv|read)"/ } /"calls"/ && read { calls = $2 + 0 }
		$1 ~ key && read && calls > most { most = calls; value = $2 * 1e6 } END { print value + 0 }' ops.json
}

[ $# -gt 0 ] || for way in $ways; do
	case $way in qemu-*) has qemu-img || continue ;; esac
	set -- "$@" "$way"
done
head -c 67108864 /dev/urandom >file
for i in $(seq "$rounds"); do
	for way in "$@"; do
		command=$(command_of "$way")
		sync file
		cat file >/dev/null
		at "$way, plain"
		begin=$(now)
		into plain.out $command
		case $way in
		qemu-*) note plain "$(since "$begin")" ;;
		*)
			note plain "$(awk -F'[:,]' '$1 ~ /"job_runtime"/ { print $2 / 1e3; exit }' fio.json)"
			note fio-rate "$(awk -F'[:,]' '$1 ~ /"iops"/ { sum += $2 } END { print sum / 1e6 }' fio.json)"
			note fio-p50 "$(awk -F'[:,]' '/"read"/ { on = 1 } /"clat_ns"/ { in_clat = on } in_clat && /"50.000000"/ { print $2 / 1e3; exit }' fio.json)"
			note fio-p99 "$(awk -F'[:,]' '/"read"/ { on = 1 } /"clat_ns"/ { in_clat = on } in_clat && /"99.000000"/ { print $2 / 1e3; exit }' fio.json)"
			;;
		esac
		at "$way, recorded"
		into record.out "$pianola" record -o "$out/$way.txt" -- $command
		at "$way, compile"
		into compile.out "$pianola" compile -o "$out/$way.bin" "$out/$way.txt"
		note recorded "$(job "$out/$way.bin")"
		flight recorded "$out/$way.bin"
		at "$way, replayed"
		judged "$pianola" replay --root root --json --log "$out/$way.log" "$out/$way.bin" >replay.json 2>replay.out
		note replay "$(job "$out/$way.log")"
		for what in executed failed differed; do note $what "$(figure $what replay.json)"; done
		flight replay "$out/$way.log"
		requests=$(awk -F'[:,]' '/"(pread64|preadv|pwrite64|pwritev|fsync|fdatasync)"/ { on = 1 } on && /"executed"/ { sum += $2; on = 0 } END { print sum }' replay.json)
		at "$way, as fast as possible"
		judged "$pianola" replay --root root --json --timing afap "$out/$way.bin" >replay.json 2>replay.out
		note rate "$(figure elapsed_seconds replay.json | awk -v n="$requests" '{ print n / $1 / 1e6 }')"
		grep -o 'coverage: [^;]*' compile.out | tail -1 >"$way.coverage"
	done
done
at "the table"
awk "$medians"'
function one(what) { return sorted(way "/" what, "of") }
function range(what,    m) { m = one(what); return sprintf("%.3f (%.3f to %.3f)", m, low, high) }
{ split($1, part, "/"); if (!(part[1] in seen)) { seen[part[1]]; order[++count] = part[1] } }
END {
	printf "%-14s %7s %6s %8s %22s %22s %22s %6s\n", "", "events", "failed", "differed", "plain s", "recorded s", "replayed s", "ratio"
	for (i = 1; i <= count; i++) {
		way = order[i]
		printf "%-14s %7d %6d %8d %22s %22s %22s %6.2f\n", way, one("executed"), one("failed"), one("differed"), range("plain"), range("recorded"), range("replay"), one("replay") / one("plain")
	}
	printf "\n%-14s %18s %18s %18s %26s %26s %6s\n", "", "fio p50, p99 µs", "recorded", "replayed", "fio M/s", "as fast as possible M/s", "share"
	for (i = 1; i <= count; i++) {
		way = order[i]
		rate = one("fio-rate")
		printf "%-14s %8.1f %9.1f %8.1f %9.1f %8.1f %9.1f %26s %26s %6s\n", way, one("fio-p50"), one("fio-p99"), one("recorded-p50"), one("recorded-p99"), one("replay-p50"), one("replay-p99"),
			rate ? range("fio-rate") : "-", range("rate"), rate ? sprintf("%.2f", one("rate") / rate) : "-"
	}
}' figures | tee summary
for way in "$@"; do echo "$way: $(cat "$way.coverage")"; done
