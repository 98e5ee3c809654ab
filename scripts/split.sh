#!/bin/sh
# split.sh DIR [TIMES]: does a recording split the time off the processor as it is?
# Records scripts/load/split.c, which waits in six ways and knows for how long, and
# prints medians of what it knows beside those of what the recording says. Where a
# cgroup of root's can do that, the disk of DIR takes 2 ms for a read of that program,
# so that what the processor takes for one does not show. PIANOLA is the program to be tried, bin/pianola by default.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1 times=${2-3}
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(pwd)/scripts/load/split.c
export LC_ALL=C
at "the program and its file"
mkdir -p "$dir"
cd "$dir"
into cc.out gcc -O2 -Wall -pthread -o split "$source"
into dd.out dd if=/dev/urandom of=data bs=1M count=64 conv=fsync

# slow makes what this shell starts wait for the disk.
slow() {
	device=$(lsblk -dnro MAJ:MIN "$(findmnt -nvo SOURCE -T .)") || return 0
	before=$(sed -n 's|^[0-9]*:\(blkio\)\{0,1\}:||p' /proc/$$/cgroup | head -n 1)
	for root in /sys/fs/cgroup/blkio /sys/fs/cgroup; do
		group=$root/pianola-split
		mkdir "$group" 2>/dev/null || continue
		for file in blkio.throttle.read_iops_device io.max; do
			limit=500
			[ $file != io.max ] || limit=riops=500
			if { echo "$device $limit" >"$group/$file" && echo $$ >"$group/cgroup.procs"; } 2>/dev/null; then
				home=$root$before
				return 0
			fi
		done
		rmdir "$group"
	done
}
tidy() {
	[ -z "${home-}" ] || { echo $$ >"$home/cgroup.procs" && rmdir "$group"; }
}
at "a slow disk"
slow

# told: of each way to wait, which stands between two calls with its name, what the
# lines of the program's first thread add up to, in milliseconds.
told() {
	awk '
		function note(key) { return match($0, "[ {]" key "=[0-9]+") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) / 1e6 : 0 }
		$3 ~ /^[0-9]/ { next }
		match($0, /access\("[a-z]+"/) { name = substr($0, RSTART + 8, RLENGTH - 9); first = $1; inside = name != way; way = inside ? name : "" }
		$1 == first && way != "" || /access\("[a-z]+"/ {
			dur = match($0, /<[0-9.]+>/) ? substr($0, RSTART + 1, RLENGTH - 2) * 1000 : 0
			if (/wait\(FUTEX/) sum[name, "lock"] += dur
			if (/wait\(POLL/) sum[name, "poll"] += dur
			if (/pread64\(/ && !/type=/) sum[name, "direct"] += dur
			if (/map_read\(/) sum[name, "mapped"] += dur
			if (!(/access\(/ && inside)) {
				sum[name, "sleep"] += note("timer")
				sum[name, "spin"] += note("ready") + note("own")
				sum[name, "mapped"] += note("storage")
			}
		}
		END { n = split("lock poll sleep spin mapped direct", names, " "); for (i = 1; i <= n; i++) print names[i], "recorded", sum[names[i], names[i]] }
	' "$1"
}

for i in $(seq "$times"); do
	at "recording $i"
	into known.out "$pianola" record -o trace.txt -- ./split data
	awk 'NF == 2 && $2 ~ /^[0-9.]+$/ { print $1, "known", $2 * 1000 }' known.out
	told trace.txt
done >figures
echo 'wait      known, ms   recorded, ms   difference'
awk "$medians"'
	END {
		n = split("lock poll sleep spin mapped direct", names, " ")
		for (i = 1; i <= n; i++) {
			known = sorted(names[i], "known"); told = sorted(names[i], "recorded")
			printf "%-8s %10.3f %14.3f %+11.1f%%\n", names[i], known, told, 100 * (told / known - 1)
		}
	}' figures
