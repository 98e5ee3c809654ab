// Package experiment replays recordings on several sides in turn, and says which side is
// faster, by how much, and how certain that is.
//
//	Subject × (Candidate × Root) → Experiment → Report ─┬→ Conclusion, WriteText
//	                                                    └→ Document (JSON, pages)
//
// A subject is a recording: of a command, in a file, or one that ships as a workload. Its
// sides are the application as it was recorded, runs that were saved, and replays of
// candidates on roots. All commands that measure describe subjects and sides, and this
// package does the rest.
package experiment
