package process

import "pianola/format"

// maxOffset is the largest offset that is followed, in bytes.
const maxOffset = 1 << 61

// reset makes it none.
func (m *Moved) reset() {
	if m.File != nil {
		m.File, m.Description, m.From, m.To = nil, nil, 0, 0
	}
}

// of tells which bytes of the file of a description a successful call moved. offset is the
// argument of the call, below 0 for the description's own. There are none if the offset is out
// of bounds.
func (m *Moved) of(d *Description, e *format.Event, offset int64, writes bool) {
	n, own := e.Ret, offset < 0
	if own {
		offset = d.Offset
	}
	if writes && (d.Append() || e.Word(format.ReadWriteFlags)&format.RwfAppend != 0) {
		offset = d.File.Length
	}
	if offset < 0 || offset > maxOffset || n < 0 || n > maxOffset {
		return
	}
	m.File, m.Description, m.From, m.To, m.own = d.File, d, offset, offset+n, own
}

// apply moves the offset.
func (m *Moved) apply(writes bool) {
	if m.own && m.Description != nil {
		m.Description.Offset = m.To
	}
	if writes && m.To > m.From && m.Description != nil {
		m.File.Length = max(m.File.Length, m.To)
	}
}

// sized returns the length of the file after a successful call that sets it, as far as the
// call tells, from the length before.
func (f *Fact) sized(length int64) int64 {
	e := f.Event
	switch {
	case f.Did.Any(format.Cuts):
		return e.Size()
	case e.Word(format.FallocateMode)&format.FallocKeepSize == 0:
		if end := e.Offset() + e.Size(); end >= e.Offset() {
			return max(length, end)
		}
	}
	return length
}
