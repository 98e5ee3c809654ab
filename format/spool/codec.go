package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"pianola/format"
)

// Flags for the fields of an event other than numbers.
const (
	hasStr = 1 << (16 + iota)
	hasOwn
	hasNotes
	hasEdges
	hasLine
	isRequest
	hasPayload // a span, processes that enter, or a list
)

// The numbers of an event.
const (
	numThread = iota
	numStart
	numDur
	numRet
	numArgs
	numbers = numArgs + format.MaxArgs

	firstLength = 24 // bit of the first number's length in the head
	firstOfOp   = numDur
)

// slack is how many bytes after a chunk may be read or overwritten, so that a
// number of any length takes one memory access.
const slack = 8

// masks selects the bytes of a number of each length.
var masks = [16]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// codec is the state of an encoder or decoder: the previous events of the same
// chunk. The zero codec begins a chunk.
type codec struct {
	thread, start int64
	line          int64
	last          [format.NumOps][numbers - firstOfOp]int64 // of the newest event of each operation; spans have that of OpNone
}

// checkOp returns an error for an event that can't be kept.
func checkOp(e *format.Event) error {
	if int(e.Op) >= format.NumOps {
		return fmt.Errorf("unknown operation %d", e.Op)
	}
	return nil
}

// append appends an event, which must have passed checkOp. It
// overwrites up to slack bytes after it.
func (c *codec) append(dst []byte, e *format.Event) []byte {
	const most = 8 + numbers*8 + slack
	if cap(dst)-len(dst) < most {
		dst = slices.Grow(dst, most)
	}
	start, last := len(dst), &c.last[e.Op]
	v := [numbers]int64{int64(e.TID) - c.thread, e.Start - c.start, e.Dur - last[0], e.Ret - last[1]}
	c.thread, c.start, last[0], last[1] = int64(e.TID), e.Start, e.Dur, e.Ret
	for k, a := range e.Args {
		v[numArgs+k] = a - last[2+k]
		last[2+k] = a
	}
	b, head, at := dst[start:start+most], uint64(e.Op), 8
	for k := range v {
		if v[k] == 0 {
			continue // the most frequent case
		}
		z := zigzag(v[k])
		n := (bits.Len64(z) + 7) / 8
		binary.LittleEndian.PutUint64(b[at:], z)
		at += n
		head |= uint64(n) << (firstLength + 4*k)
	}
	dst = dst[:start+at]
	if e.Str[0] != nil || e.Str[1] != nil {
		head |= hasStr
		for _, s := range e.Str {
			dst = appendBytes(dst, s)
		}
	}
	if e.Owns() {
		head |= hasOwn
		dst = appendOwn(dst, e)
	}
	if e.Notes != nil {
		head |= hasNotes
		dst = appendNotes(dst, e)
	}
	if len(e.Edges) > 0 {
		head |= hasEdges
		dst = binary.AppendUvarint(dst, uint64(len(e.Edges)))
		for _, edge := range e.Edges {
			for _, v := range [...]int64{int64(edge.Thread), int64(edge.Kind), edge.Event, edge.Delay} {
				dst = binary.AppendVarint(dst, v)
			}
		}
	}
	if e.Via != format.ViaCall {
		head |= isRequest
		dst = append(dst, byte(e.Via))
	}
	if e.Span != nil || e.Enters != nil || e.List != nil {
		head |= hasPayload
		dst = appendPayload(dst, e)
	}
	if e.Line != c.line+1 {
		head |= hasLine
		dst = binary.AppendVarint(dst, e.Line)
	}
	c.line = e.Line
	binary.LittleEndian.PutUint64(dst[start:], head)
	return dst
}

// appendOwn appends the set of the fields of e that are not 0, and these.
func appendOwn(dst []byte, e *format.Event) []byte {
	var v [len(format.OwnFields)]int64
	set := uint64(0)
	for i := range v {
		if v[i] = *format.OwnFields[i].Own(e); v[i] != 0 {
			set |= 1 << i
		}
	}
	dst = binary.AppendUvarint(dst, set)
	for ; set != 0; set &= set - 1 {
		dst = binary.AppendVarint(dst, v[bits.TrailingZeros64(set)])
	}
	return dst
}

// own decodes what appendOwn appended.
func (d *decoder) own(e *format.Event) {
	set := d.uvarint()
	if set>>len(format.OwnFields) != 0 {
		d.fail()
	}
	for ; set != 0 && !d.bad; set &= set - 1 {
		*format.OwnFields[bits.TrailingZeros64(set)].Own(e) = d.varint()
	}
}

// allNotes is the set of all notes.
const allNotes = 1<<len(format.NoteFields) - 1

// appendNotes appends the notes that e has.
func appendNotes(dst []byte, e *format.Event) []byte {
	n := e.Notes
	dst = binary.AppendUvarint(dst, uint64(n.Has))
	for has := n.Has; has != 0; {
		var f *format.Field
		f, has = has.Note()
		for i := range f.Parts {
			if p := &f.Parts[i]; p.IsText() {
				dst = appendBytes(dst, *p.Text(e))
			} else {
				dst = binary.AppendVarint(dst, p.Int(e))
			}
		}
	}
	for _, s := range n.Strings {
		dst = append(dst, byte(s))
	}
	return appendBytes(dst, n.Text)
}

// note decodes what appendNotes appended.
func (d *decoder) note(e *format.Event) {
	d.notes = append(d.notes, format.Notes{Has: format.Noted(d.uvarint())})
	n := &d.notes[len(d.notes)-1]
	if e.Notes = n; n.Has&^allNotes != 0 {
		d.fail()
	}
	for has := n.Has; has != 0 && !d.bad; {
		var f *format.Field
		f, has = has.Note()
		for i := range f.Parts {
			if p := &f.Parts[i]; p.IsText() {
				*p.Text(e) = d.bytes()
			} else {
				p.Set(e, d.varint())
			}
		}
	}
	for i := range n.Strings {
		n.Strings[i] = format.StringState(d.byte())
	}
	n.Text = d.bytes()
}

func zigzag(v int64) uint64   { return uint64(v<<1 ^ v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(b))+1), b...)
}

// errDamaged is the error of a file whose contents have changed.
var errDamaged = errors.New("the temporary file of events is damaged")

// decoder decodes the events of a chunk.
type decoder struct {
	codec
	src   []byte // the chunk, with slack
	at    int    // where the next event begins
	bad   bool   // the chunk is damaged
	notes []format.Notes
	edges []format.Edge
	spans format.SpanMemory
}

// begin begins a chunk, which has slack bytes after its end.
func (d *decoder) begin(src []byte) { d.codec, d.src, d.at = codec{}, src, 0 }

// more reports whether there are more events in the chunk.
func (d *decoder) more() bool { return d.at < len(d.src)-slack }

// next fills e. Its strings point into the chunk, its notes and edges into
// d.notes and d.edges.
func (d *decoder) next(e *format.Event) {
	at := d.at + 8
	head := binary.LittleEndian.Uint64(d.src[d.at:])
	op := format.Op(head)
	if int(op) >= format.NumOps {
		d.fail()
		return
	}
	last := &d.last[op]
	for lengths := head >> firstLength; lengths != 0; {
		k := bits.TrailingZeros64(lengths) / 4
		n := lengths >> (4 * k) & 15
		lengths &^= 15 << (4 * k)
		if at > len(d.src)-8 {
			d.fail()
			return
		}
		v := unzigzag(binary.LittleEndian.Uint64(d.src[at:]) & masks[n])
		at += int(n)
		switch k {
		case numThread:
			d.thread += v
		case numStart:
			d.start += v
		default:
			last[k-firstOfOp] += v
		}
	}
	if at > len(d.src)-slack {
		d.fail()
		return
	}
	*e = format.Event{Op: op, TID: int32(d.thread), Start: d.start, Dur: last[0], Ret: last[1], Args: [format.MaxArgs]int64(last[2:])}
	d.line++
	if d.at = at; head&(hasStr|hasOwn|hasNotes|hasEdges|hasLine|isRequest|hasPayload) != 0 {
		d.rest(e, head)
	}
	e.Line = d.line
	if d.at > len(d.src)-slack {
		d.fail()
	}
}

// rest fills the fields other than numbers.
func (d *decoder) rest(e *format.Event, head uint64) {
	if head&hasStr != 0 {
		for i := range e.Str {
			e.Str[i] = d.bytes()
		}
	}
	if head&hasOwn != 0 {
		d.own(e)
	}
	if head&hasNotes != 0 {
		d.note(e)
	}
	if head&hasEdges != 0 {
		first := len(d.edges)
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			d.edges = append(d.edges, format.Edge{Thread: int32(d.varint()), Kind: format.EdgeKind(d.varint()), Event: d.varint(), Delay: d.varint()})
		}
		e.Edges = d.edges[first:len(d.edges):len(d.edges)]
	}
	if head&isRequest != 0 {
		e.Via = format.Via(d.byte())
	}
	if head&hasPayload != 0 {
		d.payload(e)
	}
	if head&hasLine != 0 {
		d.line = d.varint()
	}
}

// fail marks the chunk as damaged, and ends it.
func (d *decoder) fail() { d.bad, d.at = true, len(d.src) }

func (d *decoder) varint() int64 { return unzigzag(d.uvarint()) }

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.src[d.at:])
	if n <= 0 {
		d.fail()
		return 0
	}
	d.at += n
	return v
}

func (d *decoder) byte() byte {
	if d.at >= len(d.src) {
		d.fail()
		return 0
	}
	d.at++
	return d.src[d.at-1]
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n == 0 {
		return nil
	}
	if n--; n > uint64(len(d.src)-d.at) {
		d.fail()
		return nil
	}
	b := d.src[d.at : d.at+int(n) : d.at+int(n)]
	d.at += int(n)
	return b
}
