package format_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// call is a call of thread 1 that submits n requests.
func call(start, dur, ring, batch, n int64) format.Event {
	e := format.Event{Op: format.OpUringEnter, TID: 1, Start: start, Dur: dur, Ret: n}
	e.Notes = &format.Notes{Has: format.NotedRing | format.NotedBatch, Request: format.Request{Ring: int32(ring), Batch: batch}}
	return e
}

// request is a request of thread 1 for a read at an offset.
func request(start, dur, ring, batch, offset int64) format.Event {
	e := format.Event{Op: format.OpPread64, Via: format.ViaUring, TID: 1, Start: start, Dur: dur, Args: [format.MaxArgs]int64{3, 0, 1, offset}}
	e.Notes = &format.Notes{Has: format.NotedRing | format.NotedBatch, Request: format.Request{Ring: int32(ring), Batch: batch}}
	return e
}

func other(tid int32, start int64) format.Event {
	return format.Event{Op: format.OpClose, TID: tid, Start: start, Dur: 1, Args: [format.MaxArgs]int64{3}}
}

// submitted returns the order of events: requests by their offsets and the numbers of
// their completions, calls by their batches.
func submitted(t *testing.T, size int, events ...format.Event) string {
	once := format.Submissions(&testkit.Reader{Events: events, Batch: 3, Err: io.EOF})
	r := format.Submissions(once) // what has its place keeps it
	var words []string
	for batch := make([]format.Event, size); ; {
		n, err := r.Read(batch)
		for _, e := range batch[:n] {
			switch {
			case e.Via != format.ViaCall:
				words = append(words, fmt.Sprintf("r%d/%d", e.Args[3], e.Notes.Request.Order))
			case e.Op == format.OpUringEnter:
				words = append(words, fmt.Sprintf("c%d@%d", e.Notes.Request.Batch, e.Start))
			default:
				words = append(words, e.Op.String())
			}
		}
		if n == 0 {
			require.Error(t, err)
			return strings.Join(words, " ")
		}
	}
}

// Requests that are linked have the number of their chain.
func TestChains(t *testing.T) {
	var events []format.Event
	for i, flags := range []int64{0, format.ReqLink, format.ReqHardLink, 0, 0, format.ReqLink, 0} {
		r := request(11+int64(i), 2, 1, 1, int64(i))
		r.Notes.Request.Flags = flags
		events = append(events, r)
	}
	r := format.Submissions(&testkit.Reader{Events: append(events, call(10, 20, 1, 1, 7)), Batch: 3, Err: io.EOF})
	var chains []int32
	for batch := make([]format.Event, 3); ; {
		n, err := r.Read(batch)
		for _, e := range batch[:n] {
			require.True(t, e.Notes.Known(format.NotedPlaced))
			chains = append(chains, e.Notes.Request.Chain)
		}
		if err != nil {
			break
		}
	}
	require.Equal(t, []int32{0, 1, 1, 1, 0, 2, 2, 0}, chains)
}

func TestSubmissions(t *testing.T) {
	poll := format.Event{Op: format.OpUringSetup, TID: 1, Args: [format.MaxArgs]int64{8, 2}, Ret: 4,
		Notes: &format.Notes{Has: format.NotedRing, Request: format.Request{Ring: 1}}}
	skipped := request(12, 5, 1, 1, 9)
	skipped.Notes.Request.Flags = format.ReqSkip
	for _, c := range []struct {
		what   string
		events []format.Event
		want   string
	}{
		{"calls alone", []format.Event{other(1, 0), other(2, 1)}, "close close"},
		{"complete within the call", []format.Event{request(11, 2, 1, 1, 0), call(10, 20, 1, 1, 1), other(1, 40)}, "r0/1 c1@10 close"},
		{"complete later, in another order", []format.Event{call(10, 5, 1, 1, 2), other(1, 20), request(12, 30, 1, 1, 1), request(11, 60, 1, 1, 0)},
			"r0/2 r1/1 c1@10 close"},
		{"two calls in flight", []format.Event{call(10, 5, 1, 1, 1), call(20, 5, 1, 2, 1), request(21, 5, 1, 2, 1), request(11, 60, 1, 1, 0)},
			"r0/2 c1@10 r1/1 c2@20"},
		{"rings count apart", []format.Event{call(10, 5, 1, 1, 1), call(20, 5, 2, 2, 1), request(21, 5, 2, 2, 1), request(11, 60, 1, 1, 0)},
			"r0/1 c1@10 r1/1 c2@20"},
		{"never complete", []format.Event{call(10, 5, 1, 1, 2), request(11, 5, 1, 1, 0), other(1, 50)}, "r0/1 c1@10 close"},
		{"polled", []format.Event{poll, request(11, 2, 1, 1, 0), other(2, 40)}, "io_uring_setup r0/1 c1@11 close"},
		{"call not recorded", []format.Event{request(11, 2, 1, 1, 0), other(2, 12), other(1, 40)}, "r0/1 c1@11 close close"},
		{"without a completion of its own", []format.Event{call(10, 5, 1, 1, 2), skipped, request(11, 60, 1, 1, 0)}, "r0/1 r9/0 c1@10"},
	} {
		t.Run(c.what, func(t *testing.T) {
			for size := 1; size < 6; size++ {
				require.Equal(t, c.want, submitted(t, size, c.events...), "%d at a time", size)
			}
		})
	}
}

// A call waits for its requests no longer than the window is.
func TestSubmissionsWindow(t *testing.T) {
	events := []format.Event{call(10, 5, 1, 1, 1)}
	for i := range int64(1<<16 + 10) {
		events = append(events, other(2, 20+i))
	}
	events = append(events, request(11, 1<<20, 1, 1, 7))
	all := submitted(t, 100, events...)
	require.True(t, strings.HasPrefix(all, "c1@10 close"))
	require.True(t, strings.HasSuffix(all, "close r7/1 c1@11"))
}
