package format

// Heap holds items in such an order that the least one is the first of Items. Make one with
// NewHeap. It belongs to one goroutine.
type Heap[T any] struct {
	Items []T
	less  func(a, b *T) bool
	moved func(item T, place int) // nil if no one asks for places
}

// NewHeap returns an empty heap. moved, if it is not nil, is told each new place of an item in
// Items, for Fix and Remove; -1 for one that is taken out.
func NewHeap[T any](less func(a, b *T) bool, moved func(item T, place int)) Heap[T] {
	return Heap[T]{less: less, moved: moved}
}

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	h.Items = append(h.Items, item)
	h.Fix(len(h.Items) - 1)
}

// Pop takes the least item out.
func (h *Heap[T]) Pop() T { return h.Remove(0) }

// Remove takes the item at a place out.
func (h *Heap[T]) Remove(place int) T {
	last := len(h.Items) - 1
	h.Items[place], h.Items[last] = h.Items[last], h.Items[place]
	item := h.Items[last]
	clear(h.Items[last:]) // what it refers to is garbage now
	h.Items = h.Items[:last]
	if place < last {
		h.Fix(place)
	}
	if h.moved != nil {
		h.moved(item, -1)
	}
	return item
}

// Fix restores the order after the item at a place has changed.
func (h *Heap[T]) Fix(place int) {
	items := h.Items
	for place > 0 && h.less(&items[place], &items[(place-1)/2]) {
		place = h.swap(place, (place-1)/2)
	}
	for least := 2*place + 1; least < len(items); least = 2*place + 1 {
		if right := least + 1; right < len(items) && h.less(&items[right], &items[least]) {
			least = right
		}
		if !h.less(&items[least], &items[place]) {
			break
		}
		place = h.swap(place, least)
	}
	if h.moved != nil {
		h.moved(items[place], place)
	}
}

// swap exchanges the item at a place with another, tells the place of that one, and returns the
// new place of the item.
func (h *Heap[T]) swap(place, other int) int {
	h.Items[place], h.Items[other] = h.Items[other], h.Items[place]
	if h.moved != nil {
		h.moved(h.Items[place], place)
	}
	return other
}
