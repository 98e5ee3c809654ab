package format

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Cost is the time that recording costs the application, in nanoseconds. A recording
// states it twice: at its start as measured with a loop of calls, and at its end as
// measured while the application ran.
type Cost struct {
	// Inside is how much longer the recorded duration of an event is than the
	// call takes without a recorder. It can be negative, because the recorded
	// duration lacks the way into the kernel and back.
	Inside int64

	// Outside is the time that an event adds between the recorded durations.
	Outside int64

	// Rich is added to Outside if more than registers is recorded (Op.Rich).
	Rich int64

	// Call is the time that an unrecorded call adds.
	Call int64

	// Span is the time that a recorded call of a library adds.
	Span int64

	// Switch is the time added when a thread leaves the processor, is woken and comes
	// back.
	Switch int64

	// Message is the time that an event adds that moved a message on a socket.
	Message int64
}

// Around returns the cost of an event outside its duration.
func (c Cost) Around(op Op) int64 {
	if op.Rich() {
		return c.Outside + c.Rich
	}
	return c.Outside
}

// Before returns the cost of recording between the thread's previous event and e: of
// calls that are not recorded and, if the thread was off the processor, of one switch.
// It also has that of a message, although that is inside the duration. Around has the cost
// that belongs to the previous event.
func (c Cost) Before(e *Event) int64 {
	cost := int64(0)
	if e.Calls != 0 {
		cost = min(e.Calls, MaxNote/max(c.Call, 1)) * c.Call
	}
	if !e.Off.IsZero() {
		cost += c.Switch
	}
	if e.Notes.Known(NotedMessage) {
		cost += c.Message
	}
	return cost
}

// fields returns the words of MetaCost with pointers to their values.
func (c *Cost) fields() [7]struct {
	key   string
	value *int64
} {
	return [...]struct {
		key   string
		value *int64
	}{{"inside", &c.Inside}, {"outside", &c.Outside}, {"rich", &c.Rich}, {"call", &c.Call}, {"switch", &c.Switch}, {"message", &c.Message}, {"span", &c.Span}}
}

// String returns the value of MetaCost.
func (c Cost) String() string {
	var b []byte
	for i, f := range c.fields() {
		if i > 2 && *f.value == 0 {
			continue // recorders that do not measure it
		}
		if i > 0 {
			b = append(b, ' ')
		}
		b = fmt.Appendf(b, "%s=%d", f.key, *f.value)
	}
	return string(b)
}

// Costs are the recorder's costs by thread. A recording has one cost for all threads. One
// that was merged from recordings of several nodes has one for the threads of each node.
type Costs []threadsCost

// threadsCost is the cost of the threads with ids above a number.
type threadsCost struct {
	above int32
	Cost
}

// Of returns the cost of recording a thread, 0 if unknown. The caller must not change it.
func (c Costs) Of(tid int32) *Cost {
	if len(c) == 0 {
		return &noCost
	}
	after := sort.Search(len(c), func(i int) bool { return c[i].above >= tid })
	return &c[max(after-1, 0)].Cost
}

var noCost Cost

// maxCosts bounds Costs: as many as a run has nodes.
const maxCosts = 256

// Costs returns the recorder's costs. If the header states two for the same threads, the
// last one counts, which was measured while the application ran; the header must be
// complete for that.
func (h *Header) Costs() (all Costs) {
	all = Costs{{}}
	for _, m := range h.Meta {
		if m.Key != MetaCost {
			continue
		}
		c := parseCost(m.Value)
		i, known := slices.BinarySearchFunc(all, c.above, func(c threadsCost, above int32) int { return cmp.Compare(c.above, above) })
		switch {
		case known:
			all[i] = c
		case len(all) < maxCosts && i > 0:
			all = slices.Insert(all, i, c)
		}
	}
	return all
}

// Cost returns the recorder's cost of a recording that was not merged.
func (h *Header) Cost() Cost { return h.Costs()[0].Cost }

// AddCost adds the cost of recording threads with ids above a number.
func (h *Header) AddCost(c Cost, above int32) {
	text := c.String()
	if above != 0 {
		text += fmt.Sprintf(" above=%d", above)
	}
	h.Meta = append(h.Meta, Meta{MetaCost, text})
}

// parseCost parses a value of MetaCost. Words that are not understood count as 0.
func parseCost(text string) (c threadsCost) {
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 32)
		if key == "above" {
			c.above = int32(n)
		}
		for _, f := range c.fields() {
			if f.key == key {
				*f.value = n
			}
		}
	}
	return c
}
