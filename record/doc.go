// Package record holds what all recorders of system calls share. A recorder
// runs a command, or attaches to a process, and hands the I/O system calls of
// all its threads and descendants, as events, to a Sink:
//
//	command → recorder → Call → Writer → Sink
//
// The package has Options and Result, the Call that a recorder fills in, the
// Writer that turns calls into events, what a recording's header says, the
// signals that a recorder handles, and its errors. The recorders are packages
// ebpf and ptrace; neither knows the other.
package record

import "context"

// Recorder records what the options say to s. It returns when the command and
// all its descendants have ended. Its errors are a *StartError where there is
// no command to run, ErrPermission, errors of the sink, and failures of the
// kernel; a command that fails is not an error. Where the command ran, the Result
// holds its status even if there is an error.
//
// SIGINT and SIGQUIT are left to the command, which a terminal sends them as
// well; SIGTERM and SIGHUP are passed on to it. Once the command has ended, any
// of them ends the recording. When ctx ends, the command is killed, or not
// started, and descendants are not waited for.
//
// A recorder may run once at a time in a process, for it takes over its signals.
type Recorder func(ctx context.Context, o Options, s Sink) (Result, error)
