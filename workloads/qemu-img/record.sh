#!/bin/sh
# A raw disk converted to qcow2, with a snapshot, then writes to a copy on write and
# reads of it, 16 in flight and past the page cache (libaio, O_DIRECT), a commit and a
# check.
. "$(dirname "$0")/../record.sh"
programs="qemu-img=qemu-utils"
version() { qemu-img --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'; }
seed() {
	for k in 0 1 2 3 4 5 6 7; do
		noise part 12
		dd if=part of=disk.raw bs=1M seek=$((k * 32)) conv=notrunc status=none
	done
	rm part
	truncate -s 256M disk.raw
	cat >load.sh <<'S'
set -e
qemu-img convert -f raw -O qcow2 disk.raw base.qcow2
qemu-img snapshot -c one base.qcow2
qemu-img create -q -f qcow2 -b base.qcow2 -F qcow2 top.qcow2
qemu-img bench -f qcow2 -t none -n -w -d 16 -s 4096 -S 135168 -c 4000 --flush-interval=64 top.qcow2
qemu-img bench -f qcow2 -t none -n -d 16 -s 65536 -S 200704 -c 2000 top.qcow2
qemu-img commit -q -f qcow2 top.qcow2
qemu-img check -f qcow2 base.qcow2
S
}
run() { "$@" sh load.sh; }
record
