#!/bin/sh
# feign.sh DIR [EXPERIMENT…]: the experiments of Feign and Tracereplay, each of
# which compares what the laboratory predicts from a recording with a program
# that was changed. Programs and recordings take ROUNDS turns (5) in DIR, where
# all that is measured stays.
#
#   prefetch   a program that seeks, reads and computes, READS times (200), of
#              whose reads some are announced
#   slow       the same recording and program on a disk that takes 15 ms for a
#              read, however short; needs root and /dev/fuse
#   coalesce   TIMES (40) checkpoints as HDF5 writes them, through buffers
#   rank       four processes, of which one does the I/O, and that one alone
#   generator  two reads that nobody recorded
#
# PIANOLA is the program to be tried, bin/pianola by default. Takes cc, python3
# and the rights to record. docs/laboratory.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
rounds=${ROUNDS-5} reads=${READS-200} times=${TIMES-40}
dir=$1
shift
[ $# -gt 0 ] || set -- prefetch slow coalesce rank generator
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$dir"
cd "$dir"
dir=$(pwd)
for program in stride checkpoint ranks slowdisk; do
	cc -O2 -static -pthread -o $program "$source/scripts/load/$program.c"
done
cp "$source/docs/plugins/telemetry.awk" "$source/docs/plugins/rank.py" .
export LC_ALL=C

tidy() {
	cd "$dir"
	release mnt || :
	release fuse || :
	rm -rf store mnt fuse ./*/root ./*/app
}

# release DIRECTORY: unmounts it, which the loop device, or what looks at new
# devices, can hold up for a moment.
release() {
	for _ in $(seq 100); do
		mountpoint -q "$1" 2>/dev/null || return 0
		umount "$1" 2>/dev/null || sleep 0.1
	done
	umount "$1"
}

# turn ROOT FILE OPTION…: one replay of the baseline and of each candidate.
turn() {
	root=$1 file=$2
	shift 2
	"$pianola" lab --json --runs 1 --root "$root" --keep --try "$@" >"$file"
}

# stride PLACE ROOT NAME: the program and its recording in turn in a place, into
# the directory of that name.
stride() {
	[ -e prefetch/trace.txt ] || record_stride
	mkdir -p "$3" "$1"
	rm -f "$3"/*.json
	: >"$3/application"
	./stride make "$1/file" "$reads"
	for i in $(seq "$rounds"); do
		for ahead in 0 1 2; do
			./stride cold "$1/file"
			echo "$ahead $(./stride run "$1/file" "$reads" 10 $ahead)" >>"$3/application"
		done
		turn "$2" "$3/lab$i.json" prefetch=2 --try prefetch=4 prefetch/trace.txt
	done
}

# record_stride records the program once, on the machine's own disk.
record_stride() {
	mkdir -p prefetch/app
	./stride make prefetch/app/file "$reads"
	./stride cold prefetch/app/file
	"$pianola" record -o prefetch/trace.txt -- ./stride run prefetch/app/file "$reads" 10 0 >prefetch/recorded
}

prefetch() {
	rm -f prefetch/trace.txt
	stride prefetch/app prefetch/root prefetch
	show_stride "this disk" prefetch
}

# slow puts a file system on a loop device on a file that is slow to read.
slow() {
	[ "$(id -u)" = 0 ] || { echo "feign.sh: slow is left out: only root can mount a disk" >&2; return 0; }
	rm -f store
	mkdir -p fuse mnt
	truncate -s $((reads * 3 + 64))M store
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard store
	./slowdisk store 15 fuse &
	until mountpoint -q fuse; do kill -0 $!; done
	device=$(losetup --direct-io=on --find --show fuse/image)
	mount "$device" mnt || { losetup -d "$device"; return 1; }
	losetup -d "$device" # when it is unmounted
	stride mnt/app mnt/root slow
	show_stride "15 ms a read" slow
	release mnt
	release fuse
	wait $!
}

# show_stride DISK DIRECTORY: medians, and how far the predicted gain is off.
show_stride() {
	python3 - "$1" "$reads" "$2" <<'PY'
import collections, glob, json, statistics, sys
disk, reads, place = sys.argv[1:]
rows = collections.defaultdict(list)  # of (who, advice): read time, run time
for line in open(place + "/application"):
    ahead, read, run = line.split()
    rows["application", int(ahead)].append((float(read), float(run)))
bad = 0
for name in glob.glob(place + "/lab*.json"):
    report = json.load(open(name))
    for t in [report["baseline"]] + report["candidates"]:
        bad = max(bad, t["failed"] + t["differed"])
        rows["replay", {"prefetch=2": 1, "prefetch=4": 2}.get(t["name"], 0)].append((t["read_seconds"], t["elapsed_seconds"]))
median = lambda who, ahead, i: statistics.median(x[i] for x in rows[who, ahead])
print(f"{disk}: {reads} reads of 1 KiB, 10 ms of computing after each; {len(rows['replay', 0])} rounds, {bad} failed or different")
print(f"{'':10}{'':26}{'application':>12}{'replay':>11}{'real gain':>11}{'predicted':>11}{'off':>9}")
for i, what in enumerate(("in reads", "run time")):
    for ahead, text in enumerate(("as it is", "1 announced, prefetch=2", "2 announced, prefetch=4")):
        a, r = median("application", ahead, i), median("replay", ahead, i)
        line = f"{what:10}{text:26}{a:10.4f} s{r:9.4f} s"
        if ahead:
            real, predicted = 1 - a / median("application", 0, i), 1 - r / median("replay", 0, i)
            off = f"{predicted / real - 1:+.1%}" if real >= 0.1 else "-"  # the rounds differ by as much
            line += f"{real:11.1%}{predicted:11.1%}{off:>9}"
        print(line)
print()
PY
}

coalesce() {
	sizes="4096 16384 65536 262144 1048576 4194304"
	rm -rf coalesce
	mkdir -p coalesce/app
	"$pianola" record -o coalesce/trace.txt -- ./checkpoint coalesce/app/file 0 "$times" >coalesce/recorded
	for i in $(seq "$rounds"); do
		for size in 0 $sizes; do
			rm -f coalesce/app/*
			sync -f coalesce
			echo "$size $(./checkpoint coalesce/app/file $size "$times")" >>coalesce/application
		done
		rm -f coalesce/app/*
		sync -f coalesce
		turn coalesce/root coalesce/lab$i.json "coalesce=$(echo $sizes | tr ' ' ,)" --grid coalesce/trace.txt
	done
	python3 - "$times" <<'PY'
import collections, glob, json, statistics, sys
times = int(sys.argv[1])
rows, writes, bad = collections.defaultdict(list), {}, 0  # of (who, size): write time, run time
for line in open("coalesce/application"):
    size, calls, write, run = line.split()
    writes[int(size)] = int(calls)
    rows["application", int(size)].append((float(write), float(run)))
for name in glob.glob("coalesce/lab*.json"):
    report = json.load(open(name))
    for t in [report["baseline"]] + report["candidates"]:
        bad = max(bad, t["failed"] + t["differed"])
        rows["replay", int(t["name"].partition("=")[2] or 0)].append((t["write_seconds"], t["elapsed_seconds"]))
median = lambda who, size, i: statistics.median(x[i] for x in rows[who, size]) / times * 1e3
print(f"checkpoints of 782 writes, ms for each of {times}; {len(rows['replay', 0])} rounds, {bad} failed or different")
print(f"{'':12}{'':8}{'in writes':>24}{'':11}{'run time':>24}{'':11}{'run time of unbuffered':>26}")
print(f"{'buffer':>12}{'writes':>8}{'application':>13}{'replay':>11}{'':11}{'application':>13}{'replay':>11}{'':11}{'application':>15}{'replay':>11}")
for size in sorted(writes):
    a, r = ([median(who, size, i) for i in (0, 1)] for who in ("application", "replay"))
    line = f"{size / 1024:8.0f} KiB{writes[size] / times:8.0f}{a[0]:13.3f}{r[0]:11.3f}{'':11}{a[1]:13.3f}{r[1]:11.3f}"
    print(line + f"{'':11}{a[1] / median('application', 0, 1):15.2f}{r[1] / median('replay', 0, 1):11.2f}")
print()
PY
}

rank() {
	rm -rf rank
	mkdir -p rank/app
	echo input >rank/app/input
	"$pianola" record -o rank/trace.txt -- ./ranks rank/app/input 4 100
	writer=$(awk '/ fsync\(/ { print $1; exit }' rank/trace.txt)
	"$pianola" compile -o rank/all.bin rank/trace.txt
	"$pianola" compile -o rank/filter.bin --filter "process == $writer" rank/trace.txt
	"$pianola" compile -o rank/alone.bin --with "exec:python3 rank.py process=5" rank/trace.txt
	for i in $(seq "$rounds"); do
		for what in all filter alone; do
			"$pianola" replay --json --root rank/root --keep rank/$what.bin >rank/$what$i.json || [ $? = 1 ]
		done
	done
	python3 - "$writer" <<'PY'
import glob, json, os, statistics, sys
of = lambda run, field: next(c[field] for c in run["profile"]["categories"] if c["name"] == "write")
print("four processes, of which one writes")
print(f"{'':34}{'trace':>9}{'events':>9}{'failed':>8}{'differed':>10}{'bytes written':>15}{'in writes':>13}{'run time':>13}")
for name, what in (("all", "all"), ("filter", "--filter 'process == %s'" % sys.argv[1]), ("alone", "--with 'exec:python3 rank.py …'")):
    runs = [json.load(open(n)) for n in glob.glob(f"rank/{name}[0-9]*.json")]
    median = lambda f: statistics.median(map(f, runs))
    events = runs[0]["events"]
    print(f"{what:34}{os.path.getsize(f'rank/{name}.bin'):7} B{events['executed']:9}{max(r['events']['failed'] for r in runs):8}{max(r['events']['differed'] for r in runs):10}"
          + f"{of(runs[0], 'bytes'):15}{median(lambda r: of(r, 'seconds')) * 1e3:10.3f} ms{median(lambda r: r['elapsed_seconds']) * 1e3:10.3f} ms")
print()
PY
}

generator() {
	mkdir -p generator
	printf '100 100 1000\n1000 200 1000\n' >generator/telemetry.txt
	"$pianola" compile -o generator/trace.bin 'exec:awk -f telemetry.awk generator/telemetry.txt'
	"$pianola" replay --root generator/root generator/trace.bin
}

for experiment in "$@"; do
	at "$experiment"
	case $experiment in
	prefetch | slow | coalesce | rank | generator) $experiment ;;
	*) fail 2 "no experiment $experiment" ;;
	esac
done
