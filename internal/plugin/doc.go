// Package plugin runs programs of any language as parts of Pianola. They speak
// intermediate scripts (package format/script) through pipes:
//
//	Generate            program ──► recording
//	Filter   trace ──► program ──► trace
//	Changes  events ──► program ──► events, while a replay runs
//	Backend  event ──► program ──► result
//
// Filter works on compiled traces: a program reads what print shows, canonical
// and with paths resolved, and runs once. A program that changes nothing leaves
// every byte of the trace as it was. But edges and the fileset are not computed
// again: edges follow the events that they name (see Filter), and the program
// itself must change the fileset.
//
// A program runs in a process group of its own, which is killed at the end of
// the program. Its stderr is passed on, and the last line of it is part of the
// error if the program fails.
package plugin
