package process

import "pianola/format"

// maxOffset is the largest offset that is followed, in bytes.
const maxOffset = 1 << 61

// Move returns which bytes of its file a successful call moved, and updates the
// offset and the length. offset is the argument of the call, below 0 for the
// description's own. Move returns false if the offset is out of bounds.
func (d *Description) Move(e *format.Event, offset int64, writes bool) (from, to int64, ok bool) {
	n, given := e.Ret, offset >= 0
	if from = offset; !given {
		from = d.Offset
	}
	if writes && (d.Append() || e.Word(format.ReadWriteFlags)&format.RwfAppend != 0) {
		from = d.File.Length
	}
	if from < 0 || from > maxOffset || n < 0 || n > maxOffset {
		return 0, 0, false
	}
	to = from + n
	if !given {
		d.Offset = to
	}
	if writes && n > 0 {
		d.File.Length = max(d.File.Length, to)
	}
	return from, to, true
}

// Adjust updates the offset of a description, or the length of its file, for a
// successful call that moves no bytes.
func (d *Description) Adjust(e *format.Event) {
	switch e.Op.Info().Effect {
	case format.EffectSeek:
		d.Offset = e.Ret
	case format.EffectTruncate:
		d.File.Length = e.Size()
	case format.EffectAllocate:
		if e.Word(format.FallocateMode)&format.FallocKeepSize == 0 {
			if end := e.Offset() + e.Size(); end >= e.Offset() {
				d.File.Length = max(d.File.Length, end)
			}
		}
	}
}
