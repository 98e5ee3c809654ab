#!/bin/sh
# generated.sh CLANG: fails where generated files are not those of their sources.
# They are made anew. Without the compiler, whose version they depend on, nothing
# is compared.
set -eu
. "$(dirname "$0")/lib.sh"
has "$1" || { echo "no $1: generated files are not compared"; exit 0; }
sums() { cksum bpf/headers/format.h bpf/*_bpfel.go bpf/*_bpfel.o format/layer/*.json; }
before=$(sums)
at "go generate"
CLANG=$1 "${GO-go}" generate ./...
[ "$(sums)" = "$before" ] || fail 1 "bpf, format/layer: generated files were not those of their sources; they are now: commit them"
