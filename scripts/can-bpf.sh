#!/bin/sh
# Prints 1 where eBPF tests must run: as root on a kernel with BTF. Root of a
# container lacks CAP_SYS_ADMIN (bit 21) as a rule, and root of a user namespace
# has it for nothing but that.
caps=$(sed -n 's/^CapEff:[[:space:]]*/0x/p' /proc/self/status)
if [ "$(id -u)" = 0 ] && [ $((${caps:-0} >> 21 & 1)) = 1 ] && grep -q ' 4294967295$' /proc/self/uid_map && [ -r /sys/kernel/btf/vmlinux ]; then echo 1; fi
