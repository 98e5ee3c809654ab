#!/bin/sh
# A simulation that writes three chunked datasets at each step and flushes them, an
# analysis that reads slices across all steps, and a repack with compression.
. "$(dirname "$0")/../record.sh"
programs="h5cc=libhdf5-dev h5repack=hdf5-tools gcc=gcc"
version() { h5cc -showconfig | sed -n 's/.*HDF5 Version: *//p'; }
seed() {
	h5cc -O2 -o load "$here/load.c"
	cat >load.sh <<'S'
set -e
./load write out.h5
sync out.h5
./load read out.h5
h5repack -f GZIP=1 out.h5 packed.h5
sync packed.h5
S
}
run() { "$@" sh load.sh; }
record
