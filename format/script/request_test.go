package script

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// randomRequest returns what a recorder can know of a request.
func randomRequest(rnd *rand.Rand) *format.Notes {
	n := &format.Notes{}
	has := func(which format.Noted) bool {
		if rnd.IntN(3) > 0 {
			n.Has |= which
		}
		return n.Has&which != 0
	}
	r := &n.Request
	if has(format.NotedRing) {
		r.Ring = 1 + rnd.Int32N(math.MaxInt32)
	}
	if has(format.NotedBatch) {
		r.Batch = rnd.Int64N(format.MaxNote)
	}
	if has(format.NotedReaped) {
		r.Reaped = rnd.Uint32()
	}
	if has(format.NotedSubmitted) {
		r.Submitted = rnd.Int64N(1e15)
	}
	if has(format.NotedFlags) {
		r.Flags = 1 + rnd.Int64N(255)
	}
	if has(format.NotedBuf) {
		r.Buf = uint16(rnd.Uint32())
	}
	if has(format.NotedSlot) {
		r.Slot = rnd.Uint32()
	}
	if has(format.NotedRW) {
		r.RW = 1 + rnd.Int64N(0x3f)
	}
	if n.Has == 0 {
		return nil
	}
	return n
}

// Requests of any operation are read as they were printed.
func TestRequestsAreRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var events []format.Event
	for op := format.OpNone + 1; op.Valid(); op++ {
		if op.Info().Result == format.ResultNone || op.Info().Effect == format.EffectFork {
			continue // a line of another operation means more than its event
		}
		for via := format.ViaCall; via <= format.ViaAIO; via++ {
			e := randomEvent(rnd, op)
			e.Via, e.Notes = via, randomRequest(rnd)
			events = append(events, e)
		}
	}
	text := printRecorded(t, &format.Header{}, events)
	got, _ := parse(t, text)
	require.Equal(t, len(events), len(got))
	require.Equal(t, text, printRecorded(t, &format.Header{}, got))
	for i := range got {
		require.Equal(t, events[i].Via, got[i].Via)
		require.Equal(t, events[i].Op, got[i].Op)
		require.Equal(t, events[i].Notes, got[i].Notes, "%v", events[i])
	}
}

// The line of a request is as the documentation says, and read by the fast parser as
// by the other one.
func TestRequestLine(t *testing.T) {
	const line = "4711 0.000102840 io_uring:pwrite64(7, 0x5581aa00, 4096, 8192) = 4096 <0.000120800> {ring=5 batch=17 reaped=12 submitted=0.000003000 flags=fixed|link buf=3}"
	want := format.Event{Op: format.OpPwrite64, Via: format.ViaUring, TID: 4711, Start: 102840, Dur: 120800, Ret: 4096, Args: [6]int64{7, 0x5581aa00, 4096, 8192},
		Notes: &format.Notes{Has: format.NotedRing | format.NotedBatch | format.NotedReaped | format.NotedSubmitted | format.NotedFlags | format.NotedBuf,
			Request: format.Request{Ring: 5, Batch: 17, Reaped: 12, Submitted: 3000, Flags: format.ReqFixed | 4, Buf: 3}}}
	require.Equal(t, want, parseOne(t, line))
	require.Equal(t, want, parseOne(t, strings.Replace(line, "7, 0x", "7,  0x", 1)), "what the fast parser leaves to the other")
	require.Equal(t, line+"\n", string(AppendEvent(nil, &want, 102840)))
	e := parseOne(t, strings.Replace(line, "io_uring:", "aio:", 1))
	require.Equal(t, format.ViaAIO, e.Via)
}

// A value that no recorder writes stays text.
func TestMalformedRequestNotes(t *testing.T) {
	for _, text := range []string{
		"ring=0", "ring=2147483648", "ring=", "ring", "ring=-1", "batch=-1", "batch=99999999999999999999", "reaped=4294967296", "reaped=x",
		"submitted=-0.000000001", "submitted=1e9", "submitted=99999999999999", "flags=", "flags=0", "flags=nosuch", "buf=65536", "slot=4294967296", "rwf=RWF_",
		"ring=1 ring=2",
	} {
		e := parseOne(t, "1 0.000000000 io_uring:fsync(3) = 0 <0.000000001> {"+text+"}")
		require.NotNil(t, e.Notes, text)
		last := text[strings.LastIndexByte(text, ' ')+1:]
		require.Equal(t, last, string(e.Notes.Text), text)
	}
}

// A word before a colon that is no way to ask for an operation makes no request.
func TestMalformedRequests(t *testing.T) {
	for _, line := range []string{
		"1 0.000000000 nosuch:fsync(3) = 0 <0.000000001>",
		"1 0.000000000 io_uring:(3) = 0 <0.000000001>",
		"1 0.000000000 io_uring::fsync(3) = 0 <0.000000001>",
		"1 0.000000000 io_uring:aio:fsync(3) = 0 <0.000000001>",
		"1 0.000000000 :fsync(3) = 0 <0.000000001>",
		"1 0.000000000 aio:fsync 3 = 0 <0.000000001>",
	} {
		_, err := readAll(NewReader(strings.NewReader("# pianola script 1\n"+line+"\n"), "x"), 4)
		require.Error(t, err, line)
	}
	// A later recorder can know more operations.
	events, r := parse(t, "# pianola script 1\n1 0.000000000 io_uring:nosuch(3) = 0 <0.000000001>\n")
	require.Empty(t, events)
	require.Equal(t, format.Skipped{"nosuch": 1}, r.Skipped)
	// futex is a wait of strace, and no request.
	events, _ = parse(t, "# pianola script 1\n1 0.000000000 io_uring:futex(0x10, FUTEX_WAIT, 1, NULL) = 0 <0.100000000>\n")
	require.Empty(t, events)
}

// strace shows the calls for requests in its own way, and no requests.
func TestStraceOfRings(t *testing.T) {
	events, r := parse(t, `1 0.000010 io_uring_setup(8, {flags=0, sq_thread_cpu=0, sq_entries=8}) = 3 <0.000010>
1 0.000010 io_uring_enter(3, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1 <0.000010>
1 0.000010 io_submit(0x7f00, 1, [{aio_data=0, aio_lio_opcode=IOCB_CMD_PREAD}]) = 1 <0.000010>
1 0.000010 close(3) = 0 <0.000010>
`)
	require.Len(t, events, 1)
	require.Equal(t, format.Skipped{"io_uring_setup": 1, "io_uring_enter": 1, "io_submit": 1}, r.Skipped)
}
