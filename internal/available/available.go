// Package available returns how much memory and how many threads this process can still
// use: what the machine has, or less if a control group limits it, as in a container.
//
// The limits of a control group and of all its ancestors apply. The package reads
// version 1 and version 2 of control groups, because a machine can use both. A limit
// that cannot be read is ignored. All functions read files and may be called
// concurrently.
package available

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pianola/internal/mounts"

	"golang.org/x/sys/unix"
)

// Memory returns the bytes that the process can use without swapping and without being
// killed. Page cache counts as free.
func Memory() (int64, error) {
	free, err := ofMachine()
	if err != nil {
		return 0, err
	}
	return min(free, groups{"/"}.least(memory)), nil
}

// Threads returns how many more threads the control groups of the process allow,
// math.MaxInt64 without a limit.
func Threads() int64 { return groups{"/"}.least(threads) }

// Controls returns the version of the control groups that limit a resource of this
// process, such as memory, or could: 0 if there are none, or they can't be seen.
func Controls(controller string) int { return groups{"/"}.controls(controller) }

// ofMachine returns the kernel's MemAvailable. Without /proc, it returns free memory,
// which excludes the page cache.
func ofMachine() (int64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if errors.Is(err, fs.ErrNotExist) {
		return ofSysinfo()
	}
	if err != nil {
		return 0, fmt.Errorf("read the free memory: %w", err)
	}
	kib, ok := field(b, "MemAvailable:")
	if !ok {
		return 0, errors.New("read the free memory: no MemAvailable in /proc/meminfo")
	}
	return kib << 10, nil
}

func ofSysinfo() (int64, error) {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return 0, fmt.Errorf("read the free memory: %w", err)
	}
	return int64(uint64(s.Freeram) * uint64(s.Unit)), nil
}

// resource is a resource that control groups limit, with the files of both versions.
// Version 2 has a single hierarchy without controllers in its mount.
type resource struct {
	controller string
	limits     [3][]string // by version
	used       [3]string
	stat       [3]string   // file with the part that the kernel can reclaim
	free       [3][]string // fields of stat
}

var (
	memory = resource{
		controller: "memory",
		limits:     [3][]string{1: {"memory.limit_in_bytes"}, 2: {"memory.max", "memory.high"}},
		used:       [3]string{1: "memory.usage_in_bytes", 2: "memory.current"},
		stat:       [3]string{1: "memory.stat", 2: "memory.stat"},
		free: [3][]string{
			1: {"total_inactive_file", "total_active_file"},
			2: {"inactive_file", "active_file", "slab_reclaimable"},
		},
	}
	threads = resource{
		controller: "pids",
		limits:     [3][]string{1: {"pids.max"}, 2: {"pids.max"}},
		used:       [3]string{1: "pids.current", 2: "pids.current"},
	}
)

// groups are the control groups of this process, in the file system below root.
type groups struct{ root string }

// least returns how much of a resource the groups leave.
func (g groups) least(r resource) int64 {
	left := int64(math.MaxInt64)
	for version := 1; version <= 2; version++ {
		top, dir, ok := g.find(r.controller, version)
		for ; ok; dir = filepath.Dir(dir) {
			left = min(left, r.left(dir, version))
			if len(dir) <= len(top) {
				break
			}
		}
	}
	return left
}

// left returns how much of the resource a group leaves.
func (r *resource) left(dir string, version int) int64 {
	limit := int64(math.MaxInt64)
	for _, name := range r.limits[version] {
		if n, ok := number(filepath.Join(dir, name)); ok {
			limit = min(limit, n)
		}
	}
	if limit == math.MaxInt64 {
		return limit
	}
	used, _ := number(filepath.Join(dir, r.used[version]))
	if name := r.stat[version]; name != "" {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		for _, f := range r.free[version] {
			n, _ := field(text, f)
			used -= n
		}
	}
	return max(limit-max(used, 0), 0)
}

// find returns the directory of the process's group, and that of the highest visible
// group.
func (g groups) find(controller string, version int) (top, dir string, ok bool) {
	path, ok := g.path(controller, version)
	if !ok {
		return "", "", false
	}
	text, _ := os.ReadFile(filepath.Join(g.root, "proc/self/mountinfo"))
	for _, m := range mounts.Parse(string(text)) {
		if m.Type != [3]string{1: "cgroup", 2: "cgroup2"}[version] || version == 1 && !slices.Contains(m.Options, controller) {
			continue
		}
		// Only the part of the hierarchy below the mount's root is visible.
		below, err := filepath.Rel(m.Root, path)
		if err != nil || !filepath.IsLocal(below) {
			below = "."
		}
		top = filepath.Join(g.root, m.Point)
		return top, filepath.Join(top, below), true
	}
	return "", "", false
}

// controls is Controls.
func (g groups) controls(controller string) int {
	if _, _, ok := g.find(controller, 1); ok {
		return 1
	}
	_, dir, ok := g.find(controller, 2)
	there, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if ok && slices.Contains(strings.Fields(string(there)), controller) {
		return 2
	}
	return 0
}

// path returns the group of the process in a hierarchy.
func (g groups) path(controller string, version int) (string, bool) {
	text, _ := os.ReadFile(filepath.Join(g.root, "proc/self/cgroup"))
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && (version == 2 && f[1] == "" || version == 1 && slices.Contains(strings.Split(f[1], ","), controller)) {
			return f[2], true
		}
	}
	return "", false
}

// number reads a file that holds a number. ok is false for "max".
func number(name string) (int64, bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// field returns the number that follows a name at the start of a line.
func field(text []byte, name string) (int64, bool) {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) >= 2 && string(f[0]) == name {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
