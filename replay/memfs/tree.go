package memfs

// tree maps the pages of a file's data. It is a radix tree: a tree of height 0
// is the slot of one page, a tree of height h a node of fan trees of height
// h-1. Positions and counts are of pages.
type tree struct {
	root   uint32
	height uint8
	nodes  int64
	pages  int64 // allocated or unwritten
	paid   int64 // nodes that are charged before they are needed
}

const (
	fanBits = 10
	fan     = 1 << fanBits
)

// span is how many pages a tree of a height covers.
func span(height uint8) int64 { return 1 << (fanBits * height) }

// find returns the value in the slot of a page.
func (m *memory) find(t *tree, page int64) uint32 {
	if page >= span(t.height) {
		return hole
	}
	at := t.root
	for h := t.height; h > 0 && at != hole; h-- {
		at = m.node(at)[page>>(fanBits*(h-1))&(fan-1)]
	}
	return at
}

// slot returns the slot of a page, and creates the nodes on the way. It returns nil if
// memory is full.
func (m *memory) slot(t *tree, page int64) *uint32 {
	for page >= span(t.height) {
		if t.root != hole {
			n := m.newNode(t)
			if n == hole {
				return nil
			}
			m.node(n)[0] = t.root
			t.root = n
		}
		t.height++
	}
	at := &t.root
	for h := t.height; h > 0; h-- {
		if *at == hole {
			if *at = m.newNode(t); *at == hole {
				return nil
			}
		}
		at = &m.node(*at)[page>>(fanBits*(h-1))&(fan-1)]
	}
	return at
}

func (m *memory) newNode(t *tree) uint32 {
	if t.paid > 0 {
		t.paid--
	} else if !m.charge(pageSize) {
		return hole
	}
	t.nodes++
	return m.allocPage(true)
}

// freeRange turns the pages [first, end) into holes.
func (m *memory) freeRange(t *tree, first, end int64) {
	end = min(end, span(t.height))
	if first >= end {
		return
	}
	pages, nodes := t.pages, t.nodes
	m.freeRangeBelow(t, &t.root, t.height, first, end)
	if t.root == hole {
		t.height = 0
	}
	m.refund((pages - t.pages + nodes - t.nodes) * pageSize)
}

func (m *memory) freeRangeBelow(t *tree, at *uint32, height uint8, first, end int64) {
	switch {
	case *at == hole:
		return
	case height == 0:
		if *at != unwritten {
			m.freePage(*at)
		}
		*at = hole
		t.pages--
		return
	}
	each := span(height - 1)
	n := m.node(*at)
	for i := first / each; i < fan && i*each < end; i++ {
		m.freeRangeBelow(t, &n[i], height-1, max(first-i*each, 0), min(end-i*each, each))
	}
	if first == 0 && end == span(height) {
		m.freePage(*at)
		*at = hole
		t.nodes--
	}
}

// shift moves the pages from a position on by so many, and reports whether the
// budget had the nodes for that.
func (m *memory) shift(t *tree, from, by int64) bool {
	// Charged ahead, so that it can't fail half-way: a node can spread over two,
	// and the new tree can be higher.
	paid := 2*t.nodes + 8
	if !m.charge(paid * pageSize) {
		return false
	}
	moved := tree{pages: t.pages, paid: paid}
	m.moveBelow(&moved, t.root, t.height, 0, from, by)
	m.refund((moved.paid + t.nodes) * pageSize)
	moved.paid = 0
	*t = moved
	return true
}

// moveBelow moves the slots of a tree that begins at a page to another tree,
// and frees its nodes.
func (m *memory) moveBelow(to *tree, at uint32, height uint8, begin, from, by int64) {
	switch {
	case at == hole:
	case height == 0:
		if begin >= from {
			begin += by
		}
		*m.slot(to, begin) = at
	default:
		for i, below := range m.node(at) {
			m.moveBelow(to, below, height-1, begin+int64(i)*span(height-1), from, by)
		}
		m.freePage(at)
	}
}

// firstData returns the first page from one on that was written, -1 if there is none.
func (m *memory) firstData(t *tree, page int64) int64 {
	if page >= span(t.height) {
		return -1
	}
	return m.firstDataBelow(t.root, t.height, page)
}

func (m *memory) firstDataBelow(at uint32, height uint8, page int64) int64 {
	switch {
	case at == hole, height == 0 && at == unwritten:
		return -1
	case height == 0:
		return 0
	}
	each := span(height - 1)
	n := m.node(at)
	for i := page / each; i < fan; i++ {
		if p := m.firstDataBelow(n[i], height-1, max(page-i*each, 0)); p >= 0 {
			return i*each + p
		}
	}
	return -1
}

// firstHole returns the first page from one on that was not written.
func (m *memory) firstHole(t *tree, page int64) int64 {
	if page >= span(t.height) {
		return page
	}
	return m.firstHoleBelow(t.root, t.height, page)
}

// firstHoleBelow returns the span of the tree if there is no hole in it.
func (m *memory) firstHoleBelow(at uint32, height uint8, page int64) int64 {
	switch {
	case at == hole, height == 0 && at == unwritten:
		return page
	case height == 0:
		return 1
	}
	each := span(height - 1)
	n := m.node(at)
	for i := page / each; i < fan; i++ {
		if p := m.firstHoleBelow(n[i], height-1, max(page-i*each, 0)); p < each {
			return i*each + p
		}
	}
	return span(height)
}
