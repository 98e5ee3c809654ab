#!/bin/sh
# conformance.sh DIR [TEST…]: test suites of others, recorded and replayed, test by
# test, on the backends posix and memory: file system stressors of stress-ng, dbench,
# bonnie++, xfs_io, and fio with verify. SUITE=DIR adds every executable file of a
# folder, run in an empty directory. What it shows of each test: events, events left
# out, results that are unexplained, that failed and that differed, and in how many
# files the tree that the replay leaves differs from that of the application. What
# differs stands in DIR/reasons.txt.
set -eu
. "$(dirname "$0")/lib.sh"
pianola=${PIANOLA-$(pwd)/bin/pianola}
here=$(cd "$(dirname "$0")" && pwd)
suite=${SUITE:+$(cd "$SUITE" && pwd)}
dir=$1
shift
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
export LC_ALL=C

stressors="access chattr chdir chmod chown copy-file dentry dir dirdeep dirmany dup fallocate fcntl fiemap file-ioctl filename flock fpunch fsize fstat
getdent hdd inode-flags io iomix lease link locka lockf lockofd metamix mknod open readahead rename revio seek sendfile symlink sync-file touch
unlink utime xattr"

tests() {
	if has stress-ng; then for s in $stressors; do echo "stress-ng:$s"; done; fi
	if has dbench; then echo dbench; fi
	if has bonnie++; then echo bonnie++; fi
	if has xfs_io; then echo xfs_io; fi
	if has fio; then echo "fio:psync fio:libaio fio:io_uring fio:mmap"; fi
	if [ -n "$suite" ]; then
		find "$suite" -type f -perm /111 | sort | sed 's/^/suite:/'
	fi
}

# counted FILE: the numbers of events, failed and differed of a result.
counted() { echo "$(figure executed "$1") $(figure failed "$1") $(figure differed "$1")"; }

printf '%-24s %8s %8s %11s %14s %16s %6s\n' test events 'left out' unexplained 'posix f/d' 'memory f/d' trees
[ $# -gt 0 ] || set -- $(tests)
all=0 perfect=0
for test in "$@"; do
	at "$test"
	name=$(echo "${test#suite:"$suite"/}" | tr '/:' '__')
	mkdir -p "$name/work"
	cd "$name"
	into record.out "$pianola" record -o trace.txt -- sh -c 'cd work && exec timeout 60 sh "$0" "$1"' "$here/conformance-test.sh" "$test" || true
	if ! into compile.out "$pianola" compile -o trace.bin --report report.txt trace.txt; then
		printf '%-24s not compiled\n' "$name"
		echo "$name: $(tail -n 2 compile.out)" >>../reasons.txt
		cd ..
		continue
	fi
	for backend in posix memory; do
		keep=
		[ $backend = memory ] || keep="--root $(pwd)/root --keep"
		# shellcheck disable=SC2086
		("$pianola" replay --timing afap --backend $backend $keep --json trace.bin >$backend.json 2>$backend.err) || true
	done
	differ=$(python3 "$here/trees.py" report.txt "$(pwd)/work" root >trees.txt 2>&1 && wc -l <trees.txt || echo '?')
	left=$(awk '/^left out:/ { print $3; exit }' report.txt)
	wrong=$(awk '/^unexplained:/ { print $2; exit }' report.txt)
	posix=$(counted posix.json) memory=$(counted memory.json)
	printf '%-24s %8s %8s %11s %14s %16s %6s\n' "$name" "${posix%% *}" "$left" "$wrong" "$(echo "${posix#* }" | tr ' ' /)" "$(echo "${memory#* }" | tr ' ' /)" "$differ"
	all=$((all + 1))
	if [ "$wrong ${posix#* } ${memory#* } $differ" = "0 0 0 0 0 0" ]; then perfect=$((perfect + 1)); fi
	{
		sed -n '/^unexplained: [1-9]/,/^substitutions/p' report.txt | sed '$d'
		for backend in posix memory; do
			python3 "$here/trees.py" --differences $backend.json | sed "s/^/  $backend: /"
		done
		sed 's/^/  tree: /' trees.txt | head -n 20
	} >reason.txt
	if [ -s reason.txt ]; then { echo "$name"; cat reason.txt; } >>../reasons.txt; fi
	[ "${KEEP-}" ] || rm -rf work root
	cd ..
done
echo "$perfect of $all tests: nothing failed, differed or was unexplained, and the trees are the same"
