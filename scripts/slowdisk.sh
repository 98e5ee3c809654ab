# slowdisk.sh: a disk with an access time, to be sourced with lib.sh. The directory that the
# script works in has slowdisk, which load/slowdisk.c makes. Needs root.

# put_up_disk PLACE READ WRITE SIZE [seek=NEAR:FAR] [rate=RATE]: a new ext4 at ./PLACE on a disk
# of that access time, in milliseconds for a read and a write; the options, of slowdisk, give it an
# arm. What it has is in IMAGES, the working directory by default.
put_up_disk() {
	store=${IMAGES-.}/slowdisk-$1.store
	mkdir -p "$1" "$1.disk"
	rm -f "$store"
	truncate -s "$4" "$store"
	mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "$store"
	./slowdisk "$store" "$2" "$3" "$1.disk" ${5-} ${6-} >"$1.out" 2>&1 &
	until mountpoint -q "$1.disk"; do kill -0 $!; done
	device=$(losetup --direct-io=on --find --show "$1.disk/image")
	mount "$device" "$1" || { losetup -d "$device"; return 1; }
	losetup -d "$device" # when it is unmounted
}

take_down_disk() {
	unmount "$1"
	unmount "$1.disk"
	rm -f "${IMAGES-.}/slowdisk-$1.store"
}
