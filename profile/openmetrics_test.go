package profile

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	scripts "pianola/format/script"
)

// Counters grow from the start, quantiles are those of an interval, and all samples of a
// metric stand together in the order of time.
func TestWriteOpenMetrics(t *testing.T) {
	const text = `# pianola script 1
1 0.000000000 openat(AT_FDCWD, "/d", O_RDWR, 0) = 3 <0.000010000> {type=reg}
1 0.000100000 read(3, 0x1, 100) = 100 <0.000020000>
1 0.000030000 read(3, 0x1, 100) = 100 <0.000050000>
1 0.001000000 read(3, 0x1, 50) = 50 <0.000500000>
1 0.000600000 read(3, 0x1, 50) = -1 EIO (Input/output error) <0.000100000>
`
	c := &Collector{Interval: 1e6, Tails: true}
	require.NoError(t, c.Read(scripts.NewReader(strings.NewReader(text), "t.txt")))
	p := c.Profile()
	for range 2 { // the profile is as before
		var b strings.Builder
		require.NoError(t, WriteOpenMetrics(&b, []Series{{Name: `a"b\`, Profile: p, Start: time.Unix(100, 5)}}))
		var reads []string
		for line := range strings.Lines(b.String()) {
			if strings.Contains(line, `recording="a\"b\\",class="read"`) {
				reads = append(reads, strings.Replace(strings.TrimSpace(line), `recording="a\"b\\",class="read"`, "", 1))
			}
		}
		require.Equal(t, []string{
			"pianola_calls_total{} 2 100.001000005", "pianola_calls_total{} 4 100.001830005",
			"pianola_call_errors_total{} 0 100.001000005", "pianola_call_errors_total{} 1 100.001830005",
			"pianola_moved_bytes_total{} 200 100.001000005", "pianola_moved_bytes_total{} 250 100.001830005",
			"pianola_busy_seconds_total{} 0.000070000 100.001000005", "pianola_busy_seconds_total{} 0.000670000 100.001830005",
			"pianola_queue_depth{} 0.070000 100.001000005", "pianola_queue_depth{} 0.722892 100.001830005",
			`pianola_call_duration_seconds{,quantile="0.5"} 0.000020479 100.001000005`, `pianola_call_duration_seconds{,quantile="0.9"} 0.000050000 100.001000005`,
			`pianola_call_duration_seconds{,quantile="0.99"} 0.000050000 100.001000005`, `pianola_call_duration_seconds{,quantile="0.999"} 0.000050000 100.001000005`,
			`pianola_call_duration_seconds{,quantile="1"} 0.000050000 100.001000005`,
			`pianola_call_duration_seconds{,quantile="0.5"} 0.000102399 100.001830005`, `pianola_call_duration_seconds{,quantile="0.9"} 0.000500000 100.001830005`,
			`pianola_call_duration_seconds{,quantile="0.99"} 0.000500000 100.001830005`, `pianola_call_duration_seconds{,quantile="0.999"} 0.000500000 100.001830005`,
			`pianola_call_duration_seconds{,quantile="1"} 0.000500000 100.001830005`,
		}, reads)
		require.True(t, strings.HasPrefix(b.String(), "# TYPE pianola_calls counter\n# HELP pianola_calls Calls and requests that began.\n"))
		require.True(t, strings.HasSuffix(b.String(), "\n# EOF\n"))
		p = c.Profile()
	}
}

// Longer intervals have the latencies, operations and sizes of the shorter ones, however often the profile is
// asked for.
func TestIntervalTails(t *testing.T) {
	var b strings.Builder
	b.WriteString("# pianola script 1\n" + `1 0.000000000 openat(AT_FDCWD, "/d", O_RDWR, 0) = 3 <0.000010000> {type=reg}` + "\n")
	for range 300 {
		b.WriteString("1 0.020000000 read(3, 0x1, 100) = 100 <0.000020000>\n")
	}
	c := &Collector{Tails: true}
	require.NoError(t, c.Read(scripts.NewReader(strings.NewReader(b.String()), "t.txt")))
	for range 2 {
		p := c.Profile()
		require.Less(t, len(p.Intervals.List), 250)
		for i := range p.Intervals.List {
			v := &p.Intervals.List[i]
			require.Equal(t, v.Categories[Reads].Calls, v.Sizes[Reads][3])
			opens := v.Categories[Metadata].Calls
			require.Len(t, v.Ops, int(min(opens, 1)+min(v.Categories[Reads].Calls, 1)))
			if v.Categories[Reads].Calls == 0 {
				require.Nil(t, v.Latency[Reads])
				continue
			}
			read := v.Ops[0] // the most calls first, and as many as the open where there is one
			if read.Op != format.OpRead {
				read = v.Ops[1]
			}
			require.Equal(t, Total{Calls: v.Categories[Reads].Calls, Bytes: v.Categories[Reads].Bytes, Nanos: 20_000 * v.Categories[Reads].Calls}, read.Total)
			require.EqualValues(t, 20_000, v.Latency[Reads].Max)
			require.InDelta(t, 20_000, v.Latency[Reads].P50, 1400)
		}
	}
}
