package provenance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pianola/format"
	"pianola/internal/mounts"
)

// mountOf returns the mount that a directory is on, by a mountinfo file.
func (s system) mountOf(mountinfo, dir string) (mounts.Mount, bool) {
	if dir == "" {
		return mounts.Mount{}, false
	}
	return mounts.Over(mounts.Parse(s.read(mountinfo)), dir)
}

// NoJournal stands among the options of an ext4 that has no journal. The kernel then uses no
// inode again for minutes after its file was removed, and looks at each of these inodes when a
// file is made (recently_deleted in fs/ext4/ialloc.c): with thousands of files, programs and
// replays take several times as long.
const NoJournal = "nojournal"

// describe returns the file system of a mount and its options: ext4 rw,relatime.
// Options with paths, as an overlay has them, are left out, because they are long
// and name directories.
func (s system) describe(m mounts.Mount) string {
	options := slices.DeleteFunc(slices.Clone(m.Options), func(o string) bool { return strings.Contains(o, "/") })
	if m.Type == "ext4" {
		device, err := filepath.EvalSymlinks(s.numbered(m))
		if err == nil && s.read("sys/fs/ext4/"+filepath.Base(device)+"/journal_task") == "<none>" {
			options = append(options, NoJournal)
		}
	}
	return m.Type + " " + strings.Join(options, ",")
}

// numbered returns the link in /sys to a device, by its number.
func (s system) numbered(m mounts.Mount) string {
	return filepath.Join(s.root, "sys/dev/block", fmt.Sprintf("%d:%d", m.Major, m.Minor))
}

// maxDisks bounds how many disks below a volume are named.
const maxDisks = 8

// device returns the disks that a file system is on:
//
//	nvme0n1 "Samsung SSD 980 PRO 1TB" rotational=0 scheduler=none
//
// Those below a volume of LVM, RAID or encryption follow its name: dm-0 on sda ….
func (s system) device(m mounts.Mount) string {
	dir := s.blockDir(m)
	if dir == "" {
		return ""
	}
	var disks []string
	s.disksBelow(dir, &disks)
	described := make([]string, len(disks))
	for i, disk := range disks {
		described[i] = s.disk(disk)
	}
	text := strings.Join(described, ", ")
	if disks[0] != dir {
		text = filepath.Base(dir) + " on " + text
	}
	return text
}

// blockDir returns the directory in /sys of the disk or volume that a file system is
// on, with all of its partitions; empty if there is none.
func (s system) blockDir(m mounts.Mount) string {
	dir, err := filepath.EvalSymlinks(s.numbered(m))
	if err != nil && strings.HasPrefix(m.Source, "/dev/") { // btrfs has a device number of its own
		if dir, err = filepath.EvalSymlinks(filepath.Join(s.root, m.Source)); err == nil {
			dir, err = filepath.EvalSymlinks(filepath.Join(s.root, "sys/class/block", filepath.Base(dir)))
		}
	}
	if err != nil {
		return ""
	}
	return diskOf(dir)
}

// diskOf returns the directory of the disk that a partition is on, dir for a disk.
func diskOf(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		return filepath.Dir(dir)
	}
	return dir
}

// disksBelow adds the disks below a volume, dir itself if it is one.
func (s system) disksBelow(dir string, disks *[]string) {
	below, _ := filepath.Glob(filepath.Join(dir, "slaves/*"))
	if len(below) == 0 && len(*disks) < maxDisks && !slices.Contains(*disks, dir) {
		*disks = append(*disks, dir)
	}
	for _, link := range below {
		if len(*disks) == maxDisks {
			return
		}
		if real, err := filepath.EvalSymlinks(link); err == nil {
			s.disksBelow(diskOf(real), disks)
		}
	}
}

// disk describes a disk.
func (s system) disk(dir string) string {
	text := filepath.Base(dir)
	within := system{dir}
	if model := within.read("device/model"); model != "" {
		text += " " + string(format.AppendQuoted(nil, []byte(model)))
	}
	if rotational := within.read("queue/rotational"); rotational != "" {
		text += " rotational=" + rotational
	}
	if scheduler := chosen(within.read("queue/scheduler")); scheduler != "" {
		text += " scheduler=" + scheduler
	}
	return text
}

// chosen returns the choice that stands in brackets: b of "a [b] c".
func chosen(choices string) string {
	_, rest, _ := strings.Cut(choices, "[")
	if choice, _, ok := strings.Cut(rest, "]"); ok {
		return choice
	}
	return choices
}
