package transform

import (
	"strconv"
	"strings"

	"pianola/format"
)

// cost is what recording an event took of the application's time, in
// nanoseconds. Compile takes it off for each event that it reads.
type cost struct {
	inside  int64 // of the event's duration
	outside int64 // besides
	rich    int64 // besides, of format.Op.Rich
}

func costOf(h *format.Header) (c cost) {
	text, _ := h.Value(format.MetaCost)
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 32)
		switch key {
		case "inside":
			c.inside = n
		case "outside":
			c.outside = n
		case "rich":
			c.rich = n
		}
	}
	return c
}

// around returns the cost of an event besides that inside its duration.
func (c *cost) around(op format.Op) int64 {
	if op.Rich() {
		return c.outside + c.rich
	}
	return c.outside
}
