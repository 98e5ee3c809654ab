package spool

import (
	"testing"

	"pianola/format"
)

func BenchmarkNotes(b *testing.B) {
	events := several(4000)
	for i := range events {
		e := &events[i]
		e.Off.Ready, e.Off.Wait = int64(i%3)*1000, int64(i%5)*100000
		e.Compute = int64(i) * 100
		switch i % 4 {
		case 0:
			e.Notes = &format.Notes{Has: format.NotedType | format.NotedMode | format.NotedSize | format.NotedCached | format.NotedDev | format.NotedIno | format.NotedLinks,
				Type: format.TypeReg, Mode: 0o644, Size: 1234567, Cached: 5, Dev: format.Device{Major: 8, Minor: 1}, Ino: 123456, Links: 1}
		case 1:
			e.Notes = &format.Notes{Has: format.NotedWaker, Waker: 4711, Woken: 2000}
		}
	}
	b.ReportAllocs()
	var packed []byte
	var d decoder
	for b.Loop() {
		var c codec
		packed = packed[:0]
		for i := range events {
			packed = c.append(packed, &events[i])
		}
		d.begin(packed[:len(packed)+slack])
		var e format.Event
		d.reuse()
		for d.more() {
			d.next(&e)
		}
	}
	b.ReportMetric(float64(len(packed))/4000, "B/event")
}
