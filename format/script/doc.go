// Package script reads and writes recordings as text, one event a line.
//
// A Reader knows three dialects and finds out by itself which one it reads:
//
//	# pianola script 1                                            Recorded
//	4711 0.000102840 openat(AT_FDCWD, "f", O_RDWR|O_CREAT, 0600) = 7 <0.000120800> {new}
//
//	0.00010284 openm("f", 548, 384) = 7 <0.00012080>              Older
//
//	compute ( 0.000102840 )                                       Intermediate
//	openm ( f 548 384 ) = 7
//
// An event of the Recorded dialect is
//
//	TID DELTA call(arguments) = result <duration> {notes}
//
// with times in seconds. DELTA is the time since the start of the event on the
// preceding line; for the first event, since the start of the recording. It can be
// negative, because lines are in order of completion. The output of strace -f -r -T is
// this dialect too: it has structs and strings instead of addresses, calls that are
// finished on a later line, and the ends of processes. The output of strace without
// these options, and with -t, -tt, -ttt, -n, -y and -yy, can also be read (see Stamp).
//
// A line that begins with "#" describes the whole recording (see
// format.Header.ParseLine). Arguments, their kinds and their order come from the table
// of operations in package format.
//
// A Reader or a writer belongs to one goroutine at a time.
package script
