package format

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Pace is how fast a replay plays a recording. The zero value is the pace of the
// recording itself.
type Pace struct {
	Speed     float64 // divides compute, and the delays of edges; 0 stands for 1
	Schedule  bool    // events are due at their recorded times, divided by Speed
	Unordered bool    // no event waits for those of other threads
	Timed     bool    // messages of what is not recorded come at their times, not after replies
}

// PaceOf returns the pace of the replay whose log has a header. It is the zero value if
// the header is not that of a log, if the speed is 1, and for a replay as fast as
// possible, which leaves compute out.
func PaceOf(h *Header) Pace {
	words := replayWords(h)
	v, err := strconv.ParseFloat(words["speed"], 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) || v == 1 || words["timing"] == "afap" {
		return Pace{}
	}
	return Pace{Speed: v, Schedule: words["timing"] == "schedule", Unordered: words["order"] == "thread", Timed: words["outside"] == "timed"}
}

// Interrupted reports whether the header is that of the log of a replay that did not play all events.
func (h *Header) Interrupted() bool { return replayWords(h)["interrupted"] == "true" }

// replayWords returns the options of the replay whose log has a header, nil for a header
// that is not that of a log.
func replayWords(h *Header) map[string]string {
	text, ok := h.Value(MetaReplay)
	if !ok {
		return nil
	}
	words := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		words[key] = value
	}
	return words
}

// Recorded reports whether the pace is that of the recording.
func (p *Pace) Recorded() bool { return p.Speed == 0 || p.Speed == 1 }

// Ignores reports whether edges of a kind are not waited for.
func (p *Pace) Ignores(k EdgeKind) bool {
	return k == EdgeReply && p.Timed || k == EdgeArrival && !p.Timed || k.Commits()
}

// maxPaced bounds times at a pace, so that a sum of two never overflows.
const maxPaced = 1 << 60

// Scale returns compute, or a delay, at the pace, at least 0. It saturates, because a
// trace can be wrong.
func (p *Pace) Scale(nanos int64) int64 {
	return int64(min(max(float64(nanos)/p.Speed, 0), maxPaced))
}

// Floor is the minimum time of a replay of a trace, in nanoseconds: the longest chain
// of compute and waits if calls took no time, or the recorded start of the last event of a
// replay by the recorded schedule, or for how long the processors of a replayed server
// were busy.
type Floor struct {
	Total int64
	Of    FloorKind // only the first kind has parts

	// Parts of Total. The rest is compute, and time in which threads waited for a
	// processor that another recorded thread had.
	Timers  int64 // until a time had come
	Storage int64 // I/O that the recording does not hold
	Clients int64 // time of unrecorded clients from a reply to their next message
	Waits   int64 // waits without a known cause
}

// FloorKind is what a replay cannot be shorter than.
type FloorKind uint8

// The kinds of floors.
const (
	FloorOfChain      FloorKind = iota // compute and waits
	FloorOfSchedule                    // the recorded schedule
	FloorOfProcessors                  // what a processor did for the threads of a server, in the mean, calls included
)

// floorKinds are words for the kinds, but the first, in a header, and sentences.
var floorKinds = [...]struct{ name, binds, as string }{
	FloorOfSchedule:   {"schedule", "the recorded schedule binds", ", as it follows the recorded schedule"},
	FloorOfProcessors: {"processors", "the processors of the server bind", ", as the processors of the server are busy for so long"},
}

// floorNames are the names of the fields in a header, in their order.
var floorNames = [...]string{"total", "timers", "storage", "clients", "waits"}

// fields returns pointers to the fields, in their order.
func (f *Floor) fields() [len(floorNames)]*int64 {
	return [...]*int64{&f.Total, &f.Timers, &f.Storage, &f.Clients, &f.Waits}
}

// Sum sets f to the sums of the parts of g and h.
func (f *Floor) Sum(g, h *Floor) {
	f.Total, f.Timers, f.Storage = g.Total+h.Total, g.Timers+h.Timers, g.Storage+h.Storage
	f.Clients, f.Waits = g.Clients+h.Clients, g.Waits+h.Waits
}

// Plus returns the sums of the parts.
func (f Floor) Plus(g Floor) Floor {
	f.Sum(&f, &g)
	return f
}

// Minus returns the differences of the parts.
func (f Floor) Minus(g Floor) Floor {
	f.Total, f.Timers, f.Storage = f.Total-g.Total, f.Timers-g.Timers, f.Storage-g.Storage
	f.Clients, f.Waits = f.Clients-g.Clients, f.Waits-g.Waits
	return f
}

// At returns the floor at a speed, which divides all of it. Only that of processors contains calls, and it is
// known from a replay at that speed.
func (f Floor) At(speed float64) Floor {
	p := Pace{Speed: speed}
	if p.Recorded() {
		return f
	}
	for _, nanos := range f.fields() {
		*nanos = p.Scale(*nanos)
	}
	return f
}

// String returns the value of MetaFloor.
func (f Floor) String() string {
	var words []string
	for i, nanos := range f.fields() {
		words = append(words, floorNames[i]+"="+string(AppendSeconds(nil, *nanos)))
	}
	if f.Of != FloorOfChain {
		words = append(words, "of="+floorKinds[f.Of].name)
	}
	return strings.Join(words, " ")
}

// floorKindOf returns the kind of a name, FloorOfChain for an unknown one.
func floorKindOf(name string) FloorKind {
	for k := range floorKinds {
		if floorKinds[k].name == name {
			return FloorKind(k)
		}
	}
	return FloorOfChain
}

// Floor returns the floor of a trace; ok is false if the trace does not tell.
func (h *Header) Floor() (f Floor, ok bool) {
	text, ok := h.Value(MetaFloor)
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		if name == "of" {
			f.Of = floorKindOf(value)
			continue
		}
		i := slices.Index(floorNames[:], name)
		if nanos, _, err := ScanSeconds([]byte(value)); i >= 0 && err == nil {
			*f.fields()[i] = max(nanos, 0)
		}
	}
	return f, ok
}

// ReplayFloor returns the floor of the replay whose log has the header, at its speed. ok is
// false if the header is not that of a log, if it does not tell, or if the replay does
// not keep to the floor, as one with other groups of commits.
func (h *Header) ReplayFloor() (f Floor, ok bool) {
	words := replayWords(h)
	scheduled := words["timing"] == "schedule"
	if !scheduled && (words["timing"] != "compute" || words["order"] == "thread") {
		return f, false
	}
	if f, ok = h.Floor(); !ok || scheduled != (f.Of == FloorOfSchedule) {
		return Floor{}, false
	}
	if g, ok := h.Grouping(); ok && g.Recorded > 0 && f.Of == FloorOfChain {
		return Floor{}, false
	}
	if pace := PaceOf(h); !pace.Recorded() {
		f = f.At(pace.Speed)
	}
	return f, true
}

// floorPart is a part of a floor, in words.
type floorPart struct {
	nanos int64
	what  string
}

func (f Floor) parts() []floorPart {
	return []floorPart{{f.Timers, "timers"}, {f.Storage, "I/O that was not recorded"}, {f.Clients, "clients that were not recorded"}, {f.Waits, "waits without a known cause"}}
}

// Compute returns what no part of the floor has: compute, mostly.
func (f Floor) Compute() int64 {
	if f.Of == FloorOfSchedule {
		return 0
	}
	rest := f.Total
	for _, part := range f.parts() {
		rest -= part.nanos
	}
	return rest
}

// bindingShare is the share of a floor from which on Binding names a part.
const bindingShare = 0.05

// Binding says what makes up the floor and that it binds something: "timers and compute
// bind". It ends with the verb.
func (f Floor) Binding() string {
	if f.Of != FloorOfChain {
		return floorKinds[f.Of].binds
	}
	compute := f.Compute()
	var words []string
	for _, part := range f.parts() {
		if float64(part.nanos) >= bindingShare*float64(f.Total) {
			words = append(words, part.what)
		}
	}
	if float64(compute) >= bindingShare*float64(f.Total) {
		words = append(words, "compute")
	}
	switch n := len(words); {
	case n == 1 && words[0] == "compute":
		return "compute binds"
	case n <= 1:
		return strings.Join(words, "") + " bind"
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1] + " bind"
	}
}

// Text describes the floor and its parts, in a sentence without a full stop.
func (f Floor) Text() string {
	seconds := func(nanos int64) string { return fmt.Sprintf("%.3f s", Seconds(nanos)) }
	text := "the replay cannot be shorter than " + seconds(f.Total)
	text += floorKinds[f.Of].as
	sep := ", of which "
	for _, part := range f.parts() {
		if part.nanos*1000 >= f.Total && part.nanos > 0 {
			text += sep + seconds(part.nanos) + " " + part.what
			sep = ", "
		}
	}
	return text
}
