// Package plugin runs programs of any language as parts of Pianola. They speak
// intermediate scripts (package format/script) through pipes:
//
//	Generate            program ──► recording
//	Filter   trace ──► program ──► trace
//	Backend  event ──► program ──► result
//
// Filter works behind compile: a program sees what print shows, canonical and
// with paths resolved, runs once, and one that changes nothing leaves every byte
// of the trace as it was. The price is that edges and the fileset are not found
// anew: edges follow the events that they name (see Filter), and the fileset is
// the program's to change.
//
// A program runs in a process group of its own, which is killed when the program
// has ended, in whatever way. What the program says on stderr is passed on, and
// its last line stands in the error if it fails.
package plugin
