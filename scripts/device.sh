# device.sh: a file system in an image, with no page cache below it, and its
# throttle, to be sourced with lib.sh. dir is the directory that the script works
# in. The images are in the directory IMAGES, dir by default.

# put_up FS PLACE: a new file system at $dir/PLACE. Its loop device goes when it
# is unmounted.
put_up() {
	mkdir -p "$dir/$2"
	if [ $1 = tmpfs ]; then
		mount -t tmpfs tmpfs "$dir/$2"
		return
	fi
	image=${IMAGES-$dir}/pianola-$2.image
	rm -f "$image"
	truncate -s 12G "$image"
	case $1 in
	ext4) mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$image" ;;
	*) mkfs.$1 -q "$image" >/dev/null ;;
	esac
	device=$(losetup --direct-io=on --find --show "$image")
	mount -t $1 "$device" "$dir/$2" || { losetup -d "$device"; return 1; }
	losetup -d "$device"
}
take_down() {
	unmount "$dir/$1"
	rm -f "${IMAGES-$dir}/pianola-$1.image"
}

# bytes: that were read from the device and written to it since it was put up.
bytes() { awk '{ print $3 * 512, $7 * 512 }' "/sys/block/${device##*/}/stat"; }

# throttle LIMITS: what the device may do from now on. With cgroups of version 1
# the limits are those of the root group, which are met by what writes back and
# by the journal as well. Version 2 has no limits there, so that a journal
# is only slowed as far as it is the writer's.
v1=/sys/fs/cgroup/blkio
v2=/sys/fs/cgroup
throttle() {
	number=$(lsblk -dnro MAJ:MIN "$device")
	if [ -e $v1/blkio.throttle.read_bps_device ]; then
		for limit in $1; do
			case $limit in
			rbps=*) file=read_bps ;;
			wbps=*) file=write_bps ;;
			riops=*) file=read_iops ;;
			wiops=*) file=write_iops ;;
			esac
			value=${limit#*=}
			[ "$value" != max ] || value=0
			echo "$number $value" >$v1/blkio.throttle.${file}_device
		done
	else
		echo "$number $1" >$v2/pianola-storage/io.max
	fi
}
release() { throttle "rbps=max wbps=max riops=max wiops=max"; }

# enter makes the limits hold for this script and all that it starts.
enter() {
	if [ -e $v1/blkio.throttle.read_bps_device ]; then
		home=$v1$(sed -n 's/^[0-9]*:blkio://p' /proc/self/cgroup)
		echo $$ >$v1/cgroup.procs
	elif grep -qw io $v2/cgroup.controllers 2>/dev/null; then
		home=$v2$(sed -n 's/^0:://p' /proc/self/cgroup)
		echo "+io +memory" >$v2/cgroup.subtree_control
		mkdir -p $v2/pianola-storage
		echo $$ >$v2/pianola-storage/cgroup.procs
	else
		fail 1 "no cgroup can slow a device down: neither blkio of version 1 nor io of version 2 is here"
	fi
}

# leave undoes that, and lifts the limits.
leave() {
	[ -n "${home-}" ] || return 0
	release || :
	echo $$ >"$home/cgroup.procs" || :
	[ ! -d $v2/pianola-storage ] || rmdir $v2/pianola-storage || :
}
