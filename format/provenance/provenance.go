// Package provenance says where a recording or a replay ran: with which version of
// Pianola, when, on which machine, and on what storage.
//
//	Process, Dir → []format.Meta → header of a script → Differences, page, Remarks
//
// Facts that the system does not provide are left out, as in a container without /sys.
// All functions read files and may be called concurrently.
package provenance

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// Role says what it means if two sides of a comparison differ in a remark.
type Role uint8

// The roles.
const (
	Told     Role = iota // nothing: it always differs, or explains the rest
	Same                 // the comparison may not hold: both sides should have the same
	Compared             // it may be what is compared
)

// Remark is a remark of a header that tells the provenance.
type Remark struct {
	Key  string
	Name string // for people
	Role Role
}

// Remarks are all such remarks, in the order of a header.
var Remarks = []Remark{
	{format.MetaOptions, "options", Told},
	{format.MetaStart, "started", Told},
	{format.MetaVersion, "pianola", Told},
	{format.MetaHost, "host", Told},
	{format.MetaKernel, "kernel", Same},
	{format.MetaArch, "architecture", Same},
	{format.MetaCPU, "CPU", Same},
	{format.MetaCPUs, "processors", Same},
	{format.MetaMount, "file system", Compared},
	{format.MetaDevice, "device", Compared},
	{format.MetaLoad, "load before", Told},
	{format.MetaPressure, "pressure before", Told},
	{format.MetaPressureEnd, "pressure after", Told},
}

// End returns the remarks that are made at the end of a replay.
func End() []format.Meta { return here.end() }

func (s system) end() []format.Meta {
	if p := s.pressure(); p != "" {
		return []format.Meta{{Key: format.MetaPressureEnd, Value: p}}
	}
	return nil
}

// Process returns the remarks of a recording of a process, whose working directory
// says where its storage is. noHost leaves out the name of the machine.
func Process(pid int, noHost bool) []format.Meta {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	dir, _ := os.Readlink(filepath.Join(proc, "cwd"))
	return here.remarks(filepath.Join(proc, "mountinfo"), dir, processors(pid), noHost)
}

// processors returns how many processors a process may use.
func processors(pid int) int {
	var own unix.CPUSet
	if unix.SchedGetaffinity(pid, &own) != nil {
		return runtime.NumCPU()
	}
	return own.Count()
}

// Dir returns the remarks of a replay in a directory, which need not exist yet. An
// empty name stands for none.
func Dir(dir string, noHost bool) []format.Meta {
	if dir != "" {
		dir = resolved(dir)
	}
	return here.remarks("/proc/self/mountinfo", dir, runtime.NumCPU(), noHost)
}

// resolved returns the absolute path of a directory without symbolic links, or that
// of the closest one above it that exists.
func resolved(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return real
		}
		if dir == "/" {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// system is a machine whose files are below a root.
type system struct{ root string }

var here = system{"/"}

func (s system) remarks(mountinfo, dir string, processors int, noHost bool) (all []format.Meta) {
	add := func(key, value string) {
		if value != "" {
			all = append(all, format.Meta{Key: key, Value: value})
		}
	}
	add(format.MetaStart, time.Now().Format(time.RFC3339Nano))
	add(format.MetaVersion, ThisBuild().Version)
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		if !noHost {
			add(format.MetaHost, unix.ByteSliceToString(uts.Nodename[:]))
		}
		add(format.MetaKernel, unix.ByteSliceToString(uts.Release[:]))
	}
	add(format.MetaArch, runtime.GOARCH)
	add(format.MetaCPU, s.cpu())
	add(format.MetaCPUs, strconv.Itoa(processors))
	if m, ok := s.mountOf(mountinfo, dir); ok {
		add(format.MetaMount, s.describe(m))
		add(format.MetaDevice, s.device(m))
	}
	add(format.MetaLoad, s.load())
	add(format.MetaPressure, s.pressure())
	return all
}
