package engine

import (
	"pianola/format"
	"pianola/format/schedule"
)

// timeline is the schedule of a trace, whose records it reads.
type timeline struct {
	*schedule.Schedule
	sources []*source // by the number of the thread, from 0; nil before its first event
}

func newTimeline(t format.Trace, o schedule.Options) (l *timeline, err error) {
	l = &timeline{sources: make([]*source, max(len(t.Header().Threads), 1))}
	l.Schedule, err = schedule.New(t, o, func(thread int32) (schedule.Source, error) {
		l.sources[thread-1] = newSource(t, thread)
		return l.sources[thread-1], nil
	})
	return l, err
}

// Next is that of the schedule. The record is valid until the next call.
func (l *timeline) Next() (schedule.Event, error) {
	at, err := l.Schedule.Next()
	if err == nil && at.Group == nil {
		l.sources[at.Thread-1].at++
	}
	return at, err
}

// source has the events of a thread for a schedule.
type source struct {
	records   format.RecordReader
	durations format.DurationReader
	batch     []format.Record
	nanos     []int64
	at, n     int
}

func newSource(t format.Trace, thread int32) *source {
	n := min(t.Len(thread), 256)
	return &source{records: t.Records(thread), durations: t.Durations(thread), batch: make([]format.Record, n), nanos: make([]int64, n)}
}

// Peek implements schedule.Source.
func (s *source) Peek() (*format.Record, int64, error) {
	if s.at == s.n {
		n, err := s.records.Read(s.batch)
		if err == nil {
			err = readDurations(s.durations, s.nanos[:n])
		}
		if err != nil {
			return nil, 0, err
		}
		s.at, s.n = 0, n
	}
	return &s.batch[s.at], s.nanos[s.at], nil
}
