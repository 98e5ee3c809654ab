package parts

import (
	"time"

	"pianola/format"
	"pianola/format/coverage"
)

// Rotation says when a script ends and the next one begins, whichever comes first.
type Rotation struct {
	Bytes int64         // of a script, as it is written; 0: no matter
	Every time.Duration // 0: no matter
}

// Rotate writes a recording to one script after another.
type Rotate struct {
	source
	rotation Rotation
	next     Open
	part     *part
}

// NewRotate returns a Rotate of scripts that next opens.
func NewRotate(r Rotation, next Open) *Rotate { return &Rotate{rotation: r, next: next} }

// WriteHeader implements record.Sink.
func (r *Rotate) WriteHeader(h *format.Header) (err error) {
	if r.head == nil {
		r.begin(h)
		r.part, err = r.begins(r.next, mark{account: coverage.Account{Known: true}}, first(h))
		return err
	}
	if r.enter(h) {
		return r.part.Script.WriteHeader(h)
	}
	r.tail = h
	return nil
}

// Write implements format.Writer.
func (r *Rotate) Write(events []format.Event) error {
	if r.due() {
		if err := r.turn(); err != nil {
			return err
		}
	}
	for i := range events {
		r.event = events[i]
		e := &r.event
		r.standing.Place(e, &r.notes)
		if err := r.part.write(e); err != nil {
			return err
		}
		r.standing.Apply(e)
		r.now = max(r.now, e.End())
	}
	return nil
}

// due reports whether the next script begins. It begins a little later where a thread has
// events and its creation has not come.
func (r *Rotate) due() bool {
	bytes, every := r.rotation.Bytes, int64(r.rotation.Every)
	written, age := r.part.Written(), r.now-r.part.from.at
	if bytes > 0 && written >= 2*bytes || every > 0 && age >= 2*every {
		return true
	}
	return (bytes > 0 && written >= bytes || every > 0 && age >= every) && r.standing.Settled()
}

// turn ends a script and begins the next one.
func (r *Rotate) turn() error {
	m, err := r.finish(nil)
	if err != nil {
		return err
	}
	r.part, err = r.begins(r.next, m, r.stands())
	return err
}

// finish completes a script, with what the recording's last header says.
func (r *Rotate) finish(tail *format.Header) (mark, error) {
	m, err := r.mark()
	if err != nil {
		return m, err
	}
	if err := r.part.end(tail, m); err != nil {
		return m, err
	}
	return m, r.part.Close()
}

// first returns how the processes stand in the header of a recording.
func first(h *format.Header) *format.Header {
	out := &format.Header{Descriptors: h.Descriptors, Files: h.Files}
	for _, m := range h.Meta {
		switch m.Key {
		case format.MetaProcess, format.MetaCwd, format.MetaUmask:
			out.Meta = append(out.Meta, m)
		}
	}
	return out
}

// Flush writes everything so far.
func (r *Rotate) Flush() error {
	if r.part == nil {
		return nil
	}
	return r.part.Flush()
}

// Close completes the last script.
func (r *Rotate) Close() error {
	if r.part == nil {
		return nil
	}
	_, err := r.finish(r.tail)
	return err
}
