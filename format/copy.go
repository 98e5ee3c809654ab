package format

import (
	"errors"
	"io"
)

// Each calls take with each event of r, which is valid until take returns. It ends at the
// first error of r, but for io.EOF, or of take, and returns it unchanged.
func Each(r Reader, take func(e *Event) error) error {
	return eachBatch(r, func(events []Event) error {
		for i := range events {
			if err := take(&events[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Copy writes all events of r to w. It returns the first error of either unchanged.
func Copy(w Writer, r Reader) error { return eachBatch(r, w.Write) }

func eachBatch(r Reader, take func([]Event) error) error {
	events := make([]Event, 512)
	for {
		n, err := r.Read(events)
		if n > 0 {
			if terr := take(events[:n]); terr != nil {
				return terr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
