#!/bin/sh
# bench-compile.sh DIR [LINES]: how fast compile is and how small what it makes,
# beside zstd and gzip of the same script, and beside gzip -1 in alternating runs;
# then the same for recordings of real programs. All that it makes stands in DIR.
# LINES=0 leaves out the first and the last. Recording takes root.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
lines=${2-10000000}
pianola=$(pwd)/bin/pianola
sql=$(pwd)/scripts/demo.sql
demo=$(pwd)/demo/trace.txt # of make demo, if there is one
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"

# beside_gzip NAME SCRIPT: medians of five alternating runs of gzip -1 and of
# compile, on one processor and on two.
beside_gzip() {
	python3 - "$1" "$2" "$pianola" <<'PY'
import os, resource, statistics, subprocess, sys, time
name, script, pianola = sys.argv[1:]
def run(command, cpus):
    t = time.time()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command}: status {status}")
    return time.time() - t, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024
available = sorted(os.sched_getaffinity(0))
for n in sorted({1, min(2, len(available))}):
    gzip, compiled = [], []
    for _ in range(5):
        gzip.append(run(["gzip", "-1", "-c", script], available[:n]))
        compiled.append(run([pianola, "compile", "-o", "beside.bin", script], available[:n]))
    wall, cpu = ([statistics.median(r[k] for r in runs) for runs in (gzip, compiled)] for k in (0, 1))
    print(f"{name:8} {n} cpu  gzip -1 {wall[0]:6.2f} s ({cpu[0]:5.2f} s cpu)  compile {wall[1]:6.2f} s ({cpu[1]:5.2f} s cpu)"
          f"  ratio {wall[1] / wall[0]:5.2f} ({cpu[1] / cpu[0]:5.2f} cpu)  {max(r[2] for r in compiled):4} MiB")
PY
}
awk 'BEGIN {
	print "# pianola script 1\n# cwd: \"/srv\""
	print "1000 0.000021000 openat(AT_FDCWD, \"db\", O_RDWR|O_CLOEXEC) = 3 <0.000004000> {type=reg mode=0644 size=16384000 cached=0}"
	srand(1)
	for (i = 0; i < 1000000; i++)
		printf "1000 0.000021000 pread64(3, 0x7f0000001000, 4096, %d) = 4096 <0.000001000>\n", int(rand() * 4000) * 4096
}' >reads.txt
echo "beside gzip -1 of the same script: medians of five alternating runs"
beside_gzip reads reads.txt
[ ! -f "$demo" ] || beside_gzip demo "$demo"
rm -f reads.txt beside.bin
[ "$lines" != 0 ] || exit 0

# As a database does it: reads and writes of pages, some syncs, files opened anew.
awk -v n="$lines" 'BEGIN {
	print "# pianola script 1\n# cost: inside=-40 outside=320\n# cwd: \"/srv\""
	seed = 1
	for (i = 0; i < n; i++) {
		seed = (seed * 1103515245 + 12345) % 2147483648
		page = int(seed / 65536) % 20000
		if (i % 1000 == 0) printf "4711 0.000011000 openat(AT_FDCWD, \"db%d\", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3 <0.000004000> {type=reg mode=0644 size=81920000 cached=0}\n", i / 1000 % 10
		else if (i % 1000 == 999) print "4711 0.000011000 close(3) = 0 <0.000001000>"
		else if (i % 100 == 50) printf "4711 0.000011000 fdatasync(3) = 0 <0.000%06d>\n", page * 10
		else if (seed % 7 < 4) printf "4711 0.00000%04d pread64(3, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", page % 9000 + 1000, page * 16, page * 4096, page % 700 + 500
		else printf "4711 0.00000%04d pwrite64(3, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", page % 9000 + 1000, page * 16, page * 4096, page % 700 + 1500
	}
}' >script.txt

# time_of NAME OUTPUT COMMAND…: seconds of processor time, peak memory, bytes.
time_of() {
	name=$1 out=$2
	at "$name"
	shift 2
	GOMAXPROCS=1 python3 - "$name" "$out" "$lines" "$@" <<'PY'
import os, resource, subprocess, sys, time
name, out, lines, *command = sys.argv[1:]
best = None
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t = time.time()
    subprocess.run(command, check=True, stdout=open("stdout", "w"))
    wall = time.time() - t
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if best is None or cpu < best[0]:
        best = cpu, wall
size = os.path.getsize(out)
print(f"{name:18} {best[0]:7.2f} s cpu {best[1]:7.2f} s {int(lines) / best[0] / 1e6:6.2f} M lines/s  {after.ru_maxrss // 1024:5} MiB  {size:11} bytes {size / int(lines):6.2f} a line")
PY
}
echo "script of $lines lines, $(stat -c %s script.txt) bytes; one processor, the best of three"
time_of "pianola compile" trace.bin "$pianola" compile -o trace.bin script.txt
time_of "zstd -3" script.zst zstd -3 -q -f --single-thread -o script.zst script.txt
time_of "gzip" script.txt.gz gzip -k -f script.txt
rm -f script.*

[ "$(id -u)" = 0 ] || exit 0
mkdir tree
for d in 1 2 3 4 5 6 7 8 9 10; do
	mkdir tree/d$d
	for f in $(seq 100); do seq $f $((f * 20)) >tree/d$d/f$f; done
done
printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >hello.c
real() {
	name=$1
	shift
	at "$name: recording"
	into run.out "$pianola" record -o "$name.txt" -- "$@"
	at "$name: compile"
	into compile.out "$pianola" compile -o "$name.bin" --report report "$name.txt"
	events=$(sed -n 's/^events: //p' report)
	# A record takes 80 bytes and a duration 8.
	stat -c %s "$name.bin" | awk -v n="$name" -v e="$events" '{ printf "%-10s %8d events %9d bytes %6.2f an event, %5.1f:1\n", n, e, $1, $1 / e, e * 88 / $1 }'
}
echo "real recordings, and their ratio to uncompressed records and durations"
real sqlite3 sqlite3 app.db ".read '$sql'"
real git sh -c 'cd tree && git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x'
real gcc gcc -O1 -o hello hello.c
real tar tar cf tree.tar tree
real dd dd if=/dev/zero of=zeros bs=4096 count=100000
rm -rf tree app.db zeros tree.tar
