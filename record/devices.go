package record

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"pianola/format"
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
// "/mnt"=xfs. It is empty where none is mounted in the recorder's namespace.
func fileSystems(d *devices) string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return fileSystemsIn(d, text)
}

// fileSystemsIn is fileSystems for the text of a mountinfo file. Of several
// mounts of a device it takes the one with the shortest path.
func fileSystemsIn(d *devices, mountinfo []byte) string {
	type mount struct{ point, kind string }
	found := map[uint32]mount{}
	for line := range bytes.Lines(mountinfo) {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
		before, after, ok := strings.Cut(string(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(kind) == 0 {
			continue
		}
		var a, b uint32
		if n, err := fmt.Sscanf(fields[2], "%d:%d", &a, &b); n != 2 || err != nil {
			continue
		}
		for _, dev := range d.all {
			if major(dev) != a || minor(dev) != b {
				continue
			}
			if m, ok := found[dev]; !ok || len(fields[4]) < len(m.point) {
				found[dev] = mount{fields[4], kind[0]}
			}
		}
	}
	mounts := make([]mount, 0, len(found))
	for _, m := range found {
		mounts = append(mounts, m)
	}
	slices.SortFunc(mounts, func(a, b mount) int { return cmp.Compare(a.point, b.point) })
	var out []byte
	for _, m := range mounts {
		out = format.AppendQuoted(out, []byte(unescapeMount(m.point)))
		out = append(append(append(out, '='), m.kind...), ' ')
	}
	return string(bytes.TrimSpace(out))
}

// unescapeMount undoes how the kernel writes spaces and the like: \040.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
