package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWaits reads the waits that strace shows. Times are those of the beginnings.
func TestWaits(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
	}{
		{"a futex, woken by another thread", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, FUTEX_BITSET_MATCH_ANY <unfinished ...>
2 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000005>
1 0.000020 <... futex resumed>) = 0 <0.000040>
`, "1 0.000010000 wait(FUTEX, 0x7f00) = 0 <0.000040000> {by=2}\n"},
		{"the waking ends on a later line", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
2 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1 <unfinished ...>
1 0.000020 <... futex resumed>) = 0 <0.000040>
3 0.000001 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
2 0.000001 <... futex resumed>) = 1 <0.000022>
4 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000005>
3 0.000020 <... futex resumed>) = 0 <0.000041>
`, "1 0.000010000 wait(FUTEX, 0x7f00) = 0 <0.000040000> {by=2}\n3 0.000041000 wait(FUTEX, 0x7f00) = 0 <0.000041000> {by=4}\n"},
		{"which of two threads was woken is not told", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
2 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
3 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000005>
1 0.000020 <... futex resumed>) = 0 <0.000040>
`, "1 0.000010000 wait(FUTEX, 0x7f00) = 0 <0.000040000>\n"},
		{"both were", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
2 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
3 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 2147483647) = 2 <0.000005>
1 0.000020 <... futex resumed>) = 0 <0.000040>
2 0.000010 <... futex resumed>) = 0 <0.000040>
`, "1 0.000010000 wait(FUTEX, 0x7f00) = 0 <0.000040000> {by=3}\n2 0.000010000 wait(FUTEX, 0x7f00) = 0 <0.000040000> {by=3}\n"},
		{"another address, a waking of no thread, a thread that waits elsewhere from now on", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
2 0.000020 futex(0x7f04, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000005>
2 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1) = 0 <0.000005>
1 0.000020 <... futex resumed>) = 0 <0.000040>
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
2 0.000020 futex(0x7f00, FUTEX_CMP_REQUEUE_PRIVATE, 1, 2, 0x7f04, 1) = 1 <0.000005>
1 0.000020 <... futex resumed>) = 0 <0.000040>
`, "1 0.000010000 wait(FUTEX, 0x7f00) = 0 <0.000040000>\n1 0.000070000 wait(FUTEX, 0x7f00) = 0 <0.000040000>\n"},
		{"a futex that is free", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL) = -1 EAGAIN (Resource temporarily unavailable) <0.000003>
1 0.000010 close(3) = 0 <0.000001>
`, "1 0.000020000 close(3) = 0 <0.000001000>\n"},
		{"times that have come", `
1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, {tv_sec=0, tv_nsec=100}) = -1 ETIMEDOUT (Connection timed out) <0.000100>
1 0.000010 poll([{fd=3, events=POLLIN}], 1, 1) = 0 (Timeout) <0.001000>
1 0.001010 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=10000}, NULL) = 0 <0.010000>
1 0.010010 close(3) = 0 <0.000001>
1 0.000010 close(4) = 0 <0.000001>
`, "1 0.000010000 wait(FUTEX, 0x7f00) = -1 ETIMEDOUT (Connection timed out) <0.000100000>\n1 0.011030000 close(3) = 0 <0.000001000> {timer=11000000}\n1 0.000010000 close(4) = 0 <0.000001000>\n"},
		{"a sleep that a signal interrupts", `
1 0.000010 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1, tv_nsec=0}, 0x7ffe) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.000100>
1 0.000110 --- SIGCONT {si_signo=SIGCONT, si_code=SI_USER, si_pid=9, si_uid=0} ---
1 0.000010 restart_syscall(<... resuming interrupted clock_nanosleep ...>) = 0 <0.000900>
1 0.000910 exit_group(0) = ?
`, "1 0.001040000 exit_group(0) = ? {timer=1000000}\n"},
		{"descriptors and signals", `
1 0.000010 epoll_wait(4, [{events=EPOLLIN, data={u32=5, u64=5}}], 512, -1) = 1 <0.000100>
1 0.000110 poll([{fd=3, events=POLLIN}], 1, -1) = 1 ([{fd=3, revents=POLLIN}]) <0.000200>
1 0.000210 rt_sigtimedwait([INT], NULL, NULL, 8) = 2 (SIGINT) <0.000300>
`, "1 0.000010000 wait(POLL, 0x4) = 0 <0.000100000>\n1 0.000110000 wait(POLL, NULL) = 0 <0.000200000>\n1 0.000210000 wait(SIGNAL, NULL) = 0 <0.000300000>\n"},
		{"no durations", "1 0.000010 poll([{fd=3, events=POLLIN}], 1, 1) = 0 (Timeout)\n1 0.001010 close(3) = 0\n", "1 0.001020000 close(3) = 0\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			events, r := parse(t, test.text)
			got := printRecorded(t, r.Header(), events)
			_, got, _ = strings.Cut(got, "# pianola script 1\n")
			require.Equal(t, test.want, got)
		})
	}
}
