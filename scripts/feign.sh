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
# PIANOLA is the program to be tried, bin/pianola by default. Takes cc, python3 (rank)
# and the rights to record. docs/internals/lab.md says how to read the figures.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/slowdisk.sh"
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
	take_down_disk mnt || :
	rm -rf ./*/root ./*/app
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
			took=$(./stride run "$1/file" "$reads" 10 $ahead)
			echo "read_seconds of $ahead ${took% *}" >>"$3/application"
			echo "elapsed_seconds of $ahead ${took#* }" >>"$3/application"
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
	put_up_disk mnt 15 0 $((reads * 3 + 64))M
	stride mnt/app mnt/root slow
	show_stride "15 ms a read" slow
	take_down_disk mnt
}

# trials FILE…: what laboratories say of the baseline and of each candidate, a
# figure a line, as awk programs with medians take them.
trials() {
	awk -F'[":, ]+' '$2 == "name" { name = $3 } name != "" && /_seconds": [0-9]|"(failed|differed)":/ { print $2, name, $3 }' "$@"
}

# of_trials is what such programs have besides: the number of rounds, and how many
# events of a round failed or differed, at most.
of_trials='
function rounds(    v) { return split(all["elapsed_seconds", "baseline"], v, " ") }
function bad(    key, at, most) {
	for (key in all) {
		split(key, at, SUBSEP)
		if (at[1] ~ /^(failed|differed)$/) { sorted(at[1], at[2]); if (high > most[at[1]]) most[at[1]] = high }
	}
	return most["failed"] + most["differed"]
}
'

# show_stride DISK DIRECTORY: medians, and how far the predicted gain is off.
show_stride() {
	trials "$2"/lab*.json >"$2/replay"
	awk "$medians$of_trials"'
		function line(name, figure,    k, a, r, real, predicted) {
			for (k = 0; k < 3; k++) {
				a = sorted(figure, "of " k); r = sorted(figure, with[k + 1])
				printf "%-10s%-26s%10.4f s%9.4f s", name, (k ? k " announced, " with[k + 1] : "as it is"), a, r
				if (k) {
					real = 1 - a / sorted(figure, "of 0"); predicted = 1 - r / sorted(figure, "baseline")
					# Below a tenth, rounds differ by as much.
					printf "%10.1f%%%10.1f%%%9s", real * 100, predicted * 100, (real >= 0.1 ? sprintf("%+.1f%%", (predicted / real - 1) * 100) : "-")
				}
				print ""
			}
		}
		END {
			split("baseline prefetch=2 prefetch=4", with, " ")
			printf "%s: %d reads of 1 KiB, 10 ms of computing after each; %d rounds, %d failed or different\n", disk, reads, rounds(), bad()
			printf "%36s%12s%11s%11s%11s%9s\n", "", "application", "replay", "real gain", "predicted", "off"
			line("in reads", "read_seconds"); line("run time", "elapsed_seconds")
			print ""
		}' disk="$1" reads="$reads" "$2/application" "$2/replay"
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
			took=$(./checkpoint coalesce/app/file $size "$times")
			for figure in writes write_seconds elapsed_seconds; do
				echo "$figure of $size ${took%% *}" >>coalesce/application
				took=${took#* }
			done
		done
		rm -f coalesce/app/*
		sync -f coalesce
		turn coalesce/root coalesce/lab$i.json "coalesce=$(echo $sizes | tr ' ' ,)" --grid coalesce/trace.txt
	done
	trials coalesce/lab*.json >coalesce/replay
	awk "$medians$of_trials"'
		function each_ms(figure, way) { return sorted(figure, way) / times * 1e3 }
		END {
			printf "checkpoints of 782 writes, ms for each of %d; %d rounds, %d failed or different\n", times, rounds(), bad()
			printf "%20s%24s%11s%24s%11s%26s\n", "", "in writes", "", "run time", "", "run time of unbuffered"
			printf "%12s%8s%13s%11s%11s%13s%11s%11s%15s%11s\n", "buffer", "writes", "application", "replay", "", "application", "replay", "", "application", "replay"
			count = split("0 " sizes, size, " ")
			for (k = 1; k <= count; k++) {
				a = "of " size[k]; r = size[k] ? "coalesce=" size[k] : "baseline"
				printf "%8.0f KiB%8.0f%13.3f%11.3f%11s", size[k] / 1024, sorted("writes", a) / times, each_ms("write_seconds", a), each_ms("write_seconds", r), ""
				run = each_ms("elapsed_seconds", a); replayed = each_ms("elapsed_seconds", r)
				printf "%13.3f%11.3f%11s%15.2f%11.2f\n", run, replayed, "", run / each_ms("elapsed_seconds", "of 0"), replayed / each_ms("elapsed_seconds", "baseline")
			}
			print ""
		}' times="$times" sizes="$sizes" coalesce/application coalesce/replay
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
			"$pianola" replay --json --log rank/$what$i.log --root rank/root --keep rank/$what.bin >rank/$what$i.json || [ $? = 1 ]
			for figure in executed failed differed; do echo "$figure of $what $(figure $figure rank/$what$i.json)"; done >>rank/figures
		done
	done
	for what in all filter alone; do
		echo "size of $what $(wc -c <rank/$what.bin)" >>rank/figures
		beside rank/$what.bin rank/$what[0-9]*.log | awk -F, -v what=$what '
			$1 == "total" && $2 == "write" { print "bytes of", what, $14; print "write of", what, $4 }
			$1 == "total" && $2 == "elapsed" { print "elapsed of", what, $4 }' >>rank/figures
	done
	awk "$medians"'
		function of(figure) { return sorted(figure, "of " what) }
		function most(figure) { of(figure); return high }
		function row(name) {
			printf "%-34s%7d B%9d%8d%10d%15d", name, of("size"), of("executed"), most("failed"), most("differed"), of("bytes")
			printf "%10.3f ms%10.3f ms\n", of("write") * 1e3, of("elapsed") * 1e3
		}
		END {
			print "four processes, of which one writes"
			printf "%34s%9s%9s%8s%10s%15s%13s%13s\n", "", "trace", "events", "failed", "differed", "bytes written", "in writes", "run time"
			what = "all"; row("all")
			what = "filter"; row("--filter process == " writer)
			what = "alone"; row("--with exec:python3 rank.py")
			print ""
		}' writer="$writer" rank/figures
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
