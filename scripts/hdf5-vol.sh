#!/bin/sh
# hdf5-vol.sh DIR: builds the HDF5 connector that keeps files in memory (hdf5/memvol), and
# tests it. HDF5 1.14, its tools, its C
# examples and h5py come from Debian's suite SUITE, trixie by default, and are
# unpacked into DIR/tree: nothing is installed, and the machine's own package
# sources stay as they are. What was fetched and built is kept; DIR/tests and what
# else is made stands in DIR. With ONLY= it builds only, which the studies hdf5-memory and
# hdf5-datasets need (scripts/measure); with TESTS=everything_tests it runs only programs of its
# own, as TestConnector does, for which DIR/tree can be the root directory of a machine that has
# HDF5. PIANOLA is the program that records, bin/pianola by
# default.
#
# Every test runs natively and through the connector, which is built with the
# address and the undefined behaviour sanitizer then. Takes gcc, make and apt-get.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
only=${ONLY-tests}
suite=${SUITE-trixie}
pianola=${PIANOLA-$(pwd)/bin/pianola}
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$dir"
tree=$dir/tree
packages='hdf5-tools libhdf5-doc python3-h5py python3-h5py-serial libasan8 libubsan1'

fetch() {
	at "fetching HDF5 from $suite"
	# The archive that this machine has its own packages from.
	site=${MIRROR-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Created-By: Packages' | grep -v security | head -n 1)}
	[ -n "$site" ] || fail 1 "apt-get names no Debian archive; MIRROR=URL names one"
	rm -rf apt tree
	mkdir -p apt/state/lists/partial apt/cache/archives/partial apt/debs
	: >apt/status
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >apt/sources.list
	cat >apt/apt.conf <<-END
	Dir::State "$dir/apt/state";
	Dir::State::status "$dir/apt/status";
	Dir::Cache "$dir/apt/cache";
	Dir::Etc::sourcelist "$dir/apt/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	APT::Install-Recommends "false";
	APT::Sandbox::User "";
	APT::Update::Error-Mode "any";
	Acquire::Languages "none";
	Acquire::Retries "2";
	END
	export APT_CONFIG="$dir/apt/apt.conf"
	into fetch.log apt-get update -q ||
		fail 1 "Debian's suite $suite can't be reached at $site: $(tail -n 1 fetch.log); SUITE=NAME and MIRROR=URL name others"
	into fetch.log apt-get install -q -y --download-only $packages
	# The headers, and the library to link with; what that depends on is not needed.
	(cd apt/cache/archives && into fetch2.log apt-get download -q libhdf5-dev)
	unset APT_CONFIG
	mkdir tree.new
	for deb in apt/cache/archives/*.deb; do dpkg -x "$deb" tree.new; done
	rm -rf apt
	mv tree.new tree
}
[ -e tree/usr/bin/h5dump ] || fetch

lib=$(dirname "$(find "$tree/usr/lib" -name libhdf5_serial.so | head -n 1)")
linker=$(find "$tree/usr/lib64" "$lib" -name 'ld-linux*' 2>/dev/null | head -n 1)
paths=$lib:$lib/blas:$lib/lapack
headers=$tree/usr/include/hdf5/serial
link="-Wl,--allow-shlib-undefined $lib/libhdf5_serial.so"

at 'building the connector'
for kind in plain asan; do
	mkdir -p $kind
	flags='-O2 -g'
	[ $kind = plain ] || flags='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined'
	into $kind.log make -C "$source/hdf5/memvol" HDF5="$headers" LIBS="$link" OUT="$dir/$kind" CFLAGS="$flags"
done

# compile SOURCE PROGRAM: a program that starts in the tree.
compile() {
	gcc -O1 -g -w -isystem "$headers" -o "$2" "$1" "$lib/libhdf5_serial_hl.so" "$lib/libhdf5_serial.so" -lm \
		-Wl,--allow-shlib-undefined -Wl,-rpath,"$lib" -Wl,--dynamic-linker="$linker"
}
mkdir -p bin
for program in everything calls limits random bench; do
	into compile.log compile "$source/hdf5/memvol/tests/$program.c" bin/$program
done
into compile.log compile "$source/testdata/hdf5/datasets.c" bin/datasets
into compile.log compile "$source/testdata/hdf5/checkpoint.c" bin/checkpoint
# The player, which replays recorded calls on this HDF5.
player=
if [ -x "$pianola" ]; then
	into player.log "$pianola" layer player -o player.c hdf5
	into compile.log compile player.c bin/player
	player=$dir/bin/player
fi

# The linker keeps its search path until the end.
echo 'leak:ld-linux' >leaks
# native COMMAND… and memory SETTINGS COMMAND… run programs of the tree, or linked with it.
native() { env -u HDF5_VOL_CONNECTOR timeout 300 "$linker" --library-path "$paths" "$@"; }
memory() {
	settings=$1
	shift
	ASAN_OPTIONS=detect_leaks=${LEAKS-1}:exitcode=99 LSAN_OPTIONS=suppressions="$dir/leaks":print_suppressions=0 \
		HDF5_PLUGIN_PATH="$dir/asan" HDF5_VOL_CONNECTOR="memvol $settings" \
		timeout 300 "$linker" --library-path "$paths" --preload "$lib/libasan.so.8:$lib/libubsan.so.1" "$@"
}

passed=0 failed=0
# verdict NAME STATUS WORDS…: a line of the table.
verdict() {
	name=$1 status=$2
	shift 2
	if [ "$status" = 0 ]; then passed=$((passed + 1)) word=fine; else failed=$((failed + 1)) word=DIFFERS; fi
	printf '%-34s %-8s %s\n' "$name" $word "$*"
}
dump() { native "$tree/usr/bin/h5dump" "$1" | sed 1d; }
# equal A B: whether two native files are equal, to h5diff and to h5dump.
equal() {
	native "$tree/usr/bin/h5diff" "$1" "$2" >equal.log 2>&1 || return 1
	# A datatype that was copied without its name has none, which h5dump says.
	{ dump "$1" >a.dump; dump "$2" >b.dump; } 2>>equal.log
	cmp -s a.dump b.dump
}

tests() {
	rm -rf tests
	mkdir tests
	cd tests
	log=$dir/tests/log
	for part in ${TESTS-everything_tests replay_tests tool_tests example_tests}; do $part; done
	cd "$dir"
	echo "$passed passed, $failed failed"
	[ $failed = 0 ] || fail 1 "some tests failed; their files are in $dir/tests"
}

everything_tests() {
	at 'testing programs of our own'
	native "$dir/bin/everything" native.h5
	status=0
	{ memory write=native "$dir/bin/everything" memory.h5 && equal native.h5 memory.h5; } >log 2>&1 || status=1
	verdict everything $status 'all kinds of objects, written to a native file: equal to h5diff and h5dump'
	status=0
	{ native "$dir/bin/calls" calls.h5 && memory '' "$dir/bin/calls" calls.h5 && [ ! -e calls.h5 ]; } >log 2>&1 || status=1
	verdict calls $status 'orders, visits, references, ids, several handles, threads'
	status=0
	memory limit=64MiB "$dir/bin/limits" limits.h5 >log 2>&1 || status=1
	verdict limits $status 'the limit, memory given back, messages'
	for seed in 1 2 3 4 5 6 7 8; do
		status=0
		{ memory "$([ $((seed % 2)) = 0 ] || echo write=native)" "$dir/bin/random" random.h5 $seed 2000; } >log 2>&1 || status=1
		if [ $status = 0 ] && [ $((seed % 2)) = 1 ]; then
			native "$tree/usr/bin/h5diff" random.h5.native random.h5 >log 2>&1 || status=1
		fi
		verdict "random $seed" $status '2000 random calls, on a native file and in memory'
		rm -f random.h5 random.h5.native
	done
	status=0
	for n in 10 100; do memory '' "$dir/bin/datasets" datasets.h5 $n 300 >log 2>&1 || status=1; done
	verdict datasets $status 'the program that the lab replays'
	status=0
	python=$(find "$tree/usr/bin" -name 'python3.[0-9]*' | head -n 1)
	export PYTHONHOME="$tree/usr" PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc
	if ! native "$python" -c 'import h5py' >log 2>&1; then
		echo 'h5py: left out, it is not here' >&2
		unset PYTHONHOME
		return
	fi
	{ native "$python" "$source/hdf5/memvol/tests/with_h5py.py" native_py.h5 &&
		LEAKS=0 memory write=native "$python" "$source/hdf5/memvol/tests/with_h5py.py" memory_py.h5 && equal native_py.h5 memory_py.h5; } >log 2>&1 || status=1
	unset PYTHONHOME
	verdict h5py $status 'datasets, selections, attributes, links, copies'
}

# way NAME COMMAND…: a command whose HDF5 is native, the core driver, or the connector,
# which writes its files.
way() {
	kind=$1
	shift
	case $kind in
	native) "$@" ;;
	core) env HDF5_DRIVER=core "$@" ;;
	connector) env HDF5_PLUGIN_PATH="$dir/plain" HDF5_VOL_CONNECTOR="memvol write=native" "$@" ;;
	esac
}

# A checkpoint, recorded natively, whose calls of HDF5 are replayed in three ways.
replay_tests() {
	at 'replaying recorded calls'
	if [ -z "$player" ] || ! "$pianola" record --layer hdf5 -o checkpoint.txt -- "$dir/bin/checkpoint" checkpoint.h5 >log 2>&1; then
		echo 'replay of calls: left out, nothing records calls of libraries here' >&2
		return
	fi
	"$pianola" compile -o checkpoint.bin checkpoint.txt >log 2>&1
	native "$tree/usr/bin/h5dump" -H checkpoint.h5 | sed 1d >checkpoint.dump
	for kind in native core connector; do
		rm -rf replayed
		status=0
		way $kind "$pianola" replay --play-layer hdf5 --strict --timing afap --backend "exec:$player" --root replayed checkpoint.bin >replay.out 2>log || status=1
		native "$tree/usr/bin/h5dump" -H "$(find replayed -name checkpoint.h5)" 2>>log | sed 1d >replayed.dump
		cmp -s checkpoint.dump replayed.dump || status=1
		verdict "replay, $kind" $status "$(awk '$1 == "all" { print $2 }' replay.out) recorded calls, a file of the same structure"
	done
}

# tool NAME COMMAND…: a tool's output, natively and in memory.
tool() {
	label=$1
	shift
	status=0
	native "$@" >native.out 2>native.err || true
	LEAKS=0 memory '' "$@" >memory.out 2>memory.err || [ $? != 99 ] || status=1
	cmp -s native.out memory.out || status=1
	verdict "$label" $status "$(wc -l <native.out) lines"
}
# makes NAME COMMAND…: a tool that makes a file, which the command names as OUT.
makes() {
	label=$1
	shift
	rm -f out_native.h5 out_memory.h5
	status=0
	native $(echo "$*" | sed 's/OUT/out_native.h5/g') >log 2>&1
	LEAKS=0 memory write=native $(echo "$*" | sed 's/OUT/out_memory.h5/g') >log 2>&1 || status=1
	equal out_native.h5 out_memory.h5 || status=1
	verdict "$label" $status 'files equal'
}

# Some tools leak memory themselves, so that is asked of the programs above only.
tool_tests() {
	at "testing HDF5's own tools"
	t=$tree/usr/bin
	tool h5dump $t/h5dump native.h5
	tool 'h5dump -A' $t/h5dump -A native.h5
	tool 'h5dump -n' $t/h5dump -n native.h5
	tool 'h5dump -d -s -S -c' $t/h5dump -d /numbers/i16be -s 1,2 -S 2,2 -c 2,2 native.h5
	tool 'h5dump -N' $t/h5dump -N typed native.h5
	tool 'h5ls -r' $t/h5ls -r native.h5
	tool 'h5ls -rd' $t/h5ls -rd native.h5
	tool 'h5diff, equal' $t/h5diff -v native.h5 memory.h5
	tool 'h5diff, different' $t/h5diff -v native.h5 native.h5 /numbers/i8 /numbers/u32
	makes h5copy $t/h5copy -p -i native.h5 -o OUT -s /records -d /a/b/records
	makes 'h5copy -f shallow' $t/h5copy -f shallow -i native.h5 -o OUT -s /links -d links
	makes h5repack $t/h5repack native.h5 OUT
	makes 'h5repack -f GZIP -l CHUNK' $t/h5repack -f numbers/u32:GZIP=5 -l numbers/u32:CHUNK=2x3 native.h5 OUT
	makes h5mkgrp $t/h5mkgrp -p OUT /x/y/z
	seq 1 60 >numbers.txt
	makes h5import $t/h5import numbers.txt -dims 5,12 -path in/numbers -type TEXTIN -size 32 -outfile OUT
	status=0
	for way in native 'memory write=native'; do
		cp native.h5 "out_${way%% *}.h5"
		$way $t/h5delete -f "out_${way%% *}.h5" >log 2>&1 || status=1
		[ ! -e "out_${way%% *}.h5" ] || status=1
	done
	verdict h5delete $status 'the file is gone'
}

# Examples that fail in memory, with a message: what the connector refuses, and what
# HDF5 itself has for native files only.
refused=' h5ex_d_extern h5ex_d_transform h5ex_g_compact h5ex_g_phase h5ex_g_traverse h5ex_t_cpxcmpd h5ex_t_cpxcmpdatt
h5_dtransform h5_extlink h5_ref_extern h5_elink_unix2win h5_mount h5_reference_deprec h5_ref2reg_deprec h5_ref_compat '
# Examples with references, which stay in memory, and are not written.
unwritten=' h5ex_t_objref h5ex_t_objrefatt h5ex_t_regref h5ex_t_regrefatt '

# example SOURCE: compiles an example of HDF5's, and runs it in the directories
# native and memory, where it may find files that examples before have made.
example() {
	name=$(basename "$1" .gz)
	name=${name%.c}
	case $1 in *.gz) gzip -dc "$1" >"$name.c" ;; *) cp "$1" "$name.c" ;; esac
	compile "$name.c" ./"$name" >log 2>&1 || return 0 # needs what isn't here
	touch mark
	(cd native && timeout 60 "$linker" --library-path "$paths" ../"$name" >../native.out 2>../native.err </dev/null) || return 0
	status=0
	where=write=native
	if echo "$unwritten" | grep -q -w -- "$name"; then where=; fi
	(cd memory && LEAKS=0 memory "$where" ../"$name" >../memory.out 2>../memory.err </dev/null) 2>/dev/null || status=$?
	made=$(find native -name '*.h5' -newer mark)
	words="$(wc -l <native.out) lines"
	if echo "$refused" | grep -q -w -- "$name"; then
		words=$(grep -h -o 'memvol: .*\|[^ ]* is only meant.*\|must use native.*' memory.err | head -n 1)
		# Examples look at no status, and may crash of what they don't get.
		status=0
		if grep -q 'runtime error\|^ *#[0-9]* 0x.*hdf5/memvol/' memory.err; then
			status=1
		elif [ -z "$words" ] && cmp -s native.out memory.out; then
			status=1 words='nothing, and should'
		fi
		verdict "$folder/$name" $status "as it has to: ${words:-prints how a native file is stored}"
		for file in $made; do rm -f "$file" "memory/${file#native/}"; done
		return
	fi
	cmp -s native.out memory.out || status=1
	for file in $made; do
		[ -n "$where" ] || continue
		equal "$file" "memory/${file#native/}" || { status=1 words="$words; ${file#native/} differs"; }
	done
	verdict "$folder/$name" $status "$words"
}

example_tests() {
	at "testing HDF5's examples"
	examples=$tree/usr/share/doc/libhdf5-doc/HDF5Examples/C
	for folder in H5D H5G H5T TUTR; do
		mkdir -p $folder/native $folder/memory
		cd $folder
		log=$dir/tests/$folder/log
		for file in "$examples/$folder"/*.h5 "$examples/$folder"/*.h5.gz; do
			[ -e "$file" ] || continue
			name=$(basename "$file" .gz)
			case $file in *.gz) gzip -dc "$file" >"native/$name" ;; *) cp "$file" "native/$name" ;; esac
			cp "native/$name" memory/
		done
		# The files of h5_shared_mesg have too many elements for h5dump.
		sources=$(ls "$examples/$folder"/*.c "$examples/$folder"/*.c.gz 2>/dev/null | grep -v /h5_shared_mesg)
		# These make files that others read.
		first=$(for name in h5_write h5_crtdat h5_rdwt h5_crtatt h5_crtgrp h5_crtgrpar h5_crtgrpd; do echo "$sources" | grep "/$name.c" || true; done)
		for file in $first $(echo "$sources" | grep -v -F "${first:-none}"); do
			example "$file"
		done
		cd ..
	done
}

for part in $only; do $part; done
