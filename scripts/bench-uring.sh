#!/bin/sh
# bench-uring.sh DIR [ROUNDS [SECONDS]]: random reads of 4 KiB with 32 in flight,
# by package replay/rings and by fio, on the same file in DIR with the same flags:
# from the page cache and by O_DIRECT, with and without registered files and
# buffers, in batches of 1 and of 16. What is compared takes turns; medians, with
# the least and the most. Besides, what a request costs that does nothing, and the
# pool of threads. Takes 3 minutes, and a machine with nothing else to do. Without
# fio its column is empty.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
rounds=${2-5}
seconds=${3-1}
rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
at "building the benchmark"
${GO-go} test -c -o "$dir/rings.test" ./replay/rings
cd "$dir"
export PIANOLA_BENCH_DIR="$dir"
head -c 67108864 /dev/urandom >file
sync file
cat file >/dev/null

ours() { # NAME BATCH
	at "rings, $1, batches of $2"
	into ours.out ./rings.test -test.run '^$' -test.bench "^BenchmarkRequests\$/^$1\$/^batch=$2\$" -test.benchtime "${seconds}s"
	# A name, how often, and nanoseconds.
	awk -v w="$1/batch=$2 rings" '$4 == "ns/op" { print w, 1e3 / $3; found = 1 } END { exit !found }' ours.out >>figures
}
fio_reads() { # NAME BATCH OPTION…
	name=$1 batch=$2
	shift 2
	at "fio, $name, batches of $batch"
	fio --name=f --thread --filename=file --size=64m --readonly --invalidate=0 --rw=randread --bs=4k --norandommap \
		--iodepth=32 --iodepth_batch_submit="$batch" --iodepth_batch_complete_min="$batch" --iodepth_batch_complete_max=32 \
		--gtod_reduce=1 --time_based --runtime="$seconds" --output-format=json "$@" >fio.json
	echo "$name/batch=$batch fio $(figure iops fio.json | awk '{ print $1 / 1e6 }')" >>figures
}
both() { # NAME FIO-OPTION…
	what=$1
	shift
	for n in 1 16; do
		! has fio || fio_reads "$what" $n "$@"
		ours "$what" $n
	done
}
for i in $(seq "$rounds"); do
	both io_uring/cached --ioengine=io_uring
	both io_uring/cached-fixed --ioengine=io_uring --registerfiles --fixedbufs
	both io_uring/direct --ioengine=io_uring --direct=1
	both io_uring/direct-fixed --ioengine=io_uring --registerfiles --fixedbufs --direct=1
	both libaio/cached --ioengine=libaio
	both libaio/direct --ioengine=libaio --direct=1
	for n in 1 16; do
		ours io_uring/nop $n
		ours threads/cached $n
	done
done
at "the table"
awk "$medians"'
function cell(what, how,    m) {
	if (!((what, how) in all)) return "-"
	m = sorted(what, how)
	return sprintf("%.3f (%.3f to %.3f)", m, low, high)
}
!($1 in seen) { seen[$1]; order[++count] = $1 }
END {
	printf "%-32s %25s %25s %6s\n", "M/s", "fio", "replay/rings", "share"
	for (i = 1; i <= count; i++) {
		w = order[i]
		printf "%-32s %25s %25s %6s\n", w, cell(w, "fio"), cell(w, "rings"), (w, "fio") in all ? sprintf("%.2f", sorted(w, "rings") / sorted(w, "fio")) : ""
	}
}' figures
