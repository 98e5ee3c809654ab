package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// ringLines returns the lines of a trace that are about rings, and the thread table. The
// recording goes through transforms before.
func ringLines(t *testing.T, recording string, with ...string) []string {
	t.Helper()
	var funcs []transform.Func
	for _, one := range with {
		f, err := transform.Builtin().Parse(one)
		require.NoError(t, err)
		funcs = append(funcs, f)
	}
	chain := transform.NewChain(func() (format.Reader, error) { return script.NewReader(strings.NewReader(recording), "test.txt"), nil }, funcs...)
	defer chain.Close()
	events, err := chain.Open()
	require.NoError(t, err)
	out := &text{}
	_, err = compile.Compile(events, new(testkit.Spool), out, compile.Options{})
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "# left out") {
			continue
		}
		if strings.Contains(line, "ring") || strings.HasPrefix(line, "2 ") || strings.Contains(line, "after=") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

const ringStart = `# cwd: "/w"
10 0.000100000 open("/w/a", O_RDWR) = 3 <0.000010000> {type=reg mode=0644 size=65536}
10 0.000100000 io_uring_setup(4, 0, 8, 0) = 4 <0.000010000> {ring=1}
`

// A ring is a thread, and requests are its events in the order of submission. Calls say
// how many they submit, after how many completions, and for how many they wait.
func TestRing(t *testing.T) {
	got := ringLines(t, ringStart+`10 0.000100000 io_uring_enter(4, 2, 0, 0, NULL, 0) = 2 <0.000020000> {ring=1 batch=1}
10 0.000006000 io_uring:pread64(3, 0x5000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
10 0.000034000 io_uring_enter(4, 0, 2, IORING_ENTER_GETEVENTS, NULL, 0) = 0 <0.000070000> {ring=1 batch=2}
10 -0.000036000 io_uring:pread64(3, 0x4000, 4096, 0) = 4096 <0.000100000> {ring=1 batch=1 reaped=0 submitted=0.000004000}
10 0.000200000 io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 1 <0.000030000> {ring=1 batch=3}
10 0.000004000 io_uring:pwrite64(3, 0x5000, 4096, 8192) = 4096 <0.000020000> {ring=1 batch=3 reaped=2 submitted=0.000004000}
`)
	require.Contains(t, strings.Join(got, "\n"), "ring=io_uring")
	var calls, requests []string
	for _, line := range got {
		before, _, _ := strings.Cut(line, " <")
		switch {
		case strings.Contains(line, "ring_"):
			calls = append(calls, before)
		case strings.HasPrefix(line, "2 p"):
			requests = append(requests, before)
		}
	}
	require.Equal(t, []string{"1 ring_open ( 2 4 0 8 0 ) = 0", "1 ring_submit ( 2 2 0 0 0 ) = 0", "1 ring_submit ( 2 0 2 0 0 ) = 0", "1 ring_submit ( 2 1 1 2 0 ) = 0"}, calls)
	require.Equal(t, []string{"2 pread64 ( 3 4096 0 ) = 4096", "2 pread64 ( 3 4096 4096 ) = 4096", "2 pwrite64 ( 3 4096 8192 ) = 4096"}, requests)
}

// The thread that opens a ring has waited before that, not computed.
func TestRingOpensAfterWait(t *testing.T) {
	const recording = ringStart + `10 0.000100000 wait(FUTEX, 0x10) = 0 <2.000000000> {by=10}
10 2.000100000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=1}
10 0.000006000 io_uring:pread64(3, 0x5000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
`
	out := &text{}
	_, err := compile.Compile(script.NewReader(strings.NewReader(recording), "test.txt"), new(testkit.Spool), out, compile.Options{})
	require.NoError(t, err)
	require.Regexp(t, `1 compute \( 2\.0\d+ 2\.0\d+ wait=2\.0\d+ \)\n1 ring_open `, out.String())
}

// Requests that a replay can't make are left out, with their completions. A ring
// without any other vanishes.
func TestRingLeftOut(t *testing.T) {
	got := ringLines(t, ringStart+`10 0.000100000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=1}
10 0.000006000 io_uring:recvfrom(9, 0x5000, 4096, 0, NULL, NULL) = 1 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
10 0.000034000 io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 1 <0.000070000> {ring=1 batch=2}
10 0.000006000 io_uring:pread64(9, 0x5000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=2 reaped=1 submitted=0.000006000}
`)
	require.Empty(t, got)

	got = ringLines(t, ringStart+`10 0.000100000 io_uring_enter(4, 2, 2, IORING_ENTER_GETEVENTS, NULL, 0) = 2 <0.000090000> {ring=1 batch=1}
10 0.000006000 io_uring:recvfrom(9, 0x5000, 4096, 0, NULL, NULL) = 1 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
10 0.000004000 io_uring:pread64(3, 0x5000, 4096, 4096) = 4096 <0.000060000> {ring=1 batch=1 reaped=0 submitted=0.000008000}
10 0.000134000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000070000> {ring=1 batch=2}
10 0.000006000 io_uring:pread64(3, 0x5000, 4096, 8192) = 4096 <0.000050000> {ring=1 batch=2 reaped=2 submitted=0.000006000}
`)
	text := strings.Join(got, "\n")
	require.Contains(t, text, "ring_submit ( 2 1 1 0 0 )")
	require.Contains(t, text, "ring_submit ( 2 1 0 1 0 )")
}

// Edges begin and end at completions: a read of what a request has written, by a call
// and by another request, comes after that. One that was in flight with it does not.
func TestRingEdges(t *testing.T) {
	const writes = `10 0.000100000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=1}
10 0.000006000 io_uring:pwrite64(3, 0x5000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
`
	for _, c := range []struct{ what, next, want string }{
		{"read by a call", `10 0.000500000 pread64(3, 0x6000, 4096, 4096) = 4096 <0.000010000>`, "after=2:0:bytes"},
		{"close", `10 0.000500000 close(3) = 0 <0.000010000>`, "after=2:0:descriptor"},
		{"read by a request", `10 0.000500000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=2}
10 0.000006000 io_uring:pread64(3, 0x6000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=2 reaped=1 submitted=0.000006000}`, "after=2:0:bytes"},
		{"read in flight with it", `10 0.000020000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=2}
10 0.000006000 io_uring:pread64(3, 0x6000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=2 reaped=0 submitted=0.000006000}`, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			text := strings.Join(ringLines(t, ringStart+writes+c.next+"\n"), "\n")
			if c.want == "" {
				require.NotContains(t, text, "after=")
				return
			}
			require.Contains(t, text, c.want)
		})
	}
}

// A registered file stands for the descriptor that it was registered by, while that is
// open.
func TestRingFiles(t *testing.T) {
	got := strings.Join(ringLines(t, ringStart+`10 0.000100000 io_uring_register(4, IORING_REGISTER_FILES, 0x1, 2, "-1,3") = 0 <0.000010000> {ring=1}
10 0.000100000 io_uring_register(4, IORING_REGISTER_BUFFERS, 0x1, 1, "0x8000+8192") = 0 <0.000010000> {ring=1}
10 0.000100000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=1}
10 0.000006000 io_uring:pread64(1, 0x9000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000 flags=fixed buf=0}
`), "\n")
	require.Contains(t, got, `ring_files ( 2 "-1,3" )`)
	require.Contains(t, got, `ring_buffers ( 2 "4096+8192" )`)
	require.Contains(t, got, "2 pread64 ( 3 4096 4096 ) = 4096 <0.000050000> {buf=0x2000 flags=fixed slot=1 buffer=0}")
}

// registerLines are calls that register, and a request that makes the ring part of the
// trace.
func registerLines(before []string, after ...string) string {
	text := ringStart
	call := func(what string) {
		text += "10 0.000100000 io_uring_register(4, " + what + ") = 0 <0.000010000> {ring=1}\n"
	}
	for _, what := range before {
		call(what)
	}
	text += `10 0.000100000 io_uring_enter(4, 1, 0, 0, NULL, 0) = 1 <0.000020000> {ring=1 batch=1}
10 0.000006000 io_uring:pread64(3, 0x9000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
`
	for _, what := range after {
		call(what)
	}
	return text
}

// tables returns the arguments of the events that register something.
func tables(lines []string) (texts []string) {
	for _, line := range lines {
		if _, text, ok := strings.Cut(line, "ring_files ( 2 "); ok {
			text, _, _ = strings.Cut(text, " )")
			texts = append(texts, "files "+strings.Trim(text, `"`))
		}
		if _, text, ok := strings.Cut(line, "ring_buffers ( 2 "); ok {
			text, _, _ = strings.Cut(text, " )")
			texts = append(texts, "buffers "+strings.Trim(text, `"`))
		}
	}
	return texts
}

// An update has the places that it changes. One beyond the end has all, with room for
// more.
func TestRingUpdates(t *testing.T) {
	const update, buffers = `IORING_REGISTER_FILES_UPDATE, 0x1, 2, "`, `IORING_REGISTER_BUFFERS_UPDATE, 0x1, 1, "`
	for _, c := range []struct {
		before, after, want []string
	}{
		{[]string{`IORING_REGISTER_FILES, 0x1, 4, "3,-1,-1,-1"`}, []string{update + `2=3,3"`, update + `0=-1"`}, []string{"files 3,-1,-1,-1", "files 2=3,3", "files 0=-1"}},
		{[]string{`IORING_REGISTER_FILES, 0x1, 3, "-1,-1,-1"`}, []string{update + `0=3,-2,3"`}, []string{"files -1,-1,-1", "files 0=3,-2,3"}},
		{nil, []string{update + `4=3"`, update + `7=3"`, update + `8=3"`}, []string{"files -1,-1,-1,-1,3,-1,-1,-1", "files 7=3", "files -1,-1,-1,-1,3,-1,-1,3,3,-1,-1,-1,-1,-1,-1,-1"}},
		{[]string{`IORING_REGISTER_FILES, 0x1, 2, "3,3"`}, []string{`IORING_UNREGISTER_FILES, NULL, 0, ""`, update + `1=3"`}, []string{"files 3,3", "files ", "files -1,3"}},
		{[]string{`IORING_REGISTER_BUFFERS, 0x1, 2, "0x8000+8192,0x8000+100"`}, []string{buffers + `1=0x8000+200"`}, []string{"buffers 4096+8192,4096+100", "buffers 1=4096+200"}},
	} {
		require.Equal(t, c.want, tables(ringLines(t, registerLines(c.before, c.after...))))
	}
}

// The texts of updates grow with their number, whether the table was registered whole or
// grows with them.
func TestRingUpdatesAreSmall(t *testing.T) {
	const places = 4000
	for _, before := range [][]string{nil, {fmt.Sprintf(`IORING_REGISTER_FILES, 0x1, %d, "%s3"`, places, strings.Repeat("-1,", places-1))}} {
		var updates []string
		for i := range places {
			updates = append(updates, fmt.Sprintf(`IORING_REGISTER_FILES_UPDATE, 0x1, 1, "%d=3"`, i))
		}
		bytes := 0
		for _, text := range tables(ringLines(t, registerLines(before, updates...))) {
			bytes += len(text)
		}
		require.Less(t, bytes, 40*places)
	}
}

// An update by another thread comes after what it updates.
func TestRingUpdatesInOrder(t *testing.T) {
	got := strings.Join(ringLines(t, `# cwd: "/w"
10 0.000100000 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 11 <0.000010000>
`+strings.TrimPrefix(registerLines([]string{`IORING_REGISTER_FILES, 0x1, 2, "3,-1"`}), "# cwd: \"/w\"\n")+
		`11 0.001000000 io_uring_register(4, IORING_REGISTER_FILES_UPDATE, 0x1, 1, "1=3") = 0 <0.000010000> {ring=1}
`), "\n")
	require.Regexp(t, `2 ring_files \( 3 "1=3" \) = 0 <0.000010000> \{after=1:3\}`, got)
}

// aioStart is how recordings begin in which a context of libaio has so many entries.
const aioStart = `# cwd: "/w"
10 0.000100000 open("/w/a", O_RDWR) = 3 <0.000010000> {type=reg mode=0644 size=65536}
10 0.000100000 io_setup(%d, 0x7f00) = 0 <0.000010000> {ring=1}
`

// io_getevents counts the reaped completions; the head of the ring wraps around at its
// end.
func TestRingOfLibaio(t *testing.T) {
	var text strings.Builder
	fmt.Fprintf(&text, aioStart, 4)
	for i := range 300 {
		head := format.AppendInt(nil, int64(i%127))
		batch := format.AppendInt(nil, int64(i+1))
		text.WriteString("10 0.000100000 io_submit(0x7f00, 1, 0x1) = 1 <0.000020000> {ring=1 batch=" + string(batch) + "}\n")
		text.WriteString("10 0.000006000 aio:pread64(3, 0x5000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=" + string(batch) + " reaped=" + string(head) + " submitted=0.000006000}\n")
		if i%2 == 0 { // else the application reads the ring
			text.WriteString("10 0.000020000 io_getevents(0x7f00, 1, 8, 0x1, NULL) = 1 <0.000030000> {ring=1}\n")
		}
	}
	got := strings.Join(ringLines(t, text.String()), "\n")
	require.Contains(t, got, "ring=aio")
	require.Contains(t, got, "ring_submit ( 2 1 0 299 ")
	require.Contains(t, got, "ring_submit ( 2 0 1 298 0 )")
}

// Calls that return several events pass the end of the ring.
func TestRingOfLibaioPassesItsEnd(t *testing.T) {
	var text strings.Builder
	fmt.Fprintf(&text, aioStart, 32)
	for i := range 100 {
		fmt.Fprintf(&text, "10 0.000100000 io_submit(0x7f00, 4, 0x1) = 4 <0.000020000> {ring=1 batch=%d}\n", i+1)
		for k := range 4 {
			fmt.Fprintf(&text, "10 0.000001000 aio:pread64(3, 0x%d000, 4096, 4096) = 4096 <0.000050000> {ring=1 batch=%d reaped=%d submitted=0.000001000}\n", k+1, i+1, max(i-1, 0)*4%127)
		}
		if i > 0 { // one batch stays in flight
			text.WriteString("10 0.000020000 io_getevents(0x7f00, 4, 4, 0x1, NULL) = 4 <0.000030000> {ring=1}\n")
		}
	}
	got := strings.Join(ringLines(t, text.String()), "\n")
	require.Contains(t, got, "ring_submit ( 2 4 0 392 ")
	require.NotContains(t, got, "ring_submit ( 2 4 0 396 ", "the 4 before the last batch are in flight")
}

// A call that only waits is for what comes after what was complete when it began.
func TestRingWait(t *testing.T) {
	got := strings.Join(ringLines(t, ringStart+`10 0.000100000 io_uring_enter(4, 3, 0, 0, NULL, 0) = 3 <0.000020000> {ring=1 batch=1}
10 0.000004000 io_uring:pread64(3, 0x4000, 4096, 0) = 4096 <0.000010000> {ring=1 batch=1 reaped=0 submitted=0.000004000}
10 0.000001000 io_uring:pread64(3, 0x5000, 4096, 4096) = 4096 <0.000020000> {ring=1 batch=1 reaped=0 submitted=0.000005000}
10 0.000001000 io_uring:pread64(3, 0x6000, 4096, 8192) = 4096 <0.000200000> {ring=1 batch=1 reaped=0 submitted=0.000006000}
10 0.000094000 io_uring_enter(4, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 0 <0.000110000> {ring=1 batch=2}
`), "\n")
	require.Contains(t, got, "ring_submit ( 2 0 3 0 0 )")
}

// A ring keeps registered files open: those whose descriptor was closed after the
// registration, and those that a request opened without one.
func TestRegisteredFilesWithoutDescriptors(t *testing.T) {
	const ask = `10 0.000100000 io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 1 <0.000070000> {ring=1 batch=%d}
10 0.000006000 io_uring:%[2]s <0.000050000> {ring=1 batch=%[1]d reaped=%[3]d submitted=0.000006000 %[4]s}
`
	batch := 0
	request := func(what, notes string) string {
		batch++
		return fmt.Sprintf(ask, batch, what, batch-1, notes)
	}
	read := func(slot string) string { return request("pread64("+slot+", 0x4000, 4096, 0) = 4096", "flags=fixed") }
	const closes = `10 0.000100000 close(3) = 0 <0.000001000>
`
	for _, c := range []struct{ name, calls, want string }{
		{"closed after the registration",
			`10 0.000100000 io_uring_register(4, IORING_REGISTER_FILES, 0x1, 1, "3") = 0 <0.000001000> {ring=1}
` + closes + read("0") + `10 0.000100000 open("/w/b", O_RDWR) = 3 <0.000010000> {type=reg mode=0644 size=65536}
10 0.000100000 fsync(3) = 0 <0.000010000>
` + read("0") + `10 0.000100000 io_uring_register(4, IORING_UNREGISTER_FILES, NULL, 0, "") = 0 <0.000001000> {ring=1}
10 0.000100000 fsync(3) = 0 <0.000010000>
10 0.000100000 open("/w/c", O_RDWR) = 5 <0.000010000> {type=reg mode=0644 size=65536}
`,
			"open 3, pread64 3, open 5, fsync 5, pread64 3, close 3, fsync 5, open 3"},
		{"opened into a place",
			request(`openat(AT_FDCWD, "/w/d", O_RDONLY) = 0`, "slot=2") + read("2") + read("2") +
				request(`close(0) = 0`, "slot=2") + `10 0.000100000 open("/w/b", O_RDWR) = 5 <0.000010000> {type=reg mode=0644 size=65536}
` + request(`openat(AT_FDCWD, "/w/d", O_RDONLY) = 0`, "slot=7") + read("7"),
			"open 3, open 5, pread64 5, pread64 5, close 5, open 6, open 7, pread64 7"},
		{"a place that the next open takes",
			request(`openat(AT_FDCWD, "/w/d", O_RDONLY) = 0`, "slot=0") + request(`openat(AT_FDCWD, "/w/e", O_RDONLY) = 0`, "slot=0") + read("0") + closes,
			"open 3, open 5, open 6, pread64 6, close 5, close 3"},
		{"with a descriptor that stays",
			`10 0.000100000 io_uring_register(4, IORING_REGISTER_FILES, 0x1, 1, "3") = 0 <0.000001000> {ring=1}
` + read("0") + request(`close(0) = 0`, "slot=0") + read("0") + closes,
			"open 3, pread64 3, close 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch = 0
			s, report := compiled(t, ringStart+c.calls, compile.Options{})
			require.Zero(t, report.Unexplained, report.Examples)
			require.Equal(t, c.want, numbers(s.events))
		})
	}
}

// The request that ends a chain of links can be left out, here one on a socket. Then
// the chain ends before it.
func TestRingChain(t *testing.T) {
	got := strings.Join(ringLines(t, ringStart+`10 0.000100000 io_uring_enter(4, 5, 5, IORING_ENTER_GETEVENTS, NULL, 0) = 5 <0.000090000> {ring=1 batch=1}
10 0.000001000 io_uring:pread64(3, 0x5000, 4096, 0) = 4096 <0.000010000> {ring=1 batch=1 reaped=0 submitted=0.000001000 flags=link}
10 0.000001000 io_uring:recvfrom(9, 0x5000, 4096, 0, NULL, NULL) = 1 <0.000020000> {ring=1 batch=1 reaped=0 submitted=0.000002000 flags=link}
10 0.000001000 io_uring:pread64(3, 0x5000, 4096, 4096) = 4096 <0.000030000> {ring=1 batch=1 reaped=0 submitted=0.000003000 flags=link}
10 0.000001000 io_uring:recvfrom(9, 0x5000, 4096, 0, NULL, NULL) = 1 <0.000040000> {ring=1 batch=1 reaped=0 submitted=0.000004000}
10 0.000001000 io_uring:pread64(3, 0x5000, 4096, 8192) = 4096 <0.000050000> {ring=1 batch=1 reaped=0 submitted=0.000005000}
`), "\n")
	require.Contains(t, got, "pread64 ( 3 4096 0 ) = 4096 <0.000010000> {buf=0x1000 flags=link}", "its successor is not the last")
	require.Contains(t, got, "pread64 ( 3 4096 4096 ) = 4096 <0.000030000> {buf=0x1000}")
	require.Contains(t, got, "ring_submit ( 2 3 3 0 0 )")
}

// A transform can split, merge and remove requests. Calls wait for the completions of
// the requests that remain.
func TestRingTransformed(t *testing.T) {
	const batches = `10 0.000100000 io_uring_enter(4, 3, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 3 <0.000090000> {ring=1 batch=1}
10 0.000001000 io_uring:pread64(3, 0x5000, 8192, 0) = 8192 <0.000010000> {ring=1 batch=1 reaped=0 submitted=0.000001000}
10 0.000001000 io_uring:pread64(3, 0x7000, 4096, 8192) = 4096 <0.000020000> {ring=1 batch=1 reaped=0 submitted=0.000002000}
10 0.000001000 io_uring:fsync(3) = 0 <0.000030000> {ring=1 batch=1 reaped=0 submitted=0.000003000}
10 0.000100000 io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 1 <0.000090000> {ring=1 batch=2}
10 0.000001000 io_uring:pread64(3, 0x7000, 4096, 16384) = 4096 <0.000020000> {ring=1 batch=2 reaped=3 submitted=0.000001000}
`
	for _, c := range []struct{ with, first, second string }{
		{"", "2 3 1 0 0", "2 1 1 3 0"},
		{"block=2KiB", "2 7 4 0 0", "2 2 2 7 0"},
		{"coalesce=1MiB", "2 2 1 0 0", "2 1 1 2 0"},
		{"sync=none", "2 2 1 0 0", "2 1 1 2 0"},
		{"drop=op == pread64", "2 1 0 0 0", ""},
		{"only=op == pread64", "2 2 1 0 0", "2 1 1 2 0"},
	} {
		t.Run(c.with, func(t *testing.T) {
			var with []string
			if c.with != "" {
				with = []string{c.with}
			}
			got := strings.Join(ringLines(t, ringStart+batches, with...), "\n")
			require.Contains(t, got, "ring_submit ( "+c.first+" )")
			if c.second == "" {
				require.Equal(t, 1, strings.Count(got, "ring_submit"))
				return
			}
			require.Contains(t, got, "ring_submit ( "+c.second+" )")
		})
	}
}

// Calls that a transform makes requests of are waited for before those of the next batch.
func TestRingOfCalls(t *testing.T) {
	got := ringLines(t, `# pianola script 1
# cwd: "/w"
10 0.000100000 open("/w/a", O_RDWR) = 3 <0.000010000> {type=reg mode=0644 size=65536}
10 0.000100000 pread64(3, 0x5000, 4096, 0) = 4096 <0.000050000>
10 0.000060000 pread64(3, 0x5000, 4096, 8192) = 4096 <0.000050000>
10 0.000060000 pread64(3, 0x5000, 4096, 16384) = 4096 <0.000050000>
10 0.000060000 pread64(3, 0x5000, 4096, 32768) = 4096 <0.000050000>
10 0.000060000 close(3) = 0 <0.000010000>
`, "uring-batch=2")
	text := strings.Join(got, "\n")
	require.Contains(t, text, "ring_submit ( 2 2 2 0 0 ) = 0 <0.000100000>")
	require.Contains(t, text, "ring_submit ( 2 2 2 2 0 ) = 0 <0.000100000>")
	require.Contains(t, text, "close ( 3 ) = 0 <0.000010000> {after=2:3:descriptor}")
}
