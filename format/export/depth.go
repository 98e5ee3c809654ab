package export

import (
	"container/heap"

	"pianola/format"
)

// depth finds the maximum number of requests of each kind in flight. Memory grows with
// that number.
type depth struct {
	ends [format.NumVias]ends
	most [format.NumVias]int
}

// add adds an event. Starts do not decrease.
func (d *depth) add(e *format.Event) {
	if e.Via == format.ViaCall || e.Via >= format.NumVias {
		return
	}
	of := &d.ends[e.Via]
	for len(*of) > 0 && (*of)[0] <= e.Start {
		heap.Pop(of)
	}
	heap.Push(of, e.End())
	d.most[e.Via] = max(d.most[e.Via], len(*of))
}

// ends is a heap of times, the earliest first.
type ends []int64

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i] < h[j] }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
