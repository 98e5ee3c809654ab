package compile_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// asked is a server that two unrecorded clients ask over UNIX sockets. Thread 12 waits for the
// processor. What 11 and 12 tell each other is no request.
const asked = `# pianola script 1
# cpus: 3
# recorder: ebpf
# process: 11 threads=11,12 cwd="/w"
# lost: 0
11 0.001000000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 10 <0.000001000> {type=sock got=unix:b+10 wait=900000}
11 0.000100000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg}
11 0.000100000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+20}
11 0.000100000 sendto(6, 0x10, 7, 0, NULL, 0) = 7 <0.000001000> {type=sock sent=unix:c+7}
12 0.000010000 recvfrom(7, 0x10, 99, 0, NULL, NULL) = 7 <0.000001000> {type=sock got=unix:c+7}
12 0.000500000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg own=450000}
11 0.000490000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 11 <0.000001000> {type=sock got=unix:b+21 wait=900000}
11 0.000100000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg}
11 0.000100000 sendto(5, 0x10, 21, 0, NULL, 0) = 21 <0.000001000> {type=sock sent=unix:a+41}
12 0.000100000 recvfrom(8, 0x10, 99, 0, NULL, NULL) = 30 <0.000001000> {type=sock got=tcp:b+30}
12 0.000100000 write(8, 0x10, 40) = 40 <0.000001000> {type=sock sent=tcp:a+40}
`

// The trace has what unrecorded clients ask, and the replies. The next request of a client waits
// for the reply; and the time in which another thread of the server had the processor is a wait.
func TestClients(t *testing.T) {
	out, report := compiled(t, asked, compile.Options{})
	require.Equal(t, "2 clients that were not recorded sent 3 messages: replays say how many requests a second they answer", report.ClientsText())
	require.Contains(t, out.String(), "\n1 compute ( 0.001100000 0.000900000 wait=0.000900000 )\n", "the rest takes the processor")
	text := regexp.MustCompile(`(?m)^\d+ compute .*\n`).ReplaceAllString(out.String(), "")
	_, events, _ := strings.Cut(text, "\n1 ")
	require.Equal(t, `client_request ( 1 10 ) = 0 <0.000000000> {after=0:0:timer after=0:0+0.001000000:arrival after=0:0+0.001000000:reply held=0.000900000 expired=0.000100000}
1 stat ( w/a ) = 0 <0.000001000>
1 client_reply ( 1 20 ) = 0 <0.000000000>
2 stat ( w/a ) = 0 <0.000001000> {after=0:0:timer after=1:2+0.000149000:message held=0.000450000 expired=0.001310000}
1 client_request ( 1 11 ) = 0 <0.000000000> {after=0:0+0.002300000:arrival after=1:2+0.001100000:reply held=0.000900000}
1 stat ( w/a ) = 0 <0.000001000>
1 client_reply ( 1 21 ) = 0 <0.000000000>
2 client_request ( 2 30 ) = 0 <0.000000000>
2 client_reply ( 2 40 ) = 0 <0.000000000>
`, events)
	require.Contains(t, text, "# processors: 3\n")

	alone, _ := compiled(t, strings.ReplaceAll(asked, "got=unix:b", "got=unix:c"), compile.Options{})
	require.Contains(t, alone.String(), "client_request ( 1 30 )")
	none, report := compiled(t, regexp.MustCompile(`.*(unix:b|tcp:).*\n`).ReplaceAllString(asked, ""), compile.Options{})
	require.Equal(t, "no message of a client that was not recorded was found, so replays have a run time but no requests a second", report.ClientsText())
	require.NotContains(t, none.String(), "client_re")
	require.NotContains(t, none.String(), "# processors:")
	require.NotContains(t, none.String(), "held=", "the threads of a program take as long as they did")
}

// A reply takes the processor for long if the kernel delivers it at once. That is no wait.
func TestLongReply(t *testing.T) {
	busy := strings.Replace(asked, "unix:b+21 wait=900000", "unix:b+21", 1)
	_, report := compiled(t, busy, compile.Options{})
	_, longer := compiled(t, strings.ReplaceAll(busy, "= 20 <0.000001000>", "= 20 <0.000051000>"), compile.Options{})
	require.Equal(t, report.Floor.Waits, longer.Floor.Waits)
	require.Equal(t, report.Floor.Total, longer.Floor.Total, "events begin when they did")
}

// A recording that was made while other programs had the processors says for how much of the time.
func TestCrowded(t *testing.T) {
	_, report := compiled(t, asked, compile.Options{})
	require.Empty(t, report.CrowdedText())
	_, report = compiled(t, strings.ReplaceAll(asked, "wait=900000", "ready=900000"), compile.Options{})
	require.Regexp(t, `^other programs, or the host of a virtual machine, had the processors for 5\d\.\d % of the time in which threads could run: `, report.CrowdedText())
}

// The host of a virtual machine had half of the time of busy processors: a server computes half as long.
func TestStolen(t *testing.T) {
	_, alone := compiled(t, asked, compile.Options{})
	_, report := compiled(t, strings.Replace(asked, "# lost: 0", "# stolen: 0.500\n# lost: 0", 1), compile.Options{})
	require.Greater(t, alone.Computed, int64(500e3))
	require.InDelta(t, 0.5, float64(report.Computed)/float64(alone.Computed), 0.1)
	require.Regexp(t, `^other programs, or the host of a virtual machine, had the processors for 49\.\d % `, report.CrowdedText())
}

// A thread that waited for a client, and then for a processor, comes after the reply. The client did not
// think while the thread waited for the processor.
func TestClientBeforeProcessor(t *testing.T) {
	late := func(why string) string { return strings.ReplaceAll(asked, "wait=900000", "wait=800000 "+why+"=100000") }
	for name, c := range map[string]struct{ recording, thinks string }{
		"other programs": {late("ready"), "0010"},
		"other threads":  {late("own"), "0010"},
		"the host":       {strings.Replace(asked, "# lost: 0", "# stolen: 0.010\n# lost: 0", 1), "0011"},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := compiled(t, c.recording, compile.Options{})
			require.Regexp(t, `client_request \( 1 11 \).* after=1:2\+0\.`+c.thinks+`\d+:reply held=`, out.String())
		})
	}
}

// The recorder had a fifth of the time of the clients' processors: they think for so much less.
func TestDelayedClients(t *testing.T) {
	out, _ := compiled(t, strings.Replace(asked, "# lost: 0", "# delayed: 0.200\n# lost: 0", 1), compile.Options{})
	require.Contains(t, out.String(), "after=1:2+0.000880000:reply", "not 1.1 ms")
}

// A thread of a server that waited when the recorder attached takes no processor before its first event.
func TestAttachedWhileWaiting(t *testing.T) {
	const rests = `13 5.000000000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg}
13 0.500000000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg}
`
	out, _ := compiled(t, strings.Replace(asked, "threads=11,12", "threads=11,12,13", 1)+rests, compile.Options{})
	require.Regexp(t, `compute \( 5\.00\d+ 5\.00\d+ \)`, out.String())
	require.Regexp(t, `compute \( 0\.499\d+ \)`, out.String(), "the next one is compute")
	out, _ = compiled(t, rests, compile.Options{})
	require.Regexp(t, `compute \( 5\.00\d+ \)`, out.String(), "that of a program can be compute")
}

// A server works in the background at its own times. A thread with a request that meets
// it waits for what it does, not until the time of the recording; and if the request needs it, it comes
// earlier.
func TestBackground(t *testing.T) {
	const meets = `# pianola script 1
# cpus: 1
# recorder: ebpf
# process: 11 threads=11,13 cwd="/w"
# lost: 0
11 0.001000000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 10 <0.000001000> {type=sock got=unix:b+10 wait=900000}
11 0.000100000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+20}
11 0.001000000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 11 <0.000001000> {type=sock got=unix:b+21 wait=900000}
13 0.000100000 stat("/w/b", 0x1) = 0 <0.000001000> {type=reg wait=800000}
11 0.000010000 wait(FUTEX, 0x50) = 0 <0.000500000> {by=13}
11 0.000510000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg}
11 0.000010000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+40}
`
	edges := func(recording string) (worker, server string) {
		out, report := compiled(t, recording, compile.Options{})
		require.Zero(t, report.Floor.Waits+report.Floor.Timers, "it can end early")
		line := func(name string) string {
			return regexp.MustCompile(`(?m)^\d+ stat \( w/` + name + ` \).*$`).FindString(out.String())
		}
		return line("b"), line("a")
	}
	worker, server := edges(meets)
	require.Contains(t, worker, "after=0:0:timer", "a wait without a known cause may be for time")
	require.Contains(t, server, "{after=2:0+0.000519000:untimed held=0.000500000}", "it waits for what the other thread did then")
	worker, server = edges(regexp.MustCompile(`(?m)^13 .*\n`).ReplaceAllString(meets, ""))
	require.Empty(t, worker)
	require.Contains(t, server, "{after=0:0:timer expired=0.000500000}", "it waits as long; what the other thread waited for is not known")
}

// A thread in the background that another one wakes before its time does not wait for the timer of that one:
// a request that needs what it does ends both.
func TestBackgroundWakesBackground(t *testing.T) {
	out, _ := compiled(t, `# pianola script 1
# cpus: 1
# recorder: ebpf
# process: 11 threads=11,13,14 cwd="/w"
# lost: 0
11 0.001000000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 10 <0.000001000> {type=sock got=unix:b+10 wait=900000}
11 0.000100000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+20}
13 0.000100000 stat("/w/c", 0x1) = 0 <0.000001000> {type=reg}
14 0.000100000 stat("/w/c", 0x1) = 0 <0.000001000> {type=reg}
13 0.000100000 wait(FUTEX, 0x60) = -1 ETIMEDOUT <0.200000000>
14 0.000100000 wait(POLL, 0x8) = 0 <0.200100000> {by=13}
11 0.200100000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 11 <0.000001000> {type=sock got=unix:b+21 wait=900000}
14 0.000100000 stat("/w/b", 0x1) = 0 <0.000001000> {type=reg}
11 -0.000150000 wait(FUTEX, 0x50) = 0 <0.000200000> {by=14}
11 0.000310000 stat("/w/a", 0x1) = 0 <0.000001000> {type=reg}
11 0.000010000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+40}
`, compile.Options{})
	line := func(name string) string {
		return regexp.MustCompile(`(?m)^\d+ stat \( w/` + name + ` \).*$`).FindString(out.String())
	}
	require.Regexp(t, `after=0:0:timer expired=0\.(19|20)`, line("b"))
	require.Contains(t, line("a"), ":untimed ")
}

// A thread with requests waited when the recorder attached, until another one that waited since then woke
// it. In a replay, this wait is over at once.
func TestAttachedWhileInRequests(t *testing.T) {
	out, report := compiled(t, `# pianola script 1
# cpus: 1
# recorder: ebpf
# process: 11 threads=11,12 cwd="/w"
# lost: 0
11 0.000100000 wait(FUTEX, 0x50) = 0 <0.100000000> {by=12}
12 0.100100000 sendto(6, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:c+20 storage=99000000}
11 0.000010000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+20}
11 0.000100000 recvfrom(5, 0x10, 99, 0, NULL, NULL) = 10 <0.000001000> {type=sock got=unix:b+10}
12 0.000010000 recvfrom(6, 0x10, 99, 0, NULL, NULL) = 10 <0.000001000> {type=sock got=unix:d+10}
11 0.000100000 sendto(5, 0x10, 20, 0, NULL, 0) = 20 <0.000001000> {type=sock sent=unix:a+40}
`, compile.Options{})
	require.Contains(t, out.String(), "held=0.100000000")
	require.Less(t, report.Floor.Total, int64(10_000_000))
}
