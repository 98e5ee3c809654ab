package record

import (
	"encoding/binary"
	"math"
	"strings"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/layer"
)

// Span is a call of a function of a library, as a recorder saw it. Its slots are the integer
// registers and the words on the stack that hold arguments, and Data is what was read
// in memory: a recorder says how long they stay as they are.
type Span struct {
	*bpf.CSpan
	Probe *SpanProbe
	Data  []byte // the pieces, each padded to 8 bytes
}

// SpanProbe says what is read of the calls of a function.
type SpanProbe struct {
	Layer    string
	Function *layer.Function
	Args     []SpanArg // in the order of the function's
	Pieces   []SpanPiece
	Stack    int // words of arguments on the stack
}

// SpanArg is where an argument is.
type SpanArg struct {
	Slot  int // of the registers and then the words on the stack; -1 if it can't be read
	Piece int // what it points to; -1 if that is not read
}

// SpanPiece is what is read of what an argument points to.
type SpanPiece struct {
	Kind   SpanPieceKind
	Slot   int // of the address
	Number layer.Value
	Count  layer.Count // of an array: its Arg is a slot
}

// SpanPieceKind is what a piece is.
type SpanPieceKind int

// The kinds of pieces.
const (
	SpanPath        SpanPieceKind = iota // text that is the name of a file
	SpanText                             // other text
	SpanBefore                           // a number, as it was before the call
	SpanAfter                            // the same after it
	SpanArray                            // numbers, after it
	SpanArrayBefore                      // numbers, before it; one piece at most
)

// SpanLimits is what a recorder can read of a call.
type SpanLimits struct {
	Registers int // of integer arguments
	Slots     int
	Pieces    int
}

// floatRegisters hold arguments that can't be read.
const floatRegisters = 8

// NewSpanProbe plans what is read of a function on the host. Text other than names is
// read only with text.
func NewSpanProbe(of string, f *layer.Function, limits SpanLimits, text bool) *SpanProbe {
	p := &SpanProbe{Layer: of, Function: f}
	p.place(limits)
	add := func(name string, piece SpanPiece) {
		i := f.Index(name)
		if i < 0 || p.Args[i].Slot < 0 || p.Args[i].Piece >= 0 || len(p.Pieces) == limits.Pieces {
			return
		}
		piece.Slot = p.Args[i].Slot
		if to := f.Args[i].To; to != nil {
			if piece.Number = *to; piece.Number.Kind != layer.Int && piece.Number.Kind != layer.Uint {
				piece.Number.Size = 8
			}
		}
		if p.Args[i].Piece = len(p.Pieces); piece.Kind == SpanBefore && piece.Number.Size < 4 {
			piece.Kind = SpanAfter
		}
		p.Pieces = append(p.Pieces, piece)
	}
	add(f.Path, SpanPiece{Kind: SpanPath})
	for _, name := range f.Names {
		add(name, SpanPiece{Kind: SpanText})
	}
	if text {
		add(f.Text, SpanPiece{Kind: SpanText})
	}
	for _, list := range []struct {
		handles []layer.Handle
		kind    SpanPieceKind
	}{{f.Define, SpanAfter}, {f.Map, SpanBefore}, {f.Undefine, SpanBefore}} {
		for _, h := range list.handles {
			if name, ok := strings.CutPrefix(h.Value, "*"); ok {
				add(name, SpanPiece{Kind: list.kind})
			}
		}
	}
	for _, name := range f.Numbers {
		add(name, SpanPiece{Kind: SpanAfter})
	}
	for _, a := range f.Arrays {
		piece := SpanPiece{Kind: SpanArray, Count: a.Elements()}
		if a.Before {
			piece.Kind = SpanArrayBefore
		}
		if of := piece.Count.Of; of == layer.CountArg || of == layer.CountPointed {
			if piece.Count.Arg = p.Args[piece.Count.Arg].Slot; piece.Count.Arg < 0 {
				continue
			}
		}
		add(a.Arg, piece)
	}
	return p
}

// place finds the slots of the arguments by the calling conventions of C on Linux.
func (p *SpanProbe) place(limits SpanLimits) {
	integers, floats, lost := 0, 0, false
	if r := p.Function.Result; r.Kind == layer.Struct && r.Size > 16 && format.HostArch == format.AMD64 {
		integers++ // the address of where it goes
	}
	for _, a := range p.Function.Args {
		slot := -1
		switch a.Kind {
		case layer.Float:
			if floats++; floats > floatRegisters || a.Size > 8 {
				lost = true // it may be on the stack
			}
		case layer.Struct:
			lost = true // in registers of both kinds, or on the stack
		default:
			switch {
			case lost:
			case integers < limits.Registers:
				slot = integers
				integers++
			case limits.Registers+p.Stack < limits.Slots:
				slot = limits.Registers + p.Stack
				p.Stack++
			default:
				lost = true
			}
		}
		p.Args = append(p.Args, SpanArg{Slot: slot, Piece: -1})
	}
}

// Span adds a call of a library to the batch and reports whether that is full, as Add
// does. The batch borrows the text of the call until Write.
func (w *Writer) Span(s *Span) (full bool) {
	w.decoder.span(s, &w.batch[w.n])
	w.n++
	return w.n == len(w.batch)
}

// span fills e. It reads no further than the data goes.
func (d *decoder) span(s *Span, e *format.Event) {
	f := s.Probe.Function
	*e = format.Event{TID: int32(s.Tid), Start: int64(s.Start) - d.start, Dur: int64(s.Took), Ret: valueOf(f.Result, uint64(s.Ret))}
	if f.Result.Kind == layer.Void || f.Result.Kind == layer.Float || f.Result.Kind == layer.Struct {
		e.Ret = format.NoResult
	}
	var starts [len(s.Len) + 1]int
	for i, n := range s.Len {
		starts[i+1] = starts[i] + (int(n)+7)&^7
	}
	var plain [layer.MaxArgs]int64 // for the expressions of the layer
	from := len(d.spans.Values)
	for i, a := range s.Probe.Args {
		v := format.Value{}
		if a.Slot >= 0 {
			kind := f.Args[i].Kind
			v.Kind, v.Int = format.ValueInt, valueOf(f.Args[i].Value, s.Slots[a.Slot])
			if plain[i] = v.Int; kind == layer.Pointer || kind == layer.String {
				v.Kind = format.ValueAddr
			}
		}
		if n := a.Piece; n >= 0 && starts[n]+int(s.Len[n]) <= len(s.Data) {
			d.piece(&v, &s.Probe.Pieces[n], s.State[n], s.Data[starts[n]:][:s.Len[n]])
		}
		d.spans.Values = append(d.spans.Values, v)
	}
	e.Span = d.spans.Add(format.Span{Layer: s.Probe.Layer, Function: f.Name, Kind: string(f.Span), Args: d.spans.ValuesFrom(from), Bytes: format.Unknown})
	result := e.Ret
	if result == format.NoResult {
		result = 0
	}
	if n, ok := f.Moved(plain[:len(f.Args)], result); ok {
		e.Span.Bytes = n
	}
	e.Span.Failed = f.Failed(plain[:len(f.Args)], result)
}

// piece gives a value what its address points to. One that could not be read stays an
// address.
func (d *decoder) piece(v *format.Value, p *SpanPiece, state bpf.CStringState, data []byte) {
	if state != bpf.CStringStateSTRING_WHOLE && state != bpf.CStringStateSTRING_CUT {
		return
	}
	switch p.Kind {
	case SpanPath, SpanText:
		*v = format.Value{Kind: format.ValueText, Text: data, Cut: state == bpf.CStringStateSTRING_CUT}
		if p.Kind == SpanPath {
			v.Kind = format.ValuePath
		}
	case SpanArray, SpanArrayBefore:
		from := len(d.spans.Numbers)
		for size := p.Number.Size; len(data) >= size; data = data[size:] {
			d.spans.Numbers = append(d.spans.Numbers, valueOf(p.Number, unsigned(data[:size])))
		}
		*v = format.Value{Kind: format.ValueNumbers, Numbers: d.spans.NumbersFrom(from)}
	default:
		*v = format.Value{Kind: format.ValuePointed, Int: valueOf(p.Number, unsigned(data))}
	}
}

// unsigned returns a number of as many bytes.
func unsigned(data []byte) uint64 {
	switch len(data) {
	case 1:
		return uint64(data[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(data))
	case 4:
		return uint64(binary.NativeEndian.Uint32(data))
	}
	return binary.NativeEndian.Uint64(data)
}

// valueOf returns what a register holds of a value. The rest of the register says
// nothing.
func valueOf(v layer.Value, raw uint64) int64 {
	unused := 64 - 8*max(v.Size, 1)
	if v.Kind != layer.Int && v.Kind != layer.Uint || unused <= 0 {
		return max(int64(raw), math.MinInt64+1) // not format.NoResult
	}
	if v.Kind == layer.Uint {
		return int64(raw << unused >> unused)
	}
	return int64(raw<<unused) >> unused
}
