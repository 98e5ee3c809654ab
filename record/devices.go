package record

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"slices"

	"pianola/format"
	"pianola/internal/mounts"
)

// devices are the devices of the files that were opened, each once, in the
// kernel's form. There are few; of more than maxDevices the rest is left out.
type devices struct {
	all  []uint32
	last uint32
}

const maxDevices = 64

func (d *devices) add(dev uint32) {
	if dev == d.last || slices.Contains(d.all, dev) {
		d.last = dev
		return
	}
	if d.last = dev; len(d.all) < maxDevices {
		d.all = append(d.all, dev)
	}
}

// fileSystems says where the devices are mounted and with what: "/"=ext4
// "/mnt"=xfs. It is empty if none is mounted in the recorder's namespace.
func fileSystems(d *devices) string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return fileSystemsIn(d, string(text))
}

// fileSystemsIn is fileSystems for the text of a mountinfo file. Of several
// mounts of a device it takes the one with the shortest path.
func fileSystemsIn(d *devices, mountinfo string) string {
	found := map[uint32]mounts.Mount{}
	for _, m := range mounts.Parse(mountinfo) {
		for _, dev := range d.all {
			if major(dev) != m.Major || minor(dev) != m.Minor {
				continue
			}
			if other, ok := found[dev]; !ok || len(m.Point) < len(other.Point) {
				found[dev] = m
			}
		}
	}
	var out []byte
	for _, m := range slices.SortedFunc(maps.Values(found), func(a, b mounts.Mount) int { return cmp.Compare(a.Point, b.Point) }) {
		out = format.AppendQuoted(out, []byte(m.Point))
		out = append(append(append(out, '='), m.Type...), ' ')
	}
	return string(bytes.TrimSpace(out))
}
