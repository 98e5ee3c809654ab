package format

import (
	"fmt"
	"strconv"
	"strings"
)

// Cost is the time that recording one event costs the application, in
// nanoseconds.
type Cost struct {
	// Inside is how much longer the recorded duration is than the call takes
	// without a recorder. It can be negative, because the recorded duration
	// lacks the way into the kernel and back.
	Inside int64

	// Outside is the time added between the recorded durations.
	Outside int64

	// Rich is added to Outside if more than registers is recorded (Op.Rich).
	Rich int64
}

// Around returns the cost of an event outside its duration.
func (c Cost) Around(op Op) int64 {
	if op.Rich() {
		return c.Outside + c.Rich
	}
	return c.Outside
}

// String returns the value of MetaCost.
func (c Cost) String() string {
	return fmt.Sprintf("inside=%d outside=%d rich=%d", c.Inside, c.Outside, c.Rich)
}

// Cost returns the recorder's cost of an event, 0 if unknown.
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
