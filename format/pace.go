package format

import (
	"math"
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
	return k == EdgeReply && p.Timed || k == EdgeArrival && !p.Timed
}

// maxPaced bounds times at a pace, so that a sum of two never overflows.
const maxPaced = 1 << 60

// Scale returns compute, or a delay, at the pace, at least 0. It saturates, because a
// trace can be wrong.
func (p *Pace) Scale(nanos int64) int64 {
	return int64(min(max(float64(nanos)/p.Speed, 0), maxPaced))
}
