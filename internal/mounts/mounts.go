// Package mounts reads the mountinfo files of /proc. Its functions may be called
// concurrently.
package mounts

import (
	"slices"
	"strconv"
	"strings"
)

// Mount is a line of a mountinfo file.
type Mount struct {
	ID, Parent   int      // Parent is the ID of the mount that Point is in
	Major, Minor uint32   // of the device; Major is 0 if the file system has no device
	Root, Point  string   // which directory of the file system is mounted, and where; absolute
	Type         string   // ext4
	Source       string   // "/dev/sda1", or any text
	Options      []string // of the mount, then those of the file system, each once
}

// Parse parses the text of a mountinfo file. It leaves out lines that it does not
// understand.
func Parse(text string) (all []Mount) {
	for line := range strings.Lines(text) {
		if m, ok := parse(line); ok {
			all = append(all, m)
		}
	}
	return all
}

// parse parses a line such as
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
func parse(line string) (m Mount, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	place, kind := strings.Fields(before), strings.Fields(after)
	if len(place) < 6 || len(kind) < 2 {
		return m, false
	}
	major, minor, _ := strings.Cut(place[2], ":")
	a, err := strconv.ParseUint(major, 10, 32)
	if err != nil {
		return m, false
	}
	b, err := strconv.ParseUint(minor, 10, 32)
	if err != nil {
		return m, false
	}
	id, err := strconv.Atoi(place[0])
	if err != nil {
		return m, false
	}
	parent, err := strconv.Atoi(place[1])
	if err != nil {
		return m, false
	}
	m = Mount{ID: id, Parent: parent, Major: uint32(a), Minor: uint32(b), Root: unescape(place[3]), Point: unescape(place[4]), Type: kind[0], Source: unescape(kind[1])}
	m.Options = strings.Split(place[5], ",")
	if len(kind) > 2 {
		for option := range strings.SplitSeq(kind[2], ",") {
			if !slices.Contains(m.Options, option) {
				m.Options = append(m.Options, option)
			}
		}
	}
	return m, true
}

// unescape decodes the octal escapes of mountinfo, such as \040 for a space.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`).Replace

// Over returns the mount that holds an absolute path without symbolic links: the last
// one with the longest matching path, because it covers the others.
func Over(all []Mount, path string) (found Mount, ok bool) {
	for _, m := range all {
		if len(m.Point) >= len(found.Point) && within(path, m.Point) {
			found, ok = m, true
		}
	}
	return found, ok
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}
