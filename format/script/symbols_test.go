package script

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// TestCalls reads what strace prints of every kind of call, taken from a real
// recording, and compares it with the script that it amounts to.
func TestCalls(t *testing.T) {
	text, err := os.ReadFile("testdata/calls.txt")
	require.NoError(t, err)
	events, r := parse(t, string(text))
	require.Positive(t, r.Skipped["ioctl"], "requests that concern no files")
	got := printRecorded(t, r.Header(), events)
	testkit.Golden(t, "calls.golden", []byte(got))
}

func TestSymbols(t *testing.T) {
	tests := []struct {
		text string
		op   format.Op
		args [6]int64
	}{
		{"ioctl(3, BTRFS_IOC_CLONE or FICLONE, 4) = 0", format.OpIoctl, [6]int64{3, format.Ficlone, 4}},
		{"ioctl(3, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=4, src_offset=5, src_length=6, dest_offset=7}) = 0", format.OpIoctl, [6]int64{3, format.Ficlonerange, 4, 5, 6, 7}},
		{"ioctl(3, FIDEDUPERANGE, {src_offset=5, src_length=6, dest_count=2, info=[{dest_fd=4, dest_offset=7}, {dest_fd=8, dest_offset=9}]} => {info=[{bytes_deduped=6, status=0}]}) = 0",
			format.OpIoctl, [6]int64{3, fideduperange, 4, 5, 6, 7}},
		{"ioctl(3, 3223360545, 4) = 0", format.OpIoctl, [6]int64{3, 3223360545, 4}},
		{"splice(3, [4], 5, NULL, 6, SPLICE_F_MOVE) = 6", format.OpSplice, [6]int64{3, 4, 5, -1, 6, 1}},
		{"sendfile(1, 3, [0] => [100], 4096) = 100", format.OpSendfile, [6]int64{1, 3, 0, 4096}},
		{"waitid(P_ALL, 0, {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=77, si_uid=0, si_status=3}, WEXITED, NULL) = 0", format.OpWaitid, [6]int64{0, 0, 0, 4, 0, 77}},
		{"waitid(P_ALL, 0, {}, WEXITED|WNOHANG, NULL) = 0", format.OpWaitid, [6]int64{0, 0, 0, 5}},
		{`mknod("d", S_IFBLK|S_ISVTX|0666, makedev(0x103, 0x1234)) = 0`, format.OpMknod, [6]int64{0, 0o061666, 0x1210334}},
		{"mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE|21<<MAP_HUGE_SHIFT, -1, 0x1000) = 0x7f00", format.OpMmap, [6]int64{0, 4096, 0, 2 | 21<<26<<32, -1, 4096}},
		{"madvise(0x1000, 4096, MADV_GUARD_INSTALL) = 0", format.OpMadvise, [6]int64{4096, 4096, 102}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			e := parseOne(t, "1 0.0 "+tt.text)
			require.Equal(t, tt.op, e.Op)
			require.Equal(t, tt.args, e.Args)
		})
	}
}

const fideduperange = 0xc0189436

func TestForeignRequests(t *testing.T) {
	events, r := parse(t, "1 0.1 ioctl(3, TCGETS, {c_iflag=ICRNL, ...}) = 0\n1 0.1 ioctl(3<a, b>, _IOC(_IOC_NONE, 0x56, 0x78, 0x1234), 0x7f) = -1 ENOTTY (x)\n"+
		"1 0.1 ioctl(3, 0x5401 /* ??? */, 0x7f) = 0\n1 0.1 ioctl(3, FS_IOC_GETFLAGS, [FS_EXTENT_FL]) = 0\n")
	require.Len(t, events, 1)
	require.Equal(t, format.Skipped{"ioctl": 3}, r.Skipped)
}

// A call that another thread interrupts in the middle of an offset.
func TestPointedOffsetOfAResumedCall(t *testing.T) {
	events, _ := parse(t, `100 0.000010 sendfile(8, 7, [5] <unfinished ...>
101 0.000010 close(3) = 0 <0.000001>
100 0.000010 <... sendfile resumed> => [105], 4096) = 100 <0.000020>
100 0.000010 sendfile(8, 7, [5] <unfinished ...>
100 0.000010 <... sendfile resumed>, 4096) = 0 <0.000020>
`)
	require.Len(t, events, 3)
	for _, i := range []int{1, 2} {
		require.Equal(t, [format.MaxArgs]int64{8, 7, 5, 4096}, events[i].Args)
	}
}
