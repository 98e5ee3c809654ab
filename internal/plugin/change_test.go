package plugin

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// readTrace is a trace whose threads make reads of growing offsets.
type readTrace struct {
	texts
	events int64
	fault  error // after the events; nil for io.EOF
}

func (r *readTrace) Len(int32) int64                   { return r.events }
func (r *readTrace) Records(int32) format.RecordReader { return &readsOf{of: r} }

type readsOf struct {
	of *readTrace
	at int64
}

func (r *readsOf) Read(records []format.Record) (n int, err error) {
	left := r.of.events - r.at
	if r.of.fault != nil {
		left = r.of.events/2 - r.at
	}
	for n = 0; n < len(records) && int64(n) < left; n++ {
		records[n] = readAt(r.at + int64(n))
	}
	if r.at += int64(n); n > 0 {
		return n, nil
	}
	if r.of.fault != nil {
		return 0, r.of.fault
	}
	return 0, io.EOF
}

func readAt(event int64) format.Record {
	return format.Record{Op: format.OpPread64, Ret: 10, Args: [format.MaxArgs]int64{3, 0x1000, 10, 10 * event}}
}

func changing(t *testing.T, command string, threads int, events int64) *Changes {
	p := shell(t, command)
	p.Timeout = patience(command)
	of := &readTrace{texts: *trace(threads), events: events}
	c, err := p.Changes(t.Context(), of)
	require.NoError(t, err)
	return c
}

// all returns the changes of a thread, as its worker gets them.
func all(t *testing.T, c *Changes, thread int32) (list []format.Change) {
	for from := int64(0); from < c.trace.Len(thread); {
		changes, until, _, err := c.Await(thread, from, nil)
		require.NoError(t, err)
		require.Greater(t, until, from)
		for _, one := range changes {
			require.GreaterOrEqual(t, one.Event, from)
			require.Less(t, one.Event, until)
			from = one.Event
		}
		list, from = append(list, changes...), until
	}
	return list
}

// A program that copies its input changes nothing, however long the threads are.
func TestChangesOfNothing(t *testing.T) {
	t.Parallel()
	c := changing(t, "exec cat", 3, 2000)
	for thread := int32(1); thread <= 3; thread++ {
		require.Empty(t, all(t, c, thread))
	}
	require.NoError(t, c.Close())
}

// Lines are inserted before events that have not begun, at most as far ahead as the program sees.
func TestChangesAhead(t *testing.T) {
	t.Parallel()
	const events = 1000
	c := changing(t, `awk '/at=/ { split($0, part, /at=1:|}/); to = part[2] - 256; if (to < 0) to = 0
		print "fsync ( 3 ) = 0 {before=1:" to "}"; if (part[2] == 700) print "fdatasync ( 3 ) = 0" }
		{ print; fflush() }'`, 1, events)
	list := all(t, c, 1)
	var inserted int
	for _, one := range list {
		require.False(t, one.Altered || one.Removed)
		for _, r := range one.Before {
			if inserted++; r.Op == format.OpFdatasync {
				require.EqualValues(t, 700, one.Event)
				inserted--
			}
		}
	}
	require.Equal(t, events, inserted)
	require.Len(t, list[0].Before, 257, "of the events 0 to 256")
	require.EqualValues(t, events-257, list[events-257].Event)
	require.NoError(t, c.Close())
}

// Altered events keep the memory of their buffers, and compute of a line comes before the next.
func TestChangesOfEvents(t *testing.T) {
	t.Parallel()
	c := changing(t, `sed -u -e '/at=1:5}/s/ 10 50 ) = 10/ 20 50 ) = 20/' -e '/at=1:7}/s/.*/compute ( 0.000002000 )/'`, 1, 10)
	altered := format.Record{Op: format.OpPread64, Ret: 20, Args: [format.MaxArgs]int64{3, 0x1000, 20, 50}}
	require.Equal(t, []format.Change{
		{Event: 5, Altered: true, As: altered}, {Event: 7, Removed: true}, {Event: 8, Compute: 2000},
	}, all(t, c, 1))
	require.NoError(t, c.Close())
}

// A thread can lose all of its events, or any number in a row.
func TestChangesRemoveAll(t *testing.T) {
	t.Parallel()
	c := changing(t, `sed -u '/at=2:/d'`, 2, 1500)
	list := all(t, c, 2)
	require.Len(t, list, 1500)
	for i, one := range list {
		require.Equal(t, format.Change{Event: int64(i), Removed: true}, one)
	}
	require.Empty(t, all(t, c, 1))
	require.NoError(t, c.Close())
}

func TestChangesFaults(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`sed -u 's/at=1:3/at=1:4/'`:                         "exec:test:7: at=1:4: this event is not the next one of its thread, or the line after it was copied first",
		`sed -u 's/at=1:3/at=2:3/'`:                         "exec:test:6: at=2:3 in a line of thread 1",
		`sed -u 's/at=1:3/at=1:-3/'`:                        "exec:test:6: malformed note at=1:-3",
		`sed -u 's/at=1:3/to=1:3/'`:                         "exec:test:6: unknown note in {to=1:3}",
		`sed -u 's/at=1:3/at=1:3 after=1:1/'`:               "exec:test:6: edges can't change while a replay runs",
		`sed -u 's/at=1:3/before=1:9/'`:                     "exec:test:6: before=1:9: want an event from 0 to 3",
		`sed -u 's/fed: 1:10/fed: 1:11/'`:                   "exec:test:13: # fed: 1:11 was copied twice, or in another order",
		`sed -u '/fed: 1:10/{p}'`:                           "exec:test:14: a line after the last event",
		`sed -u '/at=1:9/{p;s/.*/fsync ( 3 ) = 0/}'`:        "exec:test:14: a new line after the last event of thread 1",
		`sed -u 's/pread64/preed64/'`:                       "exec:test:3: unknown operation preed64",
		`sed -u 's/pread64 ( 3 10/stat ( nosuch/'`:          "stat: too many arguments",
		`sed -u 's/pread64 ( 3 10 [0-9]*/stat ( "nosuch"/'`: `exec:test:3: "nosuch" is not a name of the trace`,
		`sed -u 's/pread64 ( 3 10 [0-9]*/exit ( 0/'`:        "exec:test:3: exit can't change while a replay runs",
		`head -n 4`:                        "closed its output before the replay had ended",
		`cat >/dev/null; exit 3`:           "exit status 3",
		`cat; exit 3`:                      "after 13 lines: exit status 3",
		`head -n 2; yes 'fsync ( 3 ) = 0'`: "exec:test:8195: more than 8192 new lines since the last line with # fed: ",
		`head -n 2; yes '#'`:               "more than 4194304 empty lines",
		`exec sleep 1000`:                  "no progress for",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			c := changing(t, command, 1, 10)
			_, _, _, err := c.Await(1, 0, nil)
			if closed := c.Close(); err == nil {
				err = closed
			}
			require.ErrorContains(t, err, want)
		})
	}
}

// The error of a trace is told, and not that the program was killed for it.
func TestChangesOfDamagedTrace(t *testing.T) {
	t.Parallel()
	for fault, want := range map[error]string{io.ErrNoProgress: "read event 50 of thread 1: ", io.EOF: io.ErrUnexpectedEOF.Error()} {
		c, err := shell(t, "exec cat").Changes(t.Context(), &readTrace{texts: *trace(1), events: 100, fault: fault})
		require.NoError(t, err)
		_, _, _, err = c.Await(1, 0, nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, c.Close(), want)
	}
}

// A stop ends the wait for a program, and the program: that is no error.
func TestChangesStopped(t *testing.T) {
	t.Parallel()
	p := shell(t, "exec sleep 1000")
	c, err := p.Changes(t.Context(), &readTrace{texts: *trace(2), events: 5000})
	require.NoError(t, err)
	done := make(chan struct{})
	close(done)
	for thread := int32(1); thread <= 2; thread++ {
		changes, until, waited, err := c.Await(thread, 0, done)
		require.NoError(t, err)
		require.Empty(t, changes)
		require.Zero(t, until)
		require.True(t, waited)
	}
	require.NoError(t, c.Close())

	ctx, cancel := context.WithCancelCause(t.Context())
	c, err = shell(t, "exec sleep 1000").Changes(ctx, &readTrace{texts: *trace(1), events: 5000})
	require.NoError(t, err)
	cancel(fmt.Errorf("another rank has failed"))
	_, _, _, err = c.Await(1, 0, nil)
	require.ErrorContains(t, err, "another rank has failed")
	require.Error(t, c.Close())
}
