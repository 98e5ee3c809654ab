package ebpf

import (
	"errors"
	"os"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// Support says whether this machine can record, and what stands in the way.
type Support struct {
	Kernel      string // release
	BTF         bool   // the kernel describes its own types
	RingBuffer  bool
	TaskStorage bool
	Programs    bool        // the program loads and attaches
	Cost        format.Cost // measured, where everything else is there

	Problems []Problem
}

// OK reports whether nothing stands in the way.
func (s *Support) OK() bool { return len(s.Problems) == 0 }

// Problem is one thing that stands in the way, and what can be done about it.
type Problem struct {
	What string
	Err  error
	Hint string
}

// Probe tries everything that Run needs, short of running a command. What is
// missing is a Problem; an error means that Probe itself could not work.
func Probe() (Support, error) {
	var s Support
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return s, os.NewSyscallError("uname", err)
	}
	s.Kernel = unix.ByteSliceToString(uts.Release[:])

	missing, namespace := missingCapabilities(), InUserNamespace()
	switch {
	case namespace:
		s.problem("permission", errNamespace, "record outside of the container")
	case missing != "":
		s.problem("permission", record.ErrPermission, "run as root or with "+missing)
	}
	for _, p := range []struct {
		ok         *bool
		what, hint string
		try        func() error
	}{
		{&s.BTF, "type information of the kernel", "use a kernel built with CONFIG_DEBUG_INFO_BTF", func() error {
			_, err := btf.LoadKernelSpec()
			return err
		}},
		{&s.RingBuffer, "ring buffer", "use Linux 5.8 or newer", func() error { return features.HaveMapType(ebpf.RingBuf) }},
		{&s.TaskStorage, "task storage", "use Linux 5.11 or newer", func() error { return features.HaveMapType(ebpf.TaskStorage) }},
		{&s.Programs, "eBPF program", "use Linux 5.17 or newer, and no lockdown of the kernel", s.try},
	} {
		err := p.try()
		*p.ok = err == nil
		switch {
		case err == nil, missing != "", namespace, p.ok == &s.Programs && len(s.Problems) > 0: // one hint for one cause
		case denied(err):
			s.problem(p.what, permission(err), "run outside of the container, or give it CAP_BPF and CAP_PERFMON")
		default:
			s.problem(p.what, err, p.hint)
		}
	}
	return s, nil
}

func (s *Support) problem(what string, err error, hint string) {
	s.Problems = append(s.Problems, Problem{What: what, Err: err, Hint: hint})
}

// try loads and attaches the program and lets it record.
func (s *Support) try() error {
	var err error
	s.Cost, err = MeasureCost()
	return err
}

// MeasureCost returns what recording costs, with a program of its own. Where it
// works, so does Run.
func MeasureCost() (_ format.Cost, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program, err := load(configOf(&record.Options{RingBytes: os.Getpagesize()}))
	if err != nil {
		return format.Cost{}, err
	}
	defer func() { err = errors.Join(err, program.close()) }()
	ring, err := openRing(program.ring())
	if err != nil {
		return format.Cost{}, err
	}
	defer func() { err = errors.Join(err, ring.close()) }()
	cost, _, err := calibrate(program, ring)
	return cost, err
}
