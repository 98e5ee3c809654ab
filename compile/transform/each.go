package transform

import "pianola/format"

// Verdict is what happens to an event.
type Verdict uint8

// The verdicts.
const (
	Keep  Verdict = iota
	Drop          // take it out; its time becomes compute
	Spare         // take it out, and its time with it
)

// each is a reader that changes events in place, or takes them out, one at a
// time.
type each struct {
	format.Reader
	change  func(h *format.Header, e *format.Event) Verdict
	carried carry
}

// Each returns a transform of single events. change may change the event in
// place, but not its thread, its times, or the memory of its strings and notes.
// The header is that of the recording, as far as it is known. change must not
// have state, because it is used in every pass.
func Each(change func(h *format.Header, e *format.Event) Verdict) Func {
	return func(r format.Reader) (format.Reader, error) {
		return &each{Reader: r, change: change, carried: carry{lines: lineageOf(r)}}, nil
	}
}

// Read implements format.Reader.
func (r *each) Read(events []format.Event) (int, error) {
	for {
		n, err := r.Reader.Read(events)
		r.carried.begin(r.Header())
		stay := 0
		for i := range n {
			e, v := &events[i], Keep
			if e.Op.Valid() {
				v = r.change(r.Header(), e)
			}
			switch {
			case e.Enters != nil:
			case e.Span != nil:
				if !keeps(r.Header(), e) {
					continue
				}
			case v == Keep:
				r.carried.give(e)
			case !r.carried.take(e, v):
				continue
			}
			events[stay], events[i] = events[i], events[stay]
			stay++
		}
		if stay > 0 || err != nil || n == 0 {
			return stay, err
		}
	}
}
