package record

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/layer"
	"pianola/format/script"
)

// functionOf returns a function of a layer from members in JSON.
func functionOf(t *testing.T, result, args, members string) *layer.Function {
	t.Helper()
	l, err := layer.Parse(strings.NewReader(`{"layer":"l","libraries":["l.so"],"includes":[],"functions":[
{"name":"f","result":` + result + `,"args":[` + args + `],"span":"read"` + members + `}]}`))
	require.NoError(t, err)
	return l.Functions[0]
}

const intOf4 = `{"c":"int","kind":"int","size":4}`

// arg returns an argument in JSON: i is an int, l a long, u an unsigned, p a pointer to a
// short, n one to an int, s a string, d a double, q a long double, t a struct.
func arg(name byte) string {
	kinds := map[byte]string{
		'i': `"kind":"int","size":4`, 'l': `"kind":"int","size":8`, 'u': `"kind":"uint","size":4`,
		'p': `"kind":"pointer","size":8,"to":{"c":"short","kind":"int","size":2}`, 'n': `"kind":"pointer","size":8,"to":` + intOf4, 's': `"kind":"string","size":8`,
		'd': `"kind":"float","size":8`, 'q': `"kind":"float","size":16`, 't': `"kind":"struct","size":8`,
	}
	return `"c":"",` + kinds[name]
}

func argsOf(kinds string) string {
	var all []string
	for i := range kinds {
		all = append(all, `{"name":"`+string(rune('a'+i))+`",`+arg(kinds[i])+`}`)
	}
	return strings.Join(all, ",")
}

var limits = SpanLimits{Registers: 6, Slots: 8, Pieces: 4}

// Arguments are where the calling convention puts them: in registers, floating-point
// numbers in others, and then on the stack.
func TestSpanArgs(t *testing.T) {
	for _, test := range []struct {
		args  string
		want  []int
		stack int
	}{
		{"", nil, 0},
		{"il", []int{0, 1}, 0},
		{"idl", []int{0, -1, 1}, 0},
		{"iiiiiii", []int{0, 1, 2, 3, 4, 5, 6}, 1},
		{"iiiiiiiiii", []int{0, 1, 2, 3, 4, 5, 6, 7, -1, -1}, 2},
		{"itl", []int{0, -1, -1}, 0},
		{"iql", []int{0, -1, -1}, 0},
		{"dddddddddi", []int{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1}, 0},
	} {
		p := NewSpanProbe("l", functionOf(t, intOf4, argsOf(test.args), ""), limits, false)
		var slots []int
		for _, a := range p.Args {
			slots = append(slots, a.Slot)
			require.Equal(t, -1, a.Piece)
		}
		require.Equal(t, test.want, slots, test.args)
		require.Equal(t, test.stack, p.Stack, test.args)
	}
}

// The recorder reads what arguments point to where the layer says so, text only if it is asked for.
func TestSpanPieces(t *testing.T) {
	f := functionOf(t, intOf4, argsOf("ssspppi"), `,"path":"a","names":["b"],"text":"c","define":[{"type":"h","value":"*d"}],"undefine":[{"type":"h","value":"*e"},{"type":"h","value":"*d"}],"arrays":[{"arg":"f","count":"g"}]`)
	kinds := func(text bool) (all []SpanPieceKind) {
		for _, p := range NewSpanProbe("l", f, SpanLimits{Registers: 6, Slots: 16, Pieces: 8}, text).Pieces {
			all = append(all, p.Kind)
		}
		return all
	}
	require.Equal(t, []SpanPieceKind{SpanPath, SpanText, SpanAfter, SpanAfter, SpanArray}, kinds(false)) // a short is read after the call
	require.Equal(t, []SpanPieceKind{SpanPath, SpanText, SpanText, SpanAfter, SpanAfter, SpanArray}, kinds(true))
	require.Len(t, NewSpanProbe("l", f, limits, true).Pieces, limits.Pieces)

	short := layer.Value{C: "short", Kind: layer.Int, Size: 2}
	for count, want := range map[string]layer.Count{
		"c":          {Of: layer.CountArg, Arg: 1, Times: 1},
		"c * 6":      {Of: layer.CountArg, Arg: 1, Times: 6},
		"*d":         {Of: layer.CountPointed, Arg: 2, Times: 1},
		"*d*2":       {Of: layer.CountPointed, Arg: 2, Times: 2},
		"result":     {Of: layer.CountResult, Times: 1},
		"result * 2": {Of: layer.CountResult, Times: 2},
		"3":          {Of: layer.CountOne, Times: 3},
	} {
		p := NewSpanProbe("l", functionOf(t, intOf4, argsOf("dpin"), `,"arrays":[{"arg":"b","count":"`+count+`"}]`), limits, false)
		require.Equal(t, []SpanPiece{{Kind: SpanArray, Number: short, Count: want}}, p.Pieces, count)
	}
	p := NewSpanProbe("l", functionOf(t, intOf4, argsOf("npi"), `,"numbers":["a"],"arrays":[{"arg":"b","count":"c","before":true}]`), limits, false)
	require.Equal(t, []SpanPiece{
		{Kind: SpanAfter, Number: layer.Value{C: "int", Kind: layer.Int, Size: 4}},
		{Kind: SpanArrayBefore, Slot: 1, Number: short, Count: layer.Count{Of: layer.CountArg, Arg: 2, Times: 1}},
	}, p.Pieces)
	// The count is in no slot.
	p = NewSpanProbe("l", functionOf(t, intOf4, argsOf("ptn"), `,"arrays":[{"arg":"a","count":"*c"}]`), limits, false)
	require.Empty(t, p.Pieces)
}

// The line of a script for a span shows all kinds of values.
func TestSpanLine(t *testing.T) {
	f := functionOf(t, intOf4, argsOf("iuldspp"), `,"path":"e","define":[{"type":"h","value":"*f"}],"arrays":[{"arg":"g","count":"a"}],"bytes":"c","error":"result < 0"`)
	probe := NewSpanProbe("l", f, SpanLimits{Registers: 6, Slots: 16, Pieces: 4}, false)
	garbage := uint64(0x1234567800000000)
	short := func(n ...int16) (b []byte) {
		for _, v := range n {
			b = binary.NativeEndian.AppendUint16(b, uint16(v))
		}
		return b
	}
	line := func(change func(s *Span)) string {
		data := append([]byte("out\x00\x00\x00\x00\x00"), short(-7, 0, 0, 0)...)
		s := &Span{Probe: probe, Data: append(data, short(1, -2, 3, 0)...), CSpan: &bpf.CSpan{Start: 1000, Took: 5, Ret: int64(garbage | 0xffffffff), Tid: 9,
			Slots: [16]uint64{garbage | 2, garbage | 0xfffffffe, 1 << 40, 0x10, 0x20, 0x30},
			Len:   [4]uint16{3, 2, 6, 0}, State: [4]bpf.CStringState{bpf.CStringStateSTRING_WHOLE, bpf.CStringStateSTRING_WHOLE, bpf.CStringStateSTRING_WHOLE}}}
		if change != nil {
			change(s)
		}
		var d decoder
		d.start = 1000
		var e format.Event
		d.span(s, &e)
		_, line, _ := strings.Cut(string(script.AppendEvent(nil, &e, 0)), " ")
		_, line, _ = strings.Cut(line, " ")
		return strings.TrimSuffix(line, "\n")
	}
	require.Equal(t, `l:f(2, 4294967294, 1099511627776, ?, path="out", &-7, [1, -2, 3]) = -1 <0.000000005> {span=read bytes=1099511627776 failed}`, line(nil))
	require.Equal(t, `l:f(2, 4294967294, 1099511627776, ?, path="out"..., 0x20, 0x30) = 0 <0.000000005> {span=read bytes=1099511627776}`, line(func(s *Span) {
		s.Ret = 0
		s.State = [4]bpf.CStringState{bpf.CStringStateSTRING_CUT, bpf.CStringStateSTRING_UNREADABLE, bpf.CStringStateSTRING_NULL, 0}
	}))
	// A record whose data ends too early.
	require.Equal(t, `l:f(2, 4294967294, 1099511627776, ?, 0x10, 0x20, 0x30) = 7 <0.000000005> {span=read bytes=1099511627776}`, line(func(s *Span) {
		s.Ret, s.Data = 7, s.Data[:2]
	}))
}

// The register that a void function leaves is no result, and no number is format.NoResult.
func TestSpanResult(t *testing.T) {
	for _, test := range []struct {
		result string
		ret    int64
		want   int64
	}{
		{`{"c":"void","kind":"void"}`, 5, format.NoResult},
		{`{"c":"double","kind":"float","size":8}`, 5, format.NoResult},
		{`{"c":"char","kind":"int","size":1}`, 0x1ff, -1},
		{`{"c":"bool","kind":"uint","size":1}`, 0x101, 1},
		{`{"c":"long","kind":"int","size":8}`, math.MinInt64, math.MinInt64 + 1},
		{`{"c":"void *","kind":"pointer","size":8}`, 1 << 47, 1 << 47},
	} {
		var d decoder
		var e format.Event
		d.span(&Span{CSpan: &bpf.CSpan{Ret: test.ret}, Probe: NewSpanProbe("l", functionOf(t, test.result, "", ""), limits, false)}, &e)
		require.Equal(t, test.want, e.Ret, test.result)
	}
}

func TestProbed(t *testing.T) {
	p := Probed{Layer: "l", File: "/usr/lib/lib l.so.1", Functions: 3, Missing: 1}
	require.Equal(t, `l "lib l.so.1" functions=3 missing=1`, p.String())
	p = Probed{Layer: "l", File: "libl.so.1", Stepped: 2, Late: 1500000, Err: layer.ErrGo}
	require.Equal(t, `l libl.so.1 functions=0 missing=0 stepped=2 late=0.001500000 refused="`+layer.ErrGo.Error()+`"`, p.String())
}
