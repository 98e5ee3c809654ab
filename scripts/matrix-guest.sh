#!/bin/sh
# matrix-guest.sh runs in a virtual machine of matrix.sh, as its only service. It checks what
# works on this kernel, writes what the checks print to the second disk as an archive, and
# powers the machine off. The file "checks" of the archive has a line for each check: its
# name, its status, and words about it. With arguments the script runs one of its functions.
export PATH=/matrix:/usr/sbin:/usr/bin LC_ALL=C HOME=/root TMPDIR=/tmp
out=/results

# round RECORDER COMMAND…: records, compiles, replays and compares a command.
round() {
	tracer=$1
	shift
	pianola record --tracer "$tracer" -o trace.txt -- "$@" 2>record.err || { cat record.err; return 1; }
	pianola compile -o trace.bin trace.txt 2>compile.err || { cat compile.err; return 1; }
	pianola replay --root root --log replay.log --json trace.bin >replay.json 2>replay.err
	case $? in 0 | 3) ;; *) cat replay.err; return 1 ;; esac # 3 is inconclusive
	pianola compare --format json --tolerance 100000% trace.bin replay.log >compare.json
	case $? in 0 | 3) ;; *) return 1 ;; esac
	cat record.err compile.err replay.err replay.json
	grep -m 1 '"answer"' compare.json
	number() { sed -n "s/^ *\"$1\": \([0-9]*\),*/\1/p" replay.json | head -n 1; }
	echo "events=$(number executed) failed=$(number failed) differed=$(number differed)" \
		"coverage=$(sed -n 's/.*coverage: \(.*\) of the bytes, \(.*\) of the I.O time/\1,\2/p' record.err | tr -d ' ')" >>words
	[ "$(number failed)" = 0 ]
}

sql() {
	for i in $(seq 20); do echo "insert into t select randomblob(500) from generate_series(1, 100);"; done |
		sed '1i create table t(a);' >load.sql
	round "$1" sqlite3 a.db '.read load.sql'
}

# mixed RECORDER ENGINE OPTION…: a program that reads and writes with an engine of fio.
mixed() {
	tracer=$1 engine=$2
	shift 2
	round "$tracer" fio --name=f --filename=file --size=4m --bs=4k --rw=randrw --ioengine="$engine" --iodepth=8 --fsync=64 --thread "$@"
}

# program RECORDER: records a program of python3 with two threads and a child.
program() {
	cat >program.py <<-'END'
		import os, threading
		lock = threading.Lock()
		def work(n):
		    with open("f%d" % n, "wb") as f:
		        for i in range(50):
		            with lock:
		                f.write(b"x" * 9000)
		            f.flush()
		            os.fdatasync(f.fileno())
		    os.stat("f%d" % n)
		    os.rename("f%d" % n, "g%d" % n)
		threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
		for t in threads: t.start()
		for t in threads: t.join()
		if os.fork() == 0:
		    open("child", "w").write("x")
		    os._exit(0)
		os.wait()
	END
	round "$1" python3 -S program.py
}

# nobody COMMAND…: runs a function as a user without privileges.
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs sh /matrix/guest.sh "$@"; }

# namespace COMMAND…: runs a function of this script as root of a user namespace of nobody's.
namespace() { setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user --mount --pid --fork --mount-proc sh /matrix/guest.sh "$@"; }

# bounded BYTES COMMAND…: runs a function in a control group.
bounded() {
	group=/sys/fs/cgroup/matrix
	mkdir $group && echo "$1" >$group/memory.max && echo 64 >$group/pids.max || return 1
	shift
	(
		echo 0 >$group/cgroup.procs
		exec sh /matrix/guest.sh "$@"
	)
	status=$?
	cat $group/memory.events
	echo "peak=$(cat $group/memory.peak 2>/dev/null) $(grep oom_kill $group/memory.events | tr ' ' =)" >>words
	rmdir $group
	return $status
}

# tests PACKAGE [OPTION…]: runs the tests of a package. Without options they are short where the
# processor is emulated.
tests() {
	package=$1
	shift
	[ $# -gt 0 ] || ! grep -qw emulated /proc/cmdline || set -- -test.short
	words=$(pwd)/words
	cd "/src/$package" || return
	"/matrix/tests/$(echo "$package" | tr / -)" -test.v -test.timeout 2h "$@" >"$words.tests" 2>&1
	status=$?
	cat "$words.tests"
	count() { grep -c "^--- $1" "$words.tests"; }
	echo "passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)" >>"$words"
	return $status
}

if [ $# -gt 0 ]; then
	"$@"
	exit
fi

if ! [ -x /matrix/busybox ] || [ "$(id -u)" != 0 ] || [ -e /proc/self ]; then
	echo "matrix-guest.sh: runs as the first service of a machine of matrix.sh only" >&2
	exit 2
fi
mount -o remount,rw /
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
echo '+memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
mount -t tracefs trace /sys/kernel/tracing
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
ln -s /proc/self/fd /dev/fd
/matrix/busybox hostname matrix
/matrix/busybox ifconfig lo up
mkdir -p $out /work
wanted=$(sed -n 's/.*checks=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' ')

# check NAME SECONDS FUNCTION…: runs a function in a new directory, and notes its status: 77 if
# it needs eBPF and this kernel has too little of it.
check() {
	name=$1 seconds=$2
	shift 2
	case "$name ${wanted:-$name} " in "doctor "* | *" ${name%%:*} "* | *" $name "*) ;; *) return ;; esac
	case $name in
	*ebpf)
		if ! grep -A 1 '"recording with eBPF"' $out/doctor.out | grep -q '"ok"'; then
			echo "$name 77" | tee -a $out/checks
			return
		fi
		;;
	esac
	rm -rf /work/now
	mkdir -m 777 /work/now
	cd /work/now || exit
	: >words
	chmod 666 words
	timeout -k 10 "$seconds" sh /matrix/guest.sh "$@" >"$out/$(echo "$name" | tr / -).out" 2>&1 </dev/null
	echo "$name $? $(xargs <words)" | tee -a $out/checks
	cd /
	tar -c -f /dev/vdb -C $out .
	sync
}

/matrix/busybox uname -a >$out/kernel
check doctor 1200 pianola doctor --json
check sqlite:ebpf 1500 sql ebpf
check sqlite:ptrace 1500 sql ptrace
check threads:ebpf 1500 program ebpf
check threads:ptrace 1500 program ptrace
check threads:auto 1500 program auto
check uring:ebpf 1500 mixed ebpf io_uring
check uring:ptrace 1500 mixed ptrace io_uring
check libaio:ebpf 1500 mixed ebpf libaio
check libaio:ptrace 1500 mixed ptrace libaio
check mmap:ebpf 1500 mixed ebpf mmap
check mmap:ptrace 1500 mixed ptrace mmap
check doctor:nobody 1200 nobody pianola doctor --json
check nobody 1500 nobody program ptrace
check doctor:namespace 1200 namespace pianola doctor --json
check namespace 1500 namespace program ptrace
check doctor:bounded 1200 bounded 67108864 pianola doctor --json
check tests:record/ebpf 7200 tests record/ebpf
check tests:record/ptrace 7200 tests record/ptrace
check tests:record 7200 tests record
check tests:replay/rings 7200 tests replay/rings
check tests:replay/sandbox 7200 tests replay/sandbox
check tests:replay/fileset 7200 tests replay/fileset
check tests:replay 7200 tests replay
check tests:memfs 7200 tests memfs
check tests:internal/available 7200 tests internal/available
check tests:cmd/pianola 7200 tests cmd/pianola -test.run 'TestAttackContainer/(memory|threads|fewer_names)'
poweroff -f 2>/dev/null || /matrix/busybox poweroff -f
