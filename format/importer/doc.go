// Package importer opens recordings of any format that Pianola takes, which it
// recognises by content:
//
//	# pianola script 1           scripts of all three dialects
//	4711 0.000102 open("f"…      what strace writes, by package script
//	fio version 3 iolog          fio's write_iolog, versions 2 and 3
//	4096 8192 20                 telemetry of iozone: offset, length, delay in ms
//	Time:1172198764:905090:139…  logs of IOProf
//
//	files ──Inspect──> Recording ──Open──> Reader, once for each pass
//
// Of a format that does not say something — durations, say — nothing is made
// up: events have format.Unknown, or 0 where a number must stand, and a remark
// "unknown" in the header names what is missing. A remark "source" names the
// format.
//
// Options can have other formats, which are asked first.
//
// Files that strace -ff wrote, and logs of IOProf, one for each process, are
// merged by time.
//
// Errors in the text are of type *script.SyntaxError. Memory is bounded
// whatever the files say: by the length of a line, the number of files, and by
// the names that a file can hold.
//
// A Recording may be used concurrently, a Reader belongs to one goroutine at a
// time.
package importer
