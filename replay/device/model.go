// Package device has models of storage devices: from the measured or recorded duration of
// a call they predict its duration on another device.
//
//	latency=CLASS-or-OP:SPEC ──► what one call takes, by its operation
//	iops, bandwidth          ──► servers that all calls share, one after the other
//	queue                    ──► how many calls are in service at a time
package device

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pianola/format"
)

// Model is the rules of a device. The zero Model changes nothing. A Model in use must
// not be changed; concurrent replays may share it.
type Model struct {
	byOp    [format.NumOps]*latency
	byClass [format.NumClasses]*latency

	Bandwidth int64   // bytes per second that reads and writes move together; 0 for any number
	IOPS      float64 // reads, writes and syncs per second, together; 0 for any number
	Queue     int     // reads, writes and syncs that are in service at a time; 0 for any number

	Fitted *Fitted // times of calls before the rules above change them; nil for the measured times
}

// MaxQueue is the longest queue.
const MaxQueue = 1 << 10

// latency is the duration of a call: factor times its measured duration plus added
// nanoseconds, or drawn from a distribution.
type latency struct {
	factor float64
	added  int64
	points []point // in rising order; nil without a distribution
}

// point is a percentile of a distribution.
type point struct {
	part  float64 // 0 to 1
	value float64 // above 0: nanoseconds, or a factor
}

// classes are those that a rule can name, as a profile does.
var classes = map[string][]format.Class{
	"read": {format.ClassRead}, "write": {format.ClassWrite}, "sync": {format.ClassSync},
	"metadata": {format.ClassOpen, format.ClassClose, format.ClassMetadata},
}

// AddLatency adds a rule: WHAT:x0.5, WHAT:+200us or WHAT:p50:100us,p99:2ms. WHAT
// is read, write, sync, metadata or the name of an operation, whose rule takes
// the place of its class's.
func (m *Model) AddLatency(text string) error {
	what, spec, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("%q is not WHAT:xFACTOR, WHAT:+TIME or WHAT:p50:TIME,p99:TIME", text)
	}
	l, err := parseLatency(spec)
	if err != nil {
		return err
	}
	if list, ok := classes[what]; ok {
		for _, c := range list {
			if m.byClass[c] != nil {
				return fmt.Errorf("%s has two rules", what)
			}
			m.byClass[c] = l
		}
		return nil
	}
	op, ok := format.Lookup([]byte(what))
	switch {
	case !ok || !onFiles(op):
		return fmt.Errorf("%q is not read, write, sync, metadata or an operation on files", what)
	case m.byOp[op] != nil:
		return fmt.Errorf("%s has two rules", what)
	}
	m.byOp[op] = l
	return nil
}

func onFiles(op format.Op) bool {
	switch op.Info().Class {
	case format.ClassMemory, format.ClassProcess, format.ClassSubmit:
		return false
	}
	return true
}

func parseLatency(spec string) (*latency, error) {
	l := &latency{factor: 1}
	switch {
	case strings.HasPrefix(spec, "x"):
		v, err := strconv.ParseFloat(spec[1:], 64)
		if err != nil || !(v >= 0) || v > 1e6 {
			return nil, fmt.Errorf("%q is not a factor (want for example x0.5 or x2)", spec)
		}
		l.factor = v
	case strings.HasPrefix(spec, "+"):
		d, err := parseTime(spec[1:])
		if err != nil {
			return nil, err
		}
		l.added = d
	case strings.HasPrefix(spec, "p"):
		return l, l.parsePoints(spec)
	default:
		return nil, fmt.Errorf("%q is neither xFACTOR nor +TIME nor p50:TIME,p99:TIME", spec)
	}
	return l, nil
}

// parsePoints parses p50:100us,p99:2ms.
func (l *latency) parsePoints(spec string) error {
	for text := range strings.SplitSeq(spec, ",") {
		name, value, _ := strings.Cut(text, ":")
		percent, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if err != nil || !strings.HasPrefix(name, "p") || !(percent >= 0 && percent <= 100) {
			return fmt.Errorf("%q is not a percentile (want for example p50:100us)", text)
		}
		d, err := parseTime(value)
		if err != nil {
			return err
		}
		p := point{percent / 100, max(float64(d), 1)}
		if n := len(l.points); n > 0 && (p.part <= l.points[n-1].part || p.value < l.points[n-1].value) {
			return fmt.Errorf("%q: percentiles and their times rise", spec)
		}
		l.points = append(l.points, p)
	}
	return nil
}

// parseTime parses a time that is not negative, of an hour at most.
func parseTime(text string) (nanos int64, err error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > time.Hour {
		return 0, fmt.Errorf("%q is not a time (want for example 200us or 2ms)", text)
	}
	return int64(d), nil
}

// SetBandwidth parses a number of bytes per second: 200MB/s, 1GiB/s.
func (m *Model) SetBandwidth(text string) error {
	size, ok := strings.CutSuffix(text, "/s")
	v, err := format.ParseSize(size)
	if err != nil || v <= 0 || !ok {
		return fmt.Errorf("%q is not a bandwidth (want for example 200MB/s)", text)
	}
	m.Bandwidth = v
	return nil
}

// SetIOPS parses a number of calls per second.
func (m *Model) SetIOPS(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("%q is not a number above 0", text)
	}
	m.IOPS = v
	return nil
}

// SetQueue parses a number of calls.
func (m *Model) SetQueue(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > MaxQueue {
		return fmt.Errorf("%q is not a number from 1 to %d", text, MaxQueue)
	}
	m.Queue = v
	return nil
}

// Clone returns a copy that may be changed, of nil a new Model.
func (m *Model) Clone() *Model {
	if m == nil {
		return &Model{}
	}
	c := *m
	return &c
}

// ErrFaster is the error of a model that makes calls faster although their real time is
// part of the result.
var ErrFaster = errors.New("a model makes calls faster only over memory, as a factor of their recorded durations")

// SlowerOnly returns ErrFaster if a rule says that calls take less time than
// they took. A distribution does not: over a real device it only makes calls
// slower.
func (m *Model) SlowerOnly() error {
	for _, l := range slices.Concat(m.byOp[:], m.byClass[:]) {
		if l != nil && l.factor < 1 {
			return ErrFaster
		}
	}
	return nil
}

// of returns the rule of an operation, nil for none.
func (m *Model) of(op format.Op) *latency {
	if l := m.byOp[op]; l != nil {
		return l
	}
	return m.byClass[op.Info().Class]
}
