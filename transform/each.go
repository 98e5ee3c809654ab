package transform

import "pianola/format"

// verdict says what becomes of an event.
type verdict uint8

const (
	kept    verdict = iota
	dropped         // taken out; its time becomes compute
	spared          // taken out, and its time with it
)

// each is a reader that looks at one event at a time: it changes it in place,
// or takes it out.
type each struct {
	format.Reader
	change  func(h *format.Header, e *format.Event) verdict
	carried carry
}

// newEach returns a Func of change, which make returns anew for each pass.
func newEach(make func() func(*format.Header, *format.Event) verdict) Func {
	return func(r format.Reader) (format.Reader, error) {
		return &each{Reader: r, change: make(), carried: carry{}}, nil
	}
}

// always is the make of a change that remembers nothing.
func always(change func(*format.Header, *format.Event) verdict) func() func(*format.Header, *format.Event) verdict {
	return func() func(*format.Header, *format.Event) verdict { return change }
}

// Read implements format.Reader.
func (r *each) Read(events []format.Event) (int, error) {
	for {
		n, err := r.Reader.Read(events)
		stay := 0
		for i := range n {
			e, v := &events[i], kept
			if e.Op.Valid() {
				v = r.change(r.Header(), e)
			}
			if v == kept {
				r.carried.give(e)
				events[stay], events[i] = events[i], events[stay]
				stay++
				continue
			}
			r.carried.take(e)
			if v == spared {
				r.carried.cut(e.TID, max(e.Dur, 0))
			}
		}
		if stay > 0 || err != nil || n == 0 {
			return stay, err
		}
	}
}
