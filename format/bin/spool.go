package bin

import (
	"encoding/binary"
	"fmt"
)

// store compresses rows to the spool and returns p with their offset there.
func (w *Writer) store(p part, rows []uint64) (part, error) {
	w.packed = w.encoder.rows(w.packed[:0], rows, kinds[p.kind].width)
	return w.put(p, w.packed)
}

// put writes the bytes of a part to the spool and returns p with its offset.
func (w *Writer) put(p part, packed []byte) (part, error) {
	p.offset, p.length, p.crc = w.spooled, int64(len(packed)), checksum(packed)
	return p, w.write(packed)
}

func (w *Writer) write(b []byte) error {
	n, err := w.spool.Write(b)
	w.spooled += int64(n)
	if err != nil {
		return fmt.Errorf("write spool: %w", err)
	}
	return nil
}

// spill moves the rows of all threads to the spool. Rows go there as chunks,
// which are joined to a part once it is complete, because the size of a part
// must not depend on other threads. A chunk ends with the offset of the chunk
// before it.
func (w *Writer) spill() error {
	for _, t := range w.threads {
		for i := range t.streams {
			s, k := &t.streams[i], kindRecords+kind(i)
			if len(s.rows) > 0 {
				n := len(s.rows) / kinds[k].width
				chunk, err := w.store(k.part(t.number, int64(n)), s.rows)
				if err != nil {
					return err
				}
				if err := w.write(appendLink(nil, &s.chain)); err != nil {
					return err
				}
				s.chain, s.early = chunk, s.early+n
			}
			s.rows = nil
		}
	}
	w.held = 0
	return nil
}

const linkSize = 28

func appendLink(dst []byte, p *part) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.offset))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.length))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.count))
	return binary.LittleEndian.AppendUint32(dst, p.crc)
}

// follow replaces a chunk by the one before it.
func (w *Writer) follow(p *part) error {
	var b [linkSize]byte
	if err := readAt(w.spool, b[:], p.offset+p.length); err != nil {
		return err
	}
	p.offset = int64(binary.LittleEndian.Uint64(b[:]))
	p.length = int64(binary.LittleEndian.Uint64(b[8:]))
	p.count = int64(binary.LittleEndian.Uint64(b[16:]))
	p.crc = binary.LittleEndian.Uint32(b[24:])
	return nil
}

// gather returns the rows of a stream's unfinished part, those in the spool
// and then last. They are valid until the next call of load or gather.
func (w *Writer) gather(s *stream, k kind, last []uint64) ([]uint64, error) {
	if s.early == 0 {
		return last, nil
	}
	at := s.early * kinds[k].width
	w.rows = append(w.rows[:0], make([]uint64, at)...)
	w.rows = append(w.rows, last...)
	for p := s.chain; at > 0; {
		if err := w.frame.load(&w.loader, &p, kinds[k].width); err != nil {
			return nil, fmt.Errorf("read spool: %w", err)
		}
		n := w.frame.rows * w.frame.width
		if n == 0 || n > at {
			return nil, fmt.Errorf("read spool: %w: %d rows", ErrMalformed, w.frame.rows)
		}
		at -= n
		w.frame.decode(w.rows[at : at+n])
		if err := w.follow(&p); err != nil {
			return nil, fmt.Errorf("read spool: %w", err)
		}
	}
	return w.rows, nil
}

// load returns the rows of a finished part.
func (w *Writer) load(p *part) ([]uint64, error) {
	if err := w.frame.load(&w.loader, p, kinds[p.kind].width); err != nil {
		return nil, fmt.Errorf("read spool: %w", err)
	}
	n := w.frame.rows * w.frame.width
	w.rows = append(w.rows[:0], make([]uint64, n)...)
	w.frame.decode(w.rows)
	return w.rows, nil
}

// finish ends the part that a stream of t is gathering.
func (w *Writer) finish(t *thread, k kind) error {
	s := t.stream(k)
	n := min(len(s.rows), s.room(&kinds[k]))
	rows, err := w.gather(s, k, s.rows[:n])
	if err != nil {
		return err
	}
	p := k.part(t.number, int64(len(rows)/kinds[k].width))
	if w.order != nil {
		w.order.renumber(k, rows)
	} else {
		p.named = named(k, rows)
	}
	p, err = w.store(p, rows)
	if err != nil {
		return err
	}
	s.parts = append(s.parts, p)
	s.rows, s.chain, s.early = append(s.rows[:0], s.rows[n:]...), part{}, 0
	return nil
}
