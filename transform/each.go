package transform

import "pianola/format"

// each is a reader that looks at one event at a time: it changes it in place,
// or takes it out.
type each struct {
	format.Reader
	change func(e *format.Event) (keep bool)
	off    carry
}

// newEach returns a Func of change, which make returns anew for each pass.
func newEach(make func() func(e *format.Event) bool) Func {
	return func(r format.Reader) (format.Reader, error) {
		return &each{Reader: r, change: make(), off: carry{}}, nil
	}
}

// Read implements format.Reader.
func (r *each) Read(events []format.Event) (int, error) {
	for {
		n, err := r.Reader.Read(events)
		kept := 0
		for i := range n {
			e := &events[i]
			if !e.Op.Valid() || r.change(e) {
				r.off.give(e)
				events[kept], events[i] = events[i], events[kept]
				kept++
			} else {
				r.off.take(e)
			}
		}
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}
