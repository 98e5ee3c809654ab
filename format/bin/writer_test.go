package bin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

func TestWriterRefuses(t *testing.T) {
	two := []format.Thread{{Process: 1}, {Process: 1, Parent: 1}}
	for _, c := range []struct {
		name    string
		events  []format.Event
		threads []format.Thread
		says    string
	}{
		{"thread 0", []format.Event{{Op: format.OpFsync}}, nil, "0 is not a thread number"},
		{"no operation", []format.Event{{TID: 1}}, nil, "thread 1, event 0: unknown operation 0"},
		{"unknown operation", []format.Event{{TID: 1, Op: format.OpFsync}, {TID: 1, Op: 9999}}, nil, "thread 1, event 1: unknown operation 9999"},
		{"duration", []format.Event{{TID: 1, Op: format.OpFsync, Dur: -2}}, nil, "thread 1, event 0: duration -2 ns"},
		{"wait for itself", []format.Event{{TID: 1, Op: format.OpFsync, Edges: []format.Edge{{Thread: 1}}}}, nil, "waits for event 0 of thread 1"},
		{"wait for no thread", []format.Event{{TID: 1, Op: format.OpFsync, Edges: []format.Edge{{Thread: 0}}}}, nil, "waits for event 0 of thread 0"},
		{"wait for no event", []format.Event{{TID: 1, Op: format.OpFsync, Edges: []format.Edge{{Thread: 2, Event: -1}}}}, two, "waits for event -1 of thread 2"},
		{"wait for an event after the last", []format.Event{{TID: 2, Op: format.OpFsync}, {TID: 1, Op: format.OpFsync, Edges: []format.Edge{{Thread: 2, Event: 1}}}}, two, "waits for event 1 of thread 2, whose length is 1"},
		{"thread without a row", []format.Event{{TID: 2, Op: format.OpFsync}}, nil, "thread 2 has events but no row"},
		{"parent", nil, []format.Thread{{Process: 1, Parent: 3}}, "created by thread 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			w := NewWriter(&out, new(testkit.Spool))
			err := w.Write(c.events)
			if err == nil {
				err = w.Close(&format.Header{Threads: c.threads})
			}
			require.ErrorContains(t, err, c.says)
			require.Error(t, w.Write(nil), "an error is final")
			require.Error(t, w.Close(&format.Header{}))
			require.Zero(t, out.Len())
		})
	}
}

var errFull = errors.New("no space left")

// full is a Spool and an output that takes so many bytes.
type full struct {
	testkit.Spool
	room int
}

func (f *full) Write(b []byte) (int, error) {
	if f.Len()+len(b) > f.room {
		return 0, errFull
	}
	return f.Spool.Write(b)
}

func TestWriterReportsWhatItMeets(t *testing.T) {
	events := mixed(2*rowsPerPart + 5)
	var all testkit.Spool
	w := NewWriter(&all, new(testkit.Spool))
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Close(&format.Header{}))
	require.ErrorIs(t, w.Write(events[:1]), errClosed)
	require.ErrorIs(t, w.Close(&format.Header{}), errClosed)

	for room := 0; room < all.Len()-500; room += all.Len() / 7 {
		w := NewWriter(io.Discard, &full{room: room})
		err := w.Write(events)
		if err == nil {
			err = w.Close(&format.Header{})
		}
		require.ErrorIs(t, err, errFull)
		require.ErrorContains(t, err, "write spool")

		w = NewWriter(&full{room: room}, new(testkit.Spool))
		require.NoError(t, w.Write(events))
		err = w.Close(&format.Header{})
		require.ErrorIs(t, err, errFull)
		require.NotErrorIs(t, w.Close(&format.Header{}), errFull)
	}
}

// forgetful is a Spool that does not give back what it was given.
type forgetful struct{ testkit.Spool }

func (f *forgetful) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.Spool.ReadAt(b, offset)
	if n > 0 {
		b[0] ^= 1
	}
	return n, err
}

func TestWriterChecksItsSpool(t *testing.T) {
	w := NewWriter(io.Discard, &forgetful{})
	w.maxHeld = 1000
	err := w.Write(mixed(rowsPerPart))
	require.ErrorIs(t, err, ErrChecksum)
	require.ErrorContains(t, err, "read spool")
}

// The distinct strings are bounded, not how often they come.
func TestWriterLimit(t *testing.T) {
	w := NewWriter(io.Discard, new(testkit.Spool))
	w.Limit = 10 * (stringBytes + 4)
	written := 0
	for ; written < 100; written++ {
		name := []byte(fmt.Sprintf("f%03d", written))
		e := format.Event{Op: format.OpStat, TID: 1, Str: [format.MaxStrings][]byte{name}}
		if err := w.Write([]format.Event{e, e}); err != nil {
			require.ErrorIs(t, err, ErrLimit)
			require.EqualError(t, err, "thread 1, event 20: the string table needs more memory than the limit of 1000 bytes")
			break
		}
	}
	require.Equal(t, 10, written)
}

func TestWriterKeepsNothingOfEvents(t *testing.T) {
	events := mixed(100)
	want := compiled(t, &format.Header{}, events)
	var out bytes.Buffer
	w := NewWriter(&out, new(testkit.Spool))
	for i := range events {
		e := events[i].Clone()
		require.NoError(t, w.Write([]format.Event{e}))
		for _, s := range e.Str {
			clear(s)
		}
	}
	require.NoError(t, w.Close(&format.Header{}))
	require.Equal(t, want, out.Bytes())
}

// holds returns what a row or the text holds.
func (l *layout) holds() string {
	var words []string
	for _, c := range l.words {
		if c.doc != "" {
			words = append(words, c.doc)
		}
	}
	switch all := strings.Join(words, "; "); {
	case l.doc == "":
		return all
	case all == "":
		return l.doc
	default:
		return l.doc + ": " + all
	}
}

// The page of the reference has the kinds of parts.
func TestPageOfParts(t *testing.T) {
	rows := [][]string{{"tag", "", "form", "belongs to", "holds"}}
	for i := range kinds {
		l := &kinds[i]
		required, form := "optional", "text"
		if l.required {
			required = "required"
		}
		if l.width > 0 {
			form = fmt.Sprintf("rows of %d", l.width)
		}
		rows = append(rows, []string{"`" + l.tag + "`", required, form, [...]string{whole: "trace", eachEvent: "each event", someEvents: "some events"}[l.scope], l.holds()})
	}
	testkit.Table(t, "../../docs/reference/trace.md", "### Parts", rows)
}
