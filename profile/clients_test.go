package profile

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	scripts "pianola/format/script"
)

// served is a server with two clients. The first sends two requests, the second of which is
// in two parts and has two parts of a reply, while the second client waits for storage. What
// two recorded threads tell each other, and what comes before a request, is none.
const served = `# pianola script 1
# recorder: ebpf
# process: 1 threads=1 cwd="/w"
# process: 2 threads=2 cwd="/w"
# process: 3 threads=3 cwd="/w"
3 0.000000000 sendto(6, 0x10, 5, 0, NULL, 0) = 5 <0.000001000> {type=sock sent=unix:77+5}
1 0.000010000 recvfrom(6, 0x10, 99, 0, NULL, NULL) = 5 <0.000001000> {type=sock got=unix:77+5}
1 0.000010000 sendto(5, 0x10, 9, 0, NULL, 0) = 9 <0.000001000> {type=sock sent=unix:a+9}
1 0.000980000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 10 <0.000001000> {type=sock got=unix:b+10 wait=900000}
1 0.000101000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+29}
2 0.000000000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 30 <0.000100000> {type=sock got=unix:d+30}
1 0.000899000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 11 <0.000001000> {type=sock got=unix:b+21}
1 0.000005000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 1 <0.000001000> {type=sock got=unix:b+22}
1 0.000005000 openat(AT_FDCWD, "data", O_RDWR, 0) = 3 <0.000010000> {type=reg size=0}
1 0.000020000 pwrite64(3, 0x20, 4096, 0) = 4096 <0.000100000>
1 0.000150000 fdatasync(3) = 0 <0.000600000>
1 0.000620000 sendto(5, 0x10, 21, 0, NULL, 0) = 21 <0.000001000> {type=sock sent=unix:a+50}
1 0.000100000 sendto(5, 0x10, 1, 0, NULL, 0) = 1 <0.000001000> {type=sock sent=unix:a+51}
2 0.002100000 sendto(5, 0x10, 40, 0, NULL, 0) = 40 <0.000001000> {type=sock sent=unix:c+40 wait=4000 storage=3700000}
`

func TestClients(t *testing.T) {
	p, err := Read(scripts.NewReader(strings.NewReader(served), "trace.txt"))
	require.NoError(t, err)
	r := p.Requests
	require.NotNil(t, r)
	require.EqualValues(t, 2, r.Clients)
	require.Equal(t, []int64{3, 10 + 12 + 30, 20 + 22 + 40}, []int64{r.Count, r.Bytes, r.Replied})
	require.Len(t, r.Kinds, 2)
	require.Equal(t, "no I/O", r.Kinds[0].Name)
	require.EqualValues(t, 2, r.Kinds[0].Count)
	commit := r.Kinds[1]
	require.Equal(t, "openat pwrite64 fdatasync", commit.Name)
	require.EqualValues(t, 1, commit.Count)
	require.EqualValues(t, 5000+5000+20_000+150_000+620_000+100_000, commit.Nanos)
	require.Equal(t, []int64{600_000, 100_000, 10_000}, []int64{commit.Spent[Syncs], commit.Spent[Writes], commit.Spent[Metadata]})
	require.InDelta(t, 3_700_000, r.Spent[DoingStorage], 1000, "the call that sends the reply counts whole")
	sum := int64(0)
	for _, nanos := range r.Spent {
		sum += nanos
	}
	require.Equal(t, r.Nanos, sum)

	// Two of the three replies, from the first request on.
	require.InDelta(t, 2/(0.002906-0.001), r.Rate, 0.05*r.Rate)
	replies := int64(0)
	for i := range p.Intervals.List {
		replies += p.Intervals.List[i].Replies
	}
	require.EqualValues(t, 3, replies)

	var text strings.Builder
	require.NoError(t, p.WriteText(&text, TextOptions{}))
	require.Regexp(t, `(?m)^3 requests of 2 clients, \d+ a second; p50 0\.\d+, p90 \d\.\d+, p99 \d\.\d+, max \d\.\d+ ms\nof their time: storage \d`, text.String())
}

// A recording without unrecorded clients has no requests.
func TestNoClients(t *testing.T) {
	p, err := Read(scripts.NewReader(strings.NewReader(strings.ReplaceAll(served, "got=unix:b", "got=tcp:b")), "trace.txt"))
	require.NoError(t, err)
	require.NotNil(t, p.Requests, "of another kind of connections")

	alone := strings.Join(strings.SplitAfter(served, "\n")[:7], "")
	p, err = Read(scripts.NewReader(strings.NewReader(alone), "trace.txt"))
	require.NoError(t, err)
	require.Nil(t, p.Requests)
}

// The rate is that of all replies but the first and the last tenth, which are each 0.1 ms at first, and then
// each ms.
func TestRate(t *testing.T) {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# recorder: ebpf\n")
	sent, got := 0, 0
	for i := range 130 {
		gap := "0.000099000"
		if i >= 100 {
			gap = "0.000999000"
		}
		got += 10
		fmt.Fprintf(&b, "1 0.000000000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 10 <0.000000500> {type=sock got=unix:b+%d}\n", got)
		sent += 20
		fmt.Fprintf(&b, "1 %s sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000000500> {type=sock sent=unix:a+%d}\n", gap, sent)
	}
	p, err := Read(scripts.NewReader(strings.NewReader(b.String()), "trace.txt"))
	require.NoError(t, err)
	require.InDelta(t, 104/0.0257, p.Requests.Rate, 500)
}

// A recorded program that asks a server has no clients.
func TestNoClientsOfAClient(t *testing.T) {
	asks := regexp.MustCompile(`(got=unix:[bd]\+\d+)`).ReplaceAllString(served, "$1 connected")
	p, err := Read(scripts.NewReader(strings.NewReader(asks), "trace.txt"))
	require.NoError(t, err)
	require.Nil(t, p.Requests)
}
