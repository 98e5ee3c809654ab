#!/bin/sh
# matrix.sh DIR [KERNEL…]: runs Pianola on other kernels, in virtual machines of qemu, and
# shows what works on each ("-" is what needs eBPF, where the kernel has too little of it). KERNEL is the name of a row of the table below: without names
# all rows of this machine's architecture run, arm64 by emulation with ARM64=1. Kernels and
# programs are packages of the mirror that apt uses here; they are unpacked below DIR, and
# nothing is installed. KVM is used if a machine boots with it, else the processor is
# emulated, so no time is measured. What each machine runs stands in matrix-guest.sh; CHECKS
# names some of its checks. LIMIT bounds the seconds that a machine may take (7200).
# What each check printed stands in DIR/KERNEL/out, the console in DIR/KERNEL/console.
set -eu
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$here")
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift
export LC_ALL=C

# Each row: name, architecture, suite, package that depends on the kernel.
kernels='
5.10 amd64 bullseye linux-image-cloud-amd64
6.1 amd64 bookworm linux-image-cloud-amd64
6.12 amd64 trixie linux-image-cloud-amd64
newest amd64 trixie-backports linux-image-cloud-amd64
arm64 arm64 trixie linux-image-cloud-arm64
arm64-6.1 arm64 bookworm linux-image-cloud-arm64
'
userland=trixie # the suite of the programs in all machines
programs='base-files bash coreutils dash diffutils findutils fio grep gzip mount procps python3 sed sqlite3 strace tar util-linux'
tests='internal/available memfs record record/ebpf record/ptrace replay replay/fileset replay/rings replay/sandbox cmd/pianola'

# row NAME: sets arch, suite and meta.
row() {
	line=$(echo "$kernels" | grep "^$1 ") || fail 2 "no kernel $1; there is $(echo "$kernels" | cut -d' ' -f1 | xargs)"
	arch=$(echo "$line" | cut -d' ' -f2) suite=$(echo "$line" | cut -d' ' -f3) meta=$(echo "$line" | cut -d' ' -f4)
}

# apt ARCH SUITE COMMAND…: runs a command of apt with a configuration of its own, which
# knows one suite, one architecture, and no installed package.
apt() (
	of=$dir/apt/$2-$1 program=$3
	if [ ! -e "$of/apt.conf" ]; then
		mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1; exit }')
		mkdir -p "$of/lists/partial" "$of/cache/archives/partial"
		: >"$of/status"
		echo "deb [arch=$1] ${mirror:?apt knows no mirror of Debian} $2 main" >"$of/sources.list"
		cat >"$of/new.conf" <<-END
			Dir::Etc::sourcelist "$of/sources.list";
			Dir::Etc::sourceparts "-";
			Dir::State::lists "$of/lists";
			Dir::State::status "$of/status";
			Dir::Cache "$of/cache";
			APT::Architecture "$1";
			APT::Architectures { "$1"; };
			APT::Install-Recommends "0";
			APT::Sandbox::User "root";
			Acquire::Languages "none";
		END
		APT_CONFIG=$of/new.conf apt-get update -q
		mv "$of/new.conf" "$of/apt.conf"
	fi
	shift 3
	APT_CONFIG=$of/apt.conf "$program" "$@"
)

# unpack DIR FILE…: unpacks packages.
unpack() {
	to=$1
	shift
	for deb in "$@"; do dpkg-deb -x "$deb" "$to"; done
}

# kernel NAME: makes DIR/kernels/NAME with vmlinuz and an initial file system that mounts
# the first disk and runs what is on it.
kernel() (
	row "$1"
	of=$dir/kernels/$1
	[ ! -e "$of/initrd" ] || exit 0
	rm -rf "$of"
	mkdir -p "$of/debs" "$of/tree" "$of/init/bin" "$of/init/modules" "$of/init/dev" "$of/init/root"
	into "$of/apt.log" apt "$arch" "$suite" apt-get update -q
	names=$(apt "$arch" "$suite" apt-cache depends --recurse --important "$meta" | grep -E '^linux-(image|modules|base|binary)-[0-9]' | sort -u)
	# shellcheck disable=SC2086
	(cd "$of/debs" && into "$of/download.log" apt "$arch" "$suite" apt-get download $names)
	unpack "$of/tree" "$of"/debs/*.deb
	cp "$(find "$of/tree" -name 'vmlinuz*' -type f)" "$of/vmlinuz"
	modules=$(dirname "$(find "$of/tree" -path '*/modules/*' -name kernel -type d -prune)")
	release=${modules##*/}
	[ "$modules" = "$of/tree/lib/modules/$release" ] || ln -s usr/lib "$of/tree/lib"
	depmod -b "$of/tree" "$release"
	n=10
	for module in virtio_pci virtio_blk ext4; do
		modprobe -d "$of/tree" -S "$release" --show-depends "$module" 2>/dev/null | sed -n 's/^insmod //p'
	done | awk '!seen[$0]++' | while read -r file _; do
		to=$of/init/modules/$n-$(basename "${file%.xz}")
		case $file in *.xz) xz -dc "$file" >"$to" ;; *) cp "$file" "$to" ;; esac
		n=$((n + 1))
	done
	cp "$(busybox "$arch")" "$of/init/bin/busybox"
	cat >"$of/init/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox mount -t devtmpfs dev /dev
		for module in /modules/*; do /bin/busybox insmod "$module"; done
		/bin/busybox mount -t ext4 /dev/vda /root || /bin/busybox poweroff -f
		/bin/busybox mount --move /dev /root/dev
		exec /bin/busybox switch_root /root /matrix/busybox init
	END
	chmod +x "$of/init/init"
	(cd "$of/init" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$of/initrd.new"
	mv "$of/initrd.new" "$of/initrd"
	rm -rf "$of/tree" "$of/debs"
)

# busybox ARCH: prints the path of a static busybox.
busybox() (
	of=$dir/busybox/$1
	if [ ! -e "$of/busybox" ]; then
		mkdir -p "$of/tree"
		into "$of/apt.log" apt "$1" $userland apt-get update -q
		(cd "$of" && into "$of/download.log" apt "$1" $userland apt-get download busybox-static)
		unpack "$of/tree" "$of"/*.deb
		mv "$(find "$of/tree" -name busybox -type f -perm /100)" "$of/busybox"
		rm -rf "$of/tree"
	fi
	echo "$of/busybox"
)

# disk ARCH: makes DIR/disk/ARCH.ext4 with programs, Pianola, its tests and its source.
disk() (
	of=$dir/disk/$1
	mkdir -p "$of"
	if [ ! -e "$of/programs" ]; then
		rm -rf "$of/tree"
		mkdir "$of/tree"
		into "$of/apt.log" apt "$1" $userland apt-get update -q
		# shellcheck disable=SC2086
		into "$of/download.log" apt "$1" $userland apt-get install -q -y --download-only $programs
		debs=$dir/apt/$userland-$1/cache/archives
		unpack "$of/tree" "$debs"/base-files_*.deb # its links come first
		unpack "$of/tree" "$debs"/*.deb
		rm -rf "$of/tree/usr/share/doc" "$of/tree/usr/share/locale" "$of/tree/usr/share/man"
		ln -sf dash "$of/tree/usr/bin/sh"
		printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$of/tree/etc/passwd"
		printf 'root:x:0:\nnogroup:x:65534:\n' >"$of/tree/etc/group"
		printf '::sysinit:/bin/sh /matrix/guest.sh\n' >"$of/tree/etc/inittab"
		: >"$of/programs"
	fi
	rm -rf "$of/tree/matrix" "$of/tree/src"
	mkdir -p "$of/tree/matrix/tests" "$of/tree/src"
	cp "$(busybox "$1")" "$of/tree/matrix/busybox"
	cp "$here/matrix-guest.sh" "$of/tree/matrix/guest.sh"
	(
		cd "$source"
		export GOARCH="$1" CGO_ENABLED=0 
		go build -trimpath -buildvcs=false -o "$of/tree/matrix/pianola" ./cmd/pianola
		for package in $tests; do go test -c -o "$of/tree/matrix/tests/$(echo "$package" | tr / -)" "./$package"; done
		git -c safe.directory='*' ls-files -z | tar -c --null -T - --ignore-failed-read | tar -x -C "$of/tree/src"
	)
	rm -f "$dir/disk/$1.ext4"
	mkfs.ext4 -q -d "$of/tree" -E root_owner=0:0 "$dir/disk/$1.ext4" 4G
)

# qemu KERNEL SECONDS ACCELERATION WORDS CONSOLE DISK [DISK]: runs a machine until it powers
# off. What it writes to the first disk is thrown away.
qemu() {
	how=$3
	if [ "$arch" = arm64 ]; then
		machine="qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on" tty=ttyAMA0
	else
		machine="qemu-system-x86_64 -M q35 -cpu max" tty=ttyS0
		# Linux 6.12 crashes in the emulation of qemu 7.2: cmpxchg16b breaks the flags, and
		# a processor runs code that another one has changed. qemu 10 emulates both right.
		case $how-$(qemu-system-x86_64 --version) in "tcg-QEMU emulator version "[0-9].*) machine=$machine,cx16=off how=tcg,thread=single ;; esac
	fi
	# shellcheck disable=SC2086
	timeout "$2" $machine -accel "$how" -smp 2 -m 4096 -display none -nic none -no-reboot -serial "file:$5" \
		-kernel "$dir/kernels/$1/vmlinuz" -initrd "$dir/kernels/$1/initrd" -append "console=$tty panic=-1 quiet no_timer_check $4" \
		-drive "file=$6,if=virtio,format=raw,snapshot=on" ${7:+-drive "file=$7,if=virtio,format=raw"} </dev/null >"$5.qemu" 2>&1
}

# acceleration KERNEL: prints kvm if a machine boots with it, else tcg.
acceleration() {
	[ -w /dev/kvm ] && [ "$arch" = "$(dpkg --print-architecture)" ] || { echo tcg; return; }
	if [ ! -e "$dir/kvm" ]; then
		if qemu "$1" 30 kvm 'rdinit=/bin/busybox -- poweroff -f' "$dir/kvm.console" /dev/null; then echo kvm; else echo tcg; fi >"$dir/kvm"
	fi
	cat "$dir/kvm"
}

# machine KERNEL: runs all checks on a kernel, and leaves what they say in DIR/KERNEL/out.
machine() {
	row "$1"
	rm -rf "${dir:?}/$1"
	mkdir -p "$dir/$1/out"
	truncate -s 256M "$dir/$1/results"
	how=$(acceleration "$1")
	echo "$how" >"$dir/$1/acceleration"
	ended=0
	words=${CHECKS:+checks=$(echo "$CHECKS" | tr ' ' ,)}
	[ "$how" = kvm ] || words="$words emulated"
	qemu "$1" "$limit" "$how" "$words" "$dir/$1/console" "$dir/disk/$arch.ext4" "$dir/$1/results" || ended=$?
	tar -x -f "$dir/$1/results" -C "$dir/$1/out" || fail 1 "kernel $1 gave no results (qemu: $ended): see $dir/$1/console"
	rm "$dir/$1/results"
	[ $ended = 0 ] || echo "kernel $1 was stopped (qemu: $ended)" >&2
	sed "s/^/$1 /" "$dir/$1/out/checks"
}

# summary KERNEL…: prints a table of all checks. It fails if one has failed.
summary() {
	for kernel in "$@"; do sed "s/^/$kernel /" "$dir/$kernel/out/checks"; done | awk -v kernels="$*" '
		!($2 in row) { row[$2]; order[++rows] = $2 }
		{ cell[$2, $1] = $3 == 0 ? "ok" : $3 == 77 ? "-" : "failed"; failed += $3 != 0 && $3 != 77 }
		END {
			n = split(kernels, column, " ")
			printf "%-24s", ""
			for (k = 1; k <= n; k++) printf " %9s", column[k]
			for (i = 1; i <= rows; i++) {
				printf "\n%-24s", order[i]
				for (k = 1; k <= n; k++) printf " %9s", cell[order[i], column[k]]
			}
			print ""
			exit failed > 0
		}'
}

limit=${LIMIT:-7200}
if [ $# = 0 ]; then
	native=$(dpkg --print-architecture)
	# shellcheck disable=SC2046
	set -- $(echo "$kernels" | awk -v native="$native" -v emulate="${ARM64-}" '$2 == native || emulate && $1 == "arm64" { print $1 }')
fi
for name in "$@"; do
	at "kernel $name"
	row "$name"
	kernel "$name"
	case " ${made-} " in *" $arch "*) ;; *) disk "$arch" && made="${made-} $arch" ;; esac
	machine "$name"
done
at summary
summary "$@" || fail 1 "some checks failed: see $dir/KERNEL/out"
