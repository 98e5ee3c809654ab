package format

import (
	"bytes"
	"fmt"
	"strings"
)

// Clock is a measurement of how the clocks of two recordings of one run differ: that of a
// node, and that of the node with rank 0. Times are in nanoseconds.
type Clock struct {
	At     int64 // when it was measured, on the clock of this recording
	Offset int64 // to be added to a time of this recording for that of the other one
	Round  int64 // round trip of the measurement: the offset is wrong by at most a half of it
}

// String returns the value of the remark MetaClock.
func (c *Clock) String() string {
	b := AppendSeconds([]byte("at="), c.At)
	b = AppendSeconds(append(b, " offset="...), c.Offset)
	return string(AppendSeconds(append(b, " round="...), c.Round))
}

// Clocks returns the measurements of a recording, in the order of the remarks.
func (h *Header) Clocks() (all []Clock, err error) {
	for _, m := range h.Meta {
		if m.Key != MetaClock {
			continue
		}
		s := scanner{rest: []byte(m.Value)}
		var c Clock
		s.literal("at=")
		c.At = s.seconds()
		s.literal("offset=")
		c.Offset = s.seconds()
		s.literal("round=")
		c.Round = s.seconds()
		if err := s.end("clock"); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Program says of which parallel program a recording holds some ranks.
type Program struct {
	Ranks   int32  // how many it has
	Run     string // identifies the run
	Machine string // identifies the machine until it is started again; nodes can share one
}

// Program returns what the remark MetaRanks says, and false without one.
func (h *Header) Program() (p Program, ok bool) {
	text, ok := h.Value(MetaRanks)
	if !ok {
		return p, false
	}
	count, notes, _ := strings.Cut(text, " ")
	s := scanner{rest: []byte(count)}
	p.Ranks = int32(s.int(31))
	run, _ := Note([]byte(notes), "run")
	machine, _ := Note([]byte(notes), "machine")
	p.Run, p.Machine = string(bytes.Clone(run)), string(bytes.Clone(machine))
	return p, !s.failed && p.Ranks > 0
}

// String returns the value of the remark.
func (p *Program) String() string {
	return fmt.Sprintf("%d run=%s machine=%s", p.Ranks, p.Run, p.Machine)
}

// NodeName returns a name as Rank.Node has it: bytes other than printable ASCII become _.
func NodeName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c <= ' ' || c >= 0x7f {
			b[i] = '_'
		}
	}
	return string(b)
}
