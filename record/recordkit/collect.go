// Package recordkit has the common parts of the tests of all recorders: sinks, commands to
// record, the gate for tests that need eBPF, notes as text, and the comparison of a
// recording with strace's. It is not part of package testkit because it imports package
// script, whose tests import testkit.
package recordkit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// Discard is a sink that drops everything.
type Discard struct{}

func (Discard) Write([]format.Event) error       { return nil }
func (Discard) WriteHeader(*format.Header) error { return nil }

// SinkFunc adapts a function that takes the events to a sink.
type SinkFunc func([]format.Event) error

func (f SinkFunc) Write(events []format.Event) error { return f(events) }
func (f SinkFunc) WriteHeader(*format.Header) error  { return nil }

// Collect is a sink that keeps everything.
type Collect struct {
	Headers []*format.Header
	Events  []format.Event
}

// WriteHeader keeps h.
func (c *Collect) WriteHeader(h *format.Header) error {
	c.Headers = append(c.Headers, h)
	return nil
}

// Write keeps copies of the events.
func (c *Collect) Write(events []format.Event) error {
	for i := range events {
		c.Events = append(c.Events, events[i].Clone())
	}
	return nil
}

func (c *Collect) all(keep func(*format.Event) bool) (events []format.Event) {
	for i := range c.Events {
		if keep(&c.Events[i]) {
			events = append(events, c.Events[i])
		}
	}
	return events
}

// Of returns the events with an operation, in order.
func (c *Collect) Of(op format.Op) []format.Event {
	return c.all(func(e *format.Event) bool { return e.Op == op })
}

// Named returns the events with this first string, in order.
func (c *Collect) Named(name string) []format.Event {
	return c.all(func(e *format.Event) bool { return e.Str[0] != nil && string(e.Str[0]) == name })
}

// One returns the only event with this operation and first string.
func (c *Collect) One(t *testing.T, op format.Op, name string) format.Event {
	t.Helper()
	events := c.all(func(e *format.Event) bool { return e.Op == op && e.Str[0] != nil && string(e.Str[0]) == name })
	require.Len(t, events, 1, "%s of %q", op, name)
	return events[0]
}

// Lines returns the calls of an operation as in a script, from the operation to the
// result.
func (c *Collect) Lines(op format.Op) (lines []string) {
	for _, e := range c.Of(op) {
		_, line, _ := strings.Cut(string(script.AppendEvent(nil, &e, e.Start)), " ")
		_, line, _ = strings.Cut(line, " ")
		line, _, _ = strings.Cut(line, " <")
		lines = append(lines, line)
	}
	return lines
}
