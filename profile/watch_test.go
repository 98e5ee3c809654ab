package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	scripts "pianola/format/script"
)

// The view of a recording that goes on is about the newest interval that is over, and has
// as many lines as there is room for.
func TestWriteWatch(t *testing.T) {
	const text = `# pianola script 1
1 0.000000000 openat(AT_FDCWD, "/d", O_RDWR, 0) = 3 <0.000010000> {type=reg}
1 0.100000000 read(3, 0x1, 4000) = 4000 <0.200000000>
1 1.000000000 read(3, 0x1, 8000) = 8000 <0.300000000>
1 0.500000000 read(3, 0x1, 8000) = 8000 <0.100000000>
1 1.000000000 openat(AT_FDCWD, "/e", O_RDWR, 0) = 4 <0.000010000> {type=reg}
`
	c := &Collector{Interval: 1e9, Tails: true}
	require.NoError(t, c.Read(scripts.NewReader(strings.NewReader(text), "t.txt")))
	var b strings.Builder
	require.NoError(t, c.Profile().WriteWatch(&b, 17))
	require.Equal(t, `2.60 s recorded, 5 calls; Ctrl-C ends

last 1.00 s  calls/s  bytes/s  depth     p50     p90     p99   p99.9     max  all calls  all bytes
read               2  16.0 kB    0.4  101 ms  300 ms  300 ms  300 ms  300 ms          3    20.0 kB
metadata           0      0 B    0.0       -       -       -       -       -          2        0 B

read                                                                       ▂█  at most 16.0 kB/s
in I/O                                                                     ▄█  at most 0.4 on average
p99 read                                                                   ▆█  at most 300 ms
p99 metadata                                                               █   at most 10.0 µs
                 60.0 s ago                                               now

file  calls    bytes     time
/d        4  20.0 kB   600 ms
/e        1      0 B  10.0 µs
`, b.String())
	for lines := range 17 {
		b.Reset()
		require.NoError(t, c.Profile().WriteWatch(&b, lines))
		require.LessOrEqual(t, strings.Count(b.String(), "\n"), max(lines, 12))
	}
	b.Reset()
	require.NoError(t, new(Collector).Profile().WriteWatch(&b, 24))
	require.Equal(t, "0.00 µs recorded, 0 calls; Ctrl-C ends\n", b.String())
}
