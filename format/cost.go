package format

import (
	"fmt"
	"strconv"
	"strings"
)

// Cost is what it costs the application that one event is recorded, in
// nanoseconds.
type Cost struct {
	// Inside is how much longer the recorded duration is than the call takes
	// without a recorder. It can be negative, for the application also pays
	// for the way into the kernel and back, which is not recorded.
	Inside int64

	// Outside is what is added between the recorded durations.
	Outside int64

	// Rich is what is added to that where more than registers is recorded
	// (Op.Rich).
	Rich int64
}

// Around returns the cost of an event besides that inside its duration.
func (c Cost) Around(op Op) int64 {
	if op.Rich() {
		return c.Outside + c.Rich
	}
	return c.Outside
}

// String returns the cost as MetaCost has it.
func (c Cost) String() string {
	return fmt.Sprintf("inside=%d outside=%d rich=%d", c.Inside, c.Outside, c.Rich)
}

// Cost returns the recorder's cost of an event, 0 as far as it isn't known.
func (h *Header) Cost() (c Cost) {
	text, _ := h.Value(MetaCost)
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 32)
		switch key {
		case "inside":
			c.Inside = n
		case "outside":
			c.Outside = n
		case "rich":
			c.Rich = n
		}
	}
	return c
}
