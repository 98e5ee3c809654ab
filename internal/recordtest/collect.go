// Package recordtest holds what the tests of all recorders share: a sink that
// keeps events, and the comparison of a recording with that of strace.
package recordtest

import (
	"slices"

	"pianola/format"
)

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

// Of returns the events of an operation, in order.
func (c *Collect) Of(op format.Op) (events []format.Event) {
	for _, e := range c.Events {
		if e.Op == op {
			events = append(events, e)
		}
	}
	return events
}

// Named returns the events of an operation with that first string, in order.
func (c *Collect) Named(op format.Op, name string) []format.Event {
	return slices.DeleteFunc(c.Of(op), func(e format.Event) bool { return e.Str[0] == nil || string(e.Str[0]) != name })
}
