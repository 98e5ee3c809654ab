package export

import (
	"io"

	"pianola/format"
)

// fioWriter writes an iolog that fio replays by --read_iolog.
//
// In version 3 a line begins with its time. The manual calls it relative to the
// beginning. In fact fio reads it as microseconds, waits for the difference to
// the line before, and takes 0 as no time at all, so the first line has 1. In
// version 2 there are lines to wait between the others. The manual says that
// they hold microseconds since the last line. In fact fio waits until so many
// milliseconds after its own start.
type fioWriter struct {
	out     text
	log     *iolog
	version int
	now     int64 // start of the event, ns
	waited  int64 // version 2: ms
}

func newFio(w io.Writer, h *format.Header) (Writer, error)  { return openFio(w, h, 3), nil }
func newFio2(w io.Writer, h *format.Header) (Writer, error) { return openFio(w, h, 2), nil }

func openFio(w io.Writer, h *format.Header, version int) *fioWriter {
	f := &fioWriter{out: newText(w), version: version}
	f.out.b = format.AppendInt(append(f.out.b, "fio version "...), int64(version))
	f.out.b = append(f.out.b, " iolog\n"...)
	f.log = newIolog(h, f.line)
	f.log.files.start()
	return f
}

func (f *fioWriter) Write(events []format.Event) error {
	for i := range events {
		f.now = max(f.now, events[i].Start) // fio's times can't decrease
		if err := f.log.apply(&events[i]); err != nil {
			return err
		}
		if err := f.out.flushFull(); err != nil {
			return err
		}
	}
	return f.out.err
}

func (f *fioWriter) Close() error {
	if f.log.err != nil {
		return f.log.err
	}
	return f.out.flush()
}

func (f *fioWriter) line(l *logged, action string, offset, bytes int64) {
	b := f.out.b
	if f.version == 3 {
		b = append(format.AppendInt(b, f.now/1000+1), ' ')
	} else if ms := f.now / 1e6; ms > f.waited && action != "add" {
		f.waited = ms
		b = append(format.AppendInt(append(append(b, l.name...), " wait "...), ms), " 0\n"...)
	}
	b = append(append(append(b, l.name...), ' '), action...)
	switch action {
	case "add", "open", "close":
	default:
		b = append(format.AppendInt(append(b, ' '), offset), ' ')
		b = format.AppendInt(b, bytes)
	}
	f.out.b = append(b, '\n')
}
