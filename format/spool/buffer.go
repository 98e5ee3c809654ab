package spool

import "pianola/format"

// Buffer holds events in memory, compactly. The zero Buffer is empty. It belongs to one
// goroutine.
type Buffer struct {
	data  []byte
	codec codec
}

// Append adds a copy of e.
func (b *Buffer) Append(e *format.Event) error {
	if err := checkOp(e); err != nil {
		return err
	}
	b.data = b.codec.append(b.data, e)
	return nil
}

// Len returns how many bytes the events take.
func (b *Buffer) Len() int { return len(b.data) }

// Size returns how many bytes of memory Take needs.
func (b *Buffer) Size() int { return len(b.data) + slack }

// Take moves the events to memory of Size bytes, for Each, and empties the Buffer. Without memory
// they are dropped.
func (b *Buffer) Take(memory []byte) {
	copy(memory, b.data)
	b.data, b.codec = b.data[:0], codec{}
}

// Each yields the events that Take moved, until f returns an error. An event is borrowed
// for the call.
func Each(taken []byte, f func(*format.Event) error) error {
	var d decoder
	var e format.Event
	for d.begin(taken); d.more(); {
		d.reuse()
		if d.next(&e); d.bad {
			return errDamaged
		}
		if err := f(&e); err != nil {
			return err
		}
	}
	return nil
}
