package provenance

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// machine makes a system of files, by their paths. A content that begins with -> is
// the target of a symbolic link.
func machine(t *testing.T, files map[string]string) system {
	s := system{t.TempDir()}
	for path, content := range files {
		path = filepath.Join(s.root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return s
}

const mountinfo = `22 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
30 22 254:1 / /lvm rw,noatime - xfs /dev/mapper/vg-data rw,attr2
31 22 0:44 / /btrfs rw - btrfs /dev/mapper/vg-snaps rw,ssd
32 22 0:50 / /over rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c,xino=off
33 22 0:51 / /nfs rw - nfs4 server:/export rw,vers=4.2
`

// disks is a machine with an NVMe disk, and a volume over it and a hard disk.
var disks = map[string]string{
	"proc/self/mountinfo": mountinfo,
	"proc/cpuinfo":        "processor\t: 0\nmodel name\t: AMD EPYC 7B13\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 7B13\n",
	"proc/loadavg":        "0.52 0.58 0.59 1/123 4567\n",
	"proc/pressure/cpu":   "some avg10=1.25 avg60=0.00 avg300=0.00 total=1\n",
	"proc/pressure/io":    "some avg10=0.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=1\n",

	"sys/dev/block/259:2":                             "->../../devices/nvme/nvme0n1/nvme0n1p2",
	"sys/dev/block/254:1":                             "->../../devices/virtual/block/dm-1",
	"sys/class/block/dm-2":                            "->../../devices/virtual/block/dm-2",
	"sys/devices/nvme/nvme0n1/nvme0n1p2/partition":    "2\n",
	"sys/devices/nvme/nvme0n1/nvme0n1p3/partition":    "3\n",
	"sys/devices/nvme/nvme0n1/device/model":           "Samsung SSD 980 PRO 1TB  \n",
	"sys/devices/nvme/nvme0n1/queue/rotational":       "0\n",
	"sys/devices/nvme/nvme0n1/queue/scheduler":        "[none] mq-deadline\n",
	"sys/devices/ata/sda/sda1/partition":              "1\n",
	"sys/devices/ata/sda/device/model":                "WDC \"Red\"\n",
	"sys/devices/ata/sda/queue/rotational":            "1\n",
	"sys/devices/ata/sda/queue/scheduler":             "none mq-deadline [bfq]\n",
	"sys/devices/virtual/block/dm-1/slaves/nvme0n1p3": "->../../../../nvme/nvme0n1/nvme0n1p3",
	"sys/devices/virtual/block/dm-1/slaves/sda1":      "->../../../../ata/sda/sda1",
	"sys/devices/virtual/block/dm-2/slaves/dm-1":      "->../../dm-1",
	"dev/mapper/vg-snaps":                             "->../dm-2",
	"dev/dm-2":                                        "",
}

func TestRemarks(t *testing.T) {
	const nvme, sda = `nvme0n1 "Samsung SSD 980 PRO 1TB" rotational=0 scheduler=none`, `sda "WDC \"Red\"" rotational=1 scheduler=bfq`
	s := machine(t, disks)
	for _, c := range []struct{ dir, mount, device string }{
		{"/home/x", "ext4 rw,relatime,errors=remount-ro", nvme},
		{"/lvm", "xfs rw,noatime,attr2", "dm-1 on " + nvme + ", " + sda},
		{"/btrfs/sub", "btrfs rw,ssd", "dm-2 on " + nvme + ", " + sda}, // its device number is in no table
		{"/over", "overlay rw,xino=off", ""},
		{"/nfs/x", "nfs4 rw,vers=4.2", ""},
		{"", "", ""},
	} {
		h := format.Header{Meta: s.remarks("proc/self/mountinfo", c.dir, runtime.NumCPU(), false)}
		mount, _ := h.Value(format.MetaMount)
		device, _ := h.Value(format.MetaDevice)
		require.Equal(t, c.mount, mount, c.dir)
		require.Equal(t, c.device, device, c.dir)
		load, _ := h.Value(format.MetaLoad)
		require.Equal(t, "0.52 0.58 0.59", load)
		pressure, _ := h.Value(format.MetaPressure)
		require.Equal(t, "cpu=1.25 io=0.50", pressure, "without a file for memory")
	}
}

// The options of an ext4 tell that it has no journal.
func TestNoJournal(t *testing.T) {
	for task, want := range map[string]string{"<none>\n": "ext4 rw,relatime,errors=remount-ro,nojournal", "584\n": "ext4 rw,relatime,errors=remount-ro"} {
		files := maps.Clone(disks)
		files["sys/fs/ext4/nvme0n1p2/journal_task"] = task
		h := format.Header{Meta: machine(t, files).remarks("proc/self/mountinfo", "/home/x", runtime.NumCPU(), false)}
		mount, _ := h.Value(format.MetaMount)
		require.Equal(t, want, mount)
	}
}

func TestHost(t *testing.T) {
	for _, all := range [][]format.Meta{Process(os.Getpid(), false), Dir(".", false)} {
		h := format.Header{Meta: all}
		for _, key := range []string{format.MetaStart, format.MetaHost, format.MetaKernel, format.MetaArch, format.MetaCPU, format.MetaCPUs, format.MetaMount} {
			v, ok := h.Value(key)
			require.True(t, ok, key)
			require.NotEmpty(t, v, key)
		}
	}
	for _, all := range [][]format.Meta{Process(os.Getpid(), true), Dir(".", true)} {
		_, ok := (&format.Header{Meta: all}).Value(format.MetaHost)
		require.False(t, ok)
	}
}

// In a container that shows neither /proc nor /sys, what is left is what system
// calls tell.
func TestNothingKnown(t *testing.T) {
	var keys []string
	for _, m := range machine(t, nil).remarks("proc/self/mountinfo", "/x", runtime.NumCPU(), true) {
		if m.Key != format.MetaVersion { // tests have none
			keys = append(keys, m.Key)
		}
		require.NotEmpty(t, m.Value, m.Key)
	}
	require.Equal(t, []string{format.MetaStart, format.MetaKernel, format.MetaArch, format.MetaCPUs}, keys)
}

func TestRemarkTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Remarks {
		require.False(t, seen[r.Key], r.Key)
		seen[r.Key] = true
	}
	for _, m := range machine(t, disks).remarks("proc/self/mountinfo", "/", runtime.NumCPU(), false) {
		require.True(t, seen[m.Key], "the table lacks %s", m.Key)
	}
}

func TestCPU(t *testing.T) {
	require.Equal(t, "AMD EPYC 7B13", machine(t, disks).cpu())
	require.Equal(t, "implementer 0x41 part 0xd0c",
		machine(t, map[string]string{"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"}).cpu())
}

func TestResolved(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "link")))
	require.Equal(t, dir, resolved(filepath.Join(dir, "link", "missing", "root")))
}

func TestDifferences(t *testing.T) {
	run := func(pairs ...string) (all []format.Meta) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, format.Meta{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	app := run("start", "1", "host", "a", "kernel", "6.1", "cpu", "X", "cpus", "4", "mount", "ext4 rw", "device", "sda")
	require.Empty(t, Differences([][]format.Meta{app}, [][]format.Meta{app, app}))
	require.Empty(t, Differences([][]format.Meta{app}, [][]format.Meta{run("start", "2", "host", "b")}), "unknown")
	require.Empty(t, Differences(nil, [][]format.Meta{app}))

	all := Differences([][]format.Meta{app}, [][]format.Meta{
		run("kernel", "6.18", "cpu", "X", "cpus", "4", "mount", "xfs rw", "device", "sda"),
		run("kernel", "6.12", "cpu", "X", "cpus", "4", "mount", "xfs rw", "device", "sda"),
	})
	require.Equal(t, []Difference{
		{"kernel", "6.1", "6.12 and 6.18", false},
		{"file system", "ext4 rw", "xfs rw", true},
	}, all)
	require.Equal(t, []string{
		"note: the sides differ in: kernel 6.1 / 6.12 and 6.18",
		"storage, hdd / ssd: file system ext4 rw / xfs rw",
	}, Notes([2]string{"hdd", "ssd"}, all))
	require.Empty(t, Notes([2]string{"a", "b"}, nil))

	odd := Differences([][]format.Meta{app}, [][]format.Meta{run("kernel", "6\n1"+strings.Repeat("é", maxValue))})
	require.True(t, strings.HasPrefix(odd[0].Replay, `6\n1é`))
	require.True(t, utf8.ValidString(odd[0].Replay))
	require.Less(t, len(odd[0].Replay), 2*maxValue)
}
