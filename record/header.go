package record

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record/ebpf"
)

// format.MetaElapsed is the time from the command's first instruction to its end, in
// seconds.

// startHeader is what is known before the command runs.
func startHeader(o *Options, c *child, cost format.Cost) *format.Header {
	h := commonHeader(o.Command, cost)
	h.Descriptors = descriptors(c.pid)
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", c.pid)); err == nil {
		h.Set(format.MetaCwd, string(format.AppendQuoted(nil, []byte(cwd))))
	}
	return h
}

// commonHeader is what every recording begins with.
func commonHeader(command []string, cost format.Cost) *format.Header {
	h := &format.Header{}
	h.Set(format.MetaCommand, quoteCommand(command))
	h.Set(format.MetaStart, time.Now().Format(time.RFC3339Nano))
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		h.Set(format.MetaKernel, unix.ByteSliceToString(uts.Release[:]))
	}
	h.Set(format.MetaArch, runtime.GOARCH)
	h.Set(format.MetaTool, "ebpf")
	h.Set(format.MetaCost, cost.String())
	return h
}

// endHeader is what is known after the recording has ended.
func (r *recording) endHeader() *format.Header {
	h := endHeader(&r.result)
	if r.child == nil { // nobody waited for a command
		h.Meta = slices.DeleteFunc(h.Meta, func(m format.Meta) bool { return m.Key == format.MetaExit })
	}
	if fs := fileSystems(&r.drain.decoder.devices); fs != "" {
		h.Set(format.MetaFileSystems, fs)
	}
	if r.result.Compat > 0 {
		h.Set(format.MetaUnsupported, fmt.Sprintf("32-bit=%d", r.result.Compat))
	}
	return h
}

// endHeader is what is known after the command has ended.
func endHeader(r *Result) *format.Header {
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
	h.Set(format.MetaExit, strconv.Itoa(r.Status))
	h.Set(format.MetaElapsed, string(format.AppendSeconds(nil, r.Elapsed.Nanoseconds())))
	return h
}

// quoteCommand joins words as a shell would take them apart again.
func quoteCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(c rune) bool { return !strings.ContainsRune(plainRunes, c) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

const plainRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-"

// descriptors returns what a process has open, in order.
func descriptors(pid int) []format.Descriptor {
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
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b format.Descriptor) int { return int(a.FD - b.FD) })
	return all
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

// count fills in what has been lost.
func (r *Result) count(lost ebpf.Lost) {
	r.LostByOp = make(map[string]int64)
	add := func(name string, n uint64) {
		if n > 0 {
			r.LostByOp[name] += int64(n)
			r.Lost += int64(n)
		}
	}
	for nr, n := range lost.BySyscall {
		add(format.BySyscall(format.HostArch, nr).String(), n)
	}
	if r.Lost > 0 {
		r.LostByCPU = make([]int64, len(lost.ByCPU))
		for cpu, n := range lost.ByCPU {
			r.LostByCPU[cpu] = int64(n)
		}
	}
	add("32-bit", lost.Compat)
	r.Compat = int64(lost.Compat)
	add("threads", lost.Unfollowed)
	add("recursion", lost.Recursed)
}
