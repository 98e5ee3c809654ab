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
// with times in seconds. DELTA is what passed since the start of the event on
// the preceding line, of the first since the start of the recording; it can be
// negative, for lines stand in order of completion. What strace -f -r -T
// writes is this dialect too: structs and strings where Pianola has addresses,
// calls that are finished on a later line, and the ends of processes. So is what
// strace writes without these options, and with -t, -tt, -ttt, -n, -y and -yy
// (see Stamp).
//
// A line that begins with "#" says something about the whole recording (see
// format.Header.ParseLine). Arguments, their kinds and their order come from
// the table of operations in package format.
//
// A Reader or a writer belongs to one goroutine at a time.
package script
