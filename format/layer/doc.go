// Package layer describes libraries above the system calls, such as HDF5 or SQLite,
// function by function: what a call of it is for, which of its arguments are a path,
// a handle or a number of bytes, and when it failed.
//
//	headers/NAME.h ──generate──► NAME.json ──Parse──► Layer ──► record, profile, replay
//	library, by its symbols ─────────────────────────► Check ──► pianola layer check
//
// A description is written as an annotated header, a C header with comments at the
// prototypes, in the vocabulary of Tracereplay. The command in the directory generate
// reads it with a C parser and writes JSON. That command is a module of its own, since
// it needs a C compiler and the library's own header; the program needs neither.
package layer

// The glob is where Debian keeps the headers of mpich.
//
//go:generate go run -C generate . -skip -I /usr/include/hdf5/serial -I "/usr/lib/*/mpich/include" ../headers/hdf5.h ../headers/mpi.h ../headers/sqlite3.h ../headers/stdio.h
