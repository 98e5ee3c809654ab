// Package importer opens recordings of any format that Pianola reads. It
// recognises them by content:
//
//	# pianola script 1           scripts of all three dialects
//	4711 0.000102 open("f"…      what strace writes, by package script
//	fio version 3 iolog          fio's write_iolog, versions 2 and 3
//	4096 8192 20                 telemetry of iozone: offset, length, delay in ms
//	Time:1172198764:905090:139…  logs of IOProf
//
//	files ──Inspect──> Recording ──Open──> Reader, once for each pass
//
// A Reader invents no data. Values that a format lacks, such as durations, are
// format.Unknown in events, or 0 if a number is needed, and the remark "unknown" in the
// header lists them. The remark "source" names the format.
//
// Options can add formats, which are tried first.
//
// The files of strace -ff and the logs of IOProf, one for each process, are
// merged by time.
//
// Errors in the text are of type *script.SyntaxError. Memory is bounded for any
// input: lines, the number of files, and the names in a file have limits.
//
// A Recording may be used concurrently, a Reader belongs to one goroutine at a
// time.
package importer
