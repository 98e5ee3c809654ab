package script

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// FuzzReader demands that nothing panics, and that the events of whatever
// parses are the same after printing and parsing them again.
func FuzzReader(f *testing.F) {
	f.Add([]byte(olderScript))
	f.Add([]byte("# pianola script 1\n# command: a\n7 0.5 openat(AT_FDCWD, \"\\377\", O_RDWR|O_CREAT, 0600) = -1 ENOENT (x) <0.5> {a=\"}\" b}\n"))
	f.Add([]byte("# thread: 1 process=1 parent=0 start=0.0\n1 compute ( 0.5 )\n1 read ( 3 4 ) = 4 <0.1> {buf=0x1 after=1:2 x}\n"))
	f.Add([]byte("# pianola script 1\n7 0.5 recvfrom(3, 0x1, 9, MSG_PEEK, NULL, NULL) = 9 <0.5> {by=7+1 got=tcp:9f3c+1234}\n"))
	f.Add([]byte("1 0.1 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>\n2 0.1 futex(0x7f, FUTEX_WAKE, 1) = 1 <0.1>\n1 0.1 <... futex resumed>) = 0 <0.1>\n" +
		"1 0.1 poll([], 0, 5) = 0 (Timeout) <0.1>\n1 0.1 close(3) = 0\n"))
	f.Add([]byte("# pianola script 1\n7 0.5 io_uring:preadv(3, 0x1, 2, 4096, 8192) = 8192 <0.5> {ring=5 batch=17 reaped=12 submitted=0.000003 flags=fixed|link|0x80 buf=3 slot=1 rwf=RWF_DSYNC}\n" +
		"7 0.5 aio:fsync(3) = ?\n7 0.5 io_uring_register(4, IORING_REGISTER_FILES, 0x1, 2, \"1=3,-1\") = 2 <0.5> {ring=5}\n"))
	f.Add([]byte(namedScript))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader(bytes.NewReader(text), "fuzz")
		events, err := readAll(r, 3)
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
		if r.Dialect() == Intermediate {
			if err == nil {
				again(t, events, printIntermediate(t, r.Header(), events))
			}
			return
		}
		again(t, events, printRecorded(t, &format.Header{}, events))
	})
}

func again(t *testing.T, events []format.Event, text string) {
	t.Helper()
	got, err := readAll(NewReader(bytes.NewReader([]byte(text)), "printed"), 100)
	require.NoError(t, err, text)
	require.Equal(t, events, got, text)
}
