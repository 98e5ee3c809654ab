// Package export writes the events of a compiled trace in the formats of other
// programs:
//
//	script    the intermediate script, which compiles to the same trace
//	fio       an iolog of version 3, which fio replays with its times
//	fio2      an iolog of version 2, for fio before 3.31
//	fiofiles  a shell script that makes the files which an iolog needs
//	strace    what strace -f -ttt -T would have printed
//	json      JSON Lines, the header first
//	csv       a table, as in RFC 4180
//	parquet   a table for DuckDB and the like
//	perfetto  a timeline for Perfetto and chrome://tracing
//	c         a program in C that makes the calls
//
// All formats are Writers of events. Tables have the columns of row.go.
// files.go follows descriptors and names, so that every read and write has an
// absolute offset and a file.
//
// JSON, CSV, Parquet and timelines hold text, but names are bytes. In all of
// them a backslash in a name is doubled, and a byte that is not part of valid
// UTF-8 is \xNN: every name survives, and nearly every name is unchanged.
//
// Memory grows with the number of names, threads and open descriptors, and only that of a
// program in C with the number of events. A Writer belongs to one goroutine at a time.
package export
