# record.sh makes a workload again, to be sourced by workloads/NAME/record.sh, which
# defines
#
#	programs   what it needs, as PROGRAM=PACKAGE
#	version    prints the version of the program
#	seed       makes, in the directory that it is called in, what the workload starts from
#	run        runs the workload there, through the command "$@"
#	user       who runs it, if not root; the directory is theirs
#	inputs     further directories whose files are not in the page cache at the start
#
# and then calls record. It needs root, for eBPF. PLACE is the directory for the work,
# whose name is in the trace; nothing else of the machine's names is. PIANOLA is the
# program that records, bin/pianola by default. With the argument plain the workload runs
# without being recorded, and all that is printed is its run time in seconds.
set -eu
way=${1-recorded}
here=$(cd "$(dirname "$0")" && pwd)
name=${here##*/}
cd "$here/../.."
. scripts/lib.sh
pianola=${PIANOLA-$(pwd)/bin/pianola}
top=$(pwd) path=$PATH home=${HOME-/} temporary=${TMPDIR-/tmp}
place=${PLACE-/srv/pianola}/$name
out=$(mktemp -d)
user= inputs=
tidy() { cd / && rm -rf "$out" "$place"; rmdir "${place%/*}" 2>/dev/null || :; }

# plain COMMAND…: runs a command as the user of the workload.
plain() { if [ -n "$user" ]; then setpriv --reuid "$user" --regid "$user" --init-groups -- "$@"; else "$@"; fi; }

recorded() { "$pianola" record --no-host ${user:+--user "$user"} -o "$out/trace.txt" -- "$@"; }

# cold drops what the page cache holds of files.
cold() {
	sync -f .
	find "$@" -type f -print0 | python3 -c '
import os, sys
for name in sys.stdin.buffer.read().split(b"\0")[:-1]:
    fd = os.open(name, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)'
}

# tree DIR N: N small files of text in 20 directories, always the same.
tree() {
	awk -v dir="$1" -v n="$2" 'BEGIN {
		srand(1)
		for (d = 0; d < 20; d++) system("mkdir -p " dir "/d" d)
		for (i = 0; i < n; i++) {
			f = dir "/d" i % 20 "/f" i ".txt"
			for (k = int(rand() * 120); k >= 0; k--) printf "%d %d some text in file %d\n", k, rand() * 1e9, i >f
			close(f)
		}
	}'
}

# noise FILE MIB: random bytes.
noise() { head -c "$2M" /dev/urandom >"$1"; }

# record makes trace.bin, and the figures and the version of workload.yaml.
record() {
	[ "$(id -u)" = 0 ] || fail 1 "only root can record"
	at "$name: what it needs"
	sh scripts/need.sh python3=python3 $programs
	at "$name: what it starts from"
	rm -rf "$place"
	mkdir -p "$place"
	[ -z "$user" ] || chown "$user" "$place"
	cd "$place"
	export LC_ALL=C HOME="$place" TMPDIR="$place" PATH=/usr/sbin:/usr/bin:/sbin:/bin
	unset XDG_CACHE_HOME XDG_CONFIG_HOME
	into "$out/seed.out" seed
	cold . $inputs
	if [ $way = plain ]; then
		at "$name: the program"
		begin=$(date +%s.%N)
		into "$place/run.out" run plain
		date +%s.%N | awk -v begin="$begin" '{ printf "%.3f\n", $1 - begin }'
		return
	fi
	at "$name: recording"
	into "$place/run.out" run recorded
	at "$name: compiling"
	cd "$out"
	into compile.out "$pianola" compile --strict --report report.txt -o trace.bin trace.txt
	cat compile.out
	install -m 644 trace.bin "$here/trace.bin"
	version >version
	sed -i "s/^version:.*/version: \"$(cat version)\"/" "$here/workload.yaml"
	at "$name: the picture"
	"$pianola" profile --plot "$here/profile.svg" "$here/trace.bin" >/dev/null
	at "$name: the figures"
	cd "$top"
	export PATH="$path" HOME="$home" TMPDIR="$temporary"
	into "$out/test.out" ${GO-go} test -count 1 ./workloads -run "TestCards/^$name\$" -update
	ls -l "$here/trace.bin"
}
