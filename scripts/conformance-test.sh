#!/bin/sh
# conformance-test.sh TEST: runs a test of conformance.sh in the working directory. Its
# status doesn't matter: many look for errors.
case $1 in
stress-ng:*) stress-ng "--${1#*:}" 1 "--${1#*:}-ops" 20 --temp-path . --timeout 10 --no-rand-seed --oomable ;;
dbench) dbench --timelimit=3 -c /usr/share/dbench/client.txt 2 ;;
bonnie++) bonnie++ -d . -s 16M -r 8M -n 1:4096:16:4 -u "$(id -u)" -q ;;
xfs_io)
	xfs_io -f -c "pwrite 0 1m" -c "pread 0 1m" -c "truncate 700k" -c "falloc 1m 256k" -c "fpunch 64k 64k" -c "fzero 256k 64k" -c "fcollapse 0 64k" -c "finsert 64k 64k" \
		-c "seek -a 0" -c "fsync" -c "pwrite -V 4 100k 64k" -c "copy_range -s 0 -d 512k -l 64k a" -c "reflink a 0 0 64k" -c "set_encpolicy" -c "lsattr" -c "statx" a
	xfs_io -f -d -c "pwrite -b 4k 0 128k" -c "pread -b 4k 0 128k" b
	xfs_io -T -c "pwrite 0 4k" -c "flink c" .
	;;
fio:*) fio --name=f --ioengine="${1#*:}" --rw=randrw --size=4m --bs=4k --numjobs=2 --verify=crc32c --do_verify=1 --end_fsync=1 --iodepth=4 ;;
suite:*) "${1#*:}" ;;
esac
