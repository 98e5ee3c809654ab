package record

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/bpftest"
)

// collect is a Sink that keeps everything.
type collect struct {
	off     bool // keep the notes of time off the processor, which chance decides
	headers []*format.Header
	events  []format.Event
}

func (c *collect) WriteHeader(h *format.Header) error {
	c.headers = append(c.headers, h)
	return nil
}

func (c *collect) Write(events []format.Event) error {
	for i := range events {
		e := events[i].Clone()
		if !c.off {
			e.Off = 0
		}
		c.events = append(c.events, e)
	}
	return nil
}

// of returns the events of an operation, in order.
func (c *collect) of(op format.Op) (events []format.Event) {
	for _, e := range c.events {
		if e.Op == op {
			events = append(events, e)
		}
	}
	return events
}

// named returns the events whose string number n is name.
func (c *collect) named(n int, name string) (events []format.Event) {
	for _, e := range c.events {
		if string(e.Str[n]) == name && e.Str[n] != nil {
			events = append(events, e)
		}
	}
	return events
}

// one returns the only event of an operation with that first string.
func (c *collect) one(t *testing.T, op format.Op, name string) format.Event {
	t.Helper()
	events := slices.DeleteFunc(c.named(0, name), func(e format.Event) bool { return e.Op != op })
	require.Len(t, events, 1, "%s of %q", op, name)
	return events[0]
}

// record is recordAlways, unless tests are to be short: to attach takes long, and
// what is in one recording more says nothing about concurrency.
func record(t *testing.T, o Options, s Sink) (Result, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: one recording of many")
	}
	return recordAlways(t, o, s)
}

// recordAlways records a command in a new directory, and returns what was written
// to standard output, too.
func recordAlways(t *testing.T, o Options, s Sink) (Result, string) {
	t.Helper()
	bpftest.Require(t)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	out, err := os.CreateTemp(t.TempDir(), "stdout")
	require.NoError(t, err)
	defer out.Close()
	if o.Stdout == nil {
		o.Stdout = out
	}
	if o.RingBytes == 0 {
		o.RingBytes = 1 << 20
	}
	r, err := Run(context.Background(), o, s)
	require.NoError(t, err)
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return r, string(text)
}

func shell(script string) Options { return Options{Command: []string{"/bin/sh", "-c", script}} }

// python returns options for a python3 program, and skips where there is none.
func python(t *testing.T, lines ...string) Options {
	t.Helper()
	// A wrapper of the name would do I/O of its own.
	for _, path := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(path); err == nil {
			return Options{Command: []string{path, "-S", "-c", strings.Join(lines, "\n")}}
		}
	}
	t.Skip("no python3")
	return Options{}
}
