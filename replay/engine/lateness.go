package engine

// latenessDigits makes a histogram small, because each living thread has one.
const latenessDigits = 1

// noteLateness counts how long after its due time an event was issued. A replay as fast as
// possible has no due times.
func (w *Worker) noteLateness(due, issued int64) {
	if w.e.Timing != AFAP {
		w.late.Add(issued - due)
	}
}
