package record

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record/ebpf"
)

// What follows is for other tracers, which write the same script.

// A Decoder turns system calls, as package bpf describes them, into events. It
// belongs to one goroutine.
type Decoder struct{ d decoder }

// NewDecoder returns a decoder of events whose time counts from start, in
// nanoseconds of the clock of the calls.
func NewDecoder(start int64) *Decoder {
	return &Decoder{d: decoder{arch: format.HostArch, start: start}}
}

// Reset takes back the memory of the notes of all events decoded before.
func (d *Decoder) Reset() { d.d.reset() }

// Decode fills e from a call with its details and its strings. Strings of e
// borrow from text, notes from the decoder.
func (d *Decoder) Decode(call *ebpf.Event, details *ebpf.Details, text []byte, e *format.Event) error {
	return d.d.decodeCall(call, details, text, e)
}

// UnknownCached stands in ebpf.Details.Cached where the pages in the page cache
// are not known.
const UnknownCached = ^uint64(0)

// Complete checks the options and fills in what has a default.
func (o *Options) Complete() error { return o.complete() }

// StartHeader returns what is known before the command, which is stopped, runs.
func StartHeader(o *Options, pid int, tool string, cost format.Cost) *format.Header {
	h := startHeader(o, &child{pid: pid, pidfd: -1}, cost)
	h.Set(format.MetaTool, tool)
	return h
}

// EndHeader returns what is known after the command has ended.
func (d *Decoder) EndHeader(r *Result) *format.Header {
	h := endHeader(r)
	if fs := fileSystems(&d.d.devices); fs != "" {
		h.Set(format.MetaFileSystems, fs)
	}
	if r.Compat > 0 {
		h.Set(format.MetaUnsupported, fmt.Sprintf("32-bit=%d", r.Compat))
	}
	return h
}

// Count fills in what has been lost.
func (r *Result) Count(lost ebpf.Lost) { r.count(lost) }

// NewStartError returns the error for a command that can't be started for that
// reason.
func NewStartError(command string, err error) *StartError { return startError(command, err) }

// ExitStatus is the status of an ended process as a shell says it.
func ExitStatus(s unix.WaitStatus) int { return exitStatus(s) }

// Signals are those that would end the recorder.
type Signals struct{ s *signals }

// CatchSignals takes over the signals until Release.
func CatchSignals() Signals { return Signals{catchSignals()} }

// C gives the signals as they come.
func (s Signals) C() <-chan os.Signal { return s.s.c }

// Forwarded reports whether a signal is for the command, which gets the others
// from the terminal.
func (s Signals) Forwarded(n os.Signal) bool { return s.s.forwarded(n) }

// Release gives the signals back.
func (s Signals) Release() { s.s.release() }
