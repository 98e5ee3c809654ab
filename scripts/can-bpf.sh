#!/bin/sh
# Prints 1 where eBPF tests must run: as root on a kernel with BTF.
if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ]; then echo 1; fi
