package record

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/provenance"
)

// StartHeader returns what is known before the command, which is stopped and has
// the process id pid, runs.
func StartHeader(o *Options, pid int, tool string, cost format.Cost) *format.Header {
	h := CommonHeader(o, pid, o.Command, tool, cost)
	h.Descriptors = Descriptors(pid)
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil {
		h.Set(format.MetaCwd, string(format.AppendQuoted(nil, []byte(cwd))))
	}
	if mask := Umask(pid); mask != "" {
		h.Set(format.MetaUmask, mask)
	}
	return h
}

// Umask returns the umask of a process, octal, empty if it can't be read.
func Umask(pid int) string { return Status(pid, "Umask") }

// Status returns a field of the status of a process or a thread, empty if it can't be read.
func Status(id int, field string) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// CommonHeader returns what every recording begins with. The command is that of the
// process pid that is recorded. The tool is the recorder.
func CommonHeader(o *Options, pid int, command []string, tool string, cost format.Cost) *format.Header {
	h := &format.Header{}
	if !o.NoCommand && len(command) > 0 {
		h.Set(format.MetaCommand, format.CommandLine(command))
	}
	h.Meta = append(h.Meta, o.Remarks...)
	h.Meta = append(h.Meta, provenance.Process(pid, o.NoHost)...)
	h.Set(format.MetaTool, tool)
	h.Set(format.MetaCost, cost.String())
	return h
}

// EndHeader returns what is known after the recording has ended: of r, and of the
// files of all events. ended says that a command has ended with r.Status.
func (w *Writer) EndHeader(r *Result, ended bool) *format.Header {
	h := &format.Header{}
	lost := strconv.FormatInt(r.Lost, 10)
	for _, name := range slices.Sorted(maps.Keys(r.LostByOp)) {
		lost += fmt.Sprintf(" %s=%d", name, r.LostByOp[name])
	}
	for cpu, n := range r.LostByCPU {
		if n > 0 {
			lost += fmt.Sprintf(" cpu%d=%d", cpu, n)
		}
	}
	h.Set(format.MetaLost, lost)
	if r.Ended != "" {
		h.Set(format.MetaEnded, r.Ended)
	}
	if ended {
		h.Set(format.MetaExit, strconv.Itoa(r.Status))
	}
	// From the first instruction of the command to its end, in seconds.
	h.Set(format.MetaElapsed, string(format.AppendSeconds(nil, r.Elapsed.Nanoseconds())))
	putUsage(h, w.machine, readUsage())
	if r.InPlace != (format.Cost{}) {
		h.Set(format.MetaCost, r.InPlace.String())
	}
	if fs := fileSystems(&w.decoder.devices); fs != "" {
		h.Set(format.MetaFileSystems, fs)
	}
	if r.Coverage.Known {
		r.Coverage.Put(h)
	}
	return h
}

// Descriptors returns what a process has open, in order.
func Descriptors(pid int) []format.Descriptor {
	dir := fmt.Sprintf("/proc/%d/", pid)
	entries, err := os.ReadDir(dir + "fd")
	if err != nil {
		return nil
	}
	var all []format.Descriptor
	for _, entry := range entries {
		fd, err := strconv.ParseInt(entry.Name(), 10, 32)
		if err != nil {
			continue
		}
		path, err := os.Readlink(dir + "fd/" + entry.Name())
		if err != nil {
			continue
		}
		info, err := os.ReadFile(dir + "fdinfo/" + entry.Name())
		if err != nil {
			continue
		}
		d := format.Descriptor{Process: int32(pid), FD: int32(fd), Path: path}
		d.Offset, d.Flags = parseFdinfo(string(info))
		if path[0] == '/' {
			describeOpen(&d, dir+"fd/"+entry.Name())
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b format.Descriptor) int { return int(a.FD - b.FD) })
	return all
}

// describeOpen describes what a descriptor with a path leads to, whose name in /proc is given. It
// waits for no network.
func describeOpen(d *format.Descriptor, name string) {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, name, unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st) != nil {
		return
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		d.Path = fmt.Sprintf("pipe:[%d]", st.Ino) // by its name it could be taken for a file
		return
	case unix.S_IFREG:
		d.Size, d.Has = int64(st.Size), format.NotedSize
	case unix.S_IFBLK:
	default:
		return
	}
	d.Type, d.Mode = fileTypes[st.Mode>>12], uint32(st.Mode&0o7777)
	d.Has |= format.NotedType | format.NotedMode
	own, ok := Borrow(d.Process, int64(d.FD))
	if !ok {
		return
	}
	defer unix.Close(own)
	if n, dirty := CachedPages(own); n != UnknownCached {
		d.Cached, d.Has = int64(n), d.Has|format.NotedCached
		if dirty > 0 {
			d.Dirty, d.Has = int64(dirty), d.Has|format.NotedDirty
		}
	}
}

// CachedPages returns how many pages of a file are in the page cache, UnknownCached where the
// kernel does not say (before Linux 6.5), and how many of these are not on storage yet.
func CachedPages(fd int) (n, dirty uint64) {
	var whole unix.CachestatRange
	var stat unix.Cachestat_t
	_, _, e := unix.RawSyscall6(unix.SYS_CACHESTAT, uintptr(fd), uintptr(unsafe.Pointer(&whole)), uintptr(unsafe.Pointer(&stat)), 0, 0, 0)
	if e != 0 {
		return UnknownCached, 0
	}
	return stat.Cache, stat.Dirty + stat.Writeback
}

// parseFdinfo returns the offset and the canonical flags in the text of a file
// in /proc/PID/fdinfo.
func parseFdinfo(text string) (offset, flags int64) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "pos":
			offset, _ = strconv.ParseInt(value, 10, 64)
		case "flags":
			native, _ := strconv.ParseUint(value, 8, 32)
			flags = format.OpenFlags.FromNative(format.HostArch, native)
		}
	}
	return offset, flags
}
