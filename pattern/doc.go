// Package pattern generates recordings from a small declarative file, which
// describes files and what threads do to them.
//
//	text ──Parse──> Pattern ──Reader──> events, once for each pass of compile
//
// The events are those that a recorder would have written, with the results
// that they must have, for the pattern is played on a model of the name space
// and of the sizes of files. They have no durations (format.Unknown); only the
// computing and sleeping that the pattern asks for takes time. Threads take
// turns: of those at the same time the one with the fewest events is the next.
//
// A barrier is written as calls on pipes, from whose times compile takes the
// edges: see barrier.go.
//
// The keys of the language are the fields of the structs in schema.go and
// steps.go, with their tags:
//
//	key      its name
//	unit     of a number: bytes, time, none for other numbers
//	of       the words that it takes
//	default  what stands for it where it is missing; a key without one and
//	         without "optional" is needed
//	doc      what docs/reference/patterns.md says of it
//
// Errors have the type *Error, with file and line. Memory is bounded by the
// text, the threads and the files, not by the number of operations.
//
// A Pattern may be used concurrently; each Reader belongs to one goroutine.
package pattern
