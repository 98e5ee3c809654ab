package script

import (
	"testing"

	"pianola/format"
)

// BenchmarkNotes reads and prints the notes of an open, of a wait and of a request.
func BenchmarkNotes(b *testing.B) {
	r := Reader{}
	texts := [][]byte{
		[]byte(`type=reg mode=0644 size=12 cached=3 dev=8:1 ino=7 nlink=2 new ready=12000 wait=700000 calls=3`),
		[]byte(`by=4711+2000 behind=30000 off=20000`),
		[]byte(`ring=5 batch=17 reaped=12 submitted=0.000003000 flags=fixed|link`),
		[]byte(`wait=5000000`),
	}
	var e format.Event
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			r.arena, r.notes = r.arena[:0], r.notes[:0]
			e = format.Event{Op: format.OpPread64}
			r.parseNotes(&e, text)
			line = appendNotes(line[:0], &e)
		}
	}
}
