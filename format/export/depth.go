package export

import "pianola/format"

// depth finds the maximum number of requests of each kind in flight. Memory grows with
// that number.
type depth struct {
	ends [format.NumVias]format.Heap[int64] // of those in flight, the earliest first
	most [format.NumVias]int
}

// add adds an event. Starts do not decrease.
func (d *depth) add(e *format.Event) {
	if e.Via == format.ViaCall || e.Via >= format.NumVias {
		return
	}
	of := &d.ends[e.Via]
	for len(of.Items) > 0 && of.Items[0] <= e.Start {
		of.Pop()
	}
	of.Push(e.End())
	d.most[e.Via] = max(d.most[e.Via], len(of.Items))
}
