package ebpf

import (
	"unsafe"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

// member is a followed thread, in the form of followTree.
type member = bpf.CMember

// The sizes of records and of what they are made of: a plain record ends
// within the event.
const (
	plainSize   = int(unsafe.Offsetof(bpf.CEvent{}.Args)) + int(8*bpf.CLimitPLAIN_ARGS)
	eventSize   = int(unsafe.Sizeof(bpf.CEvent{}))
	detailsSize = int(unsafe.Sizeof(bpf.CDetails{}))
	spanSize    = int(unsafe.Sizeof(bpf.CSpan{}))
)

// records are those of something else than a call, by their number. A new kind of record is a
// number and a struct in the headers of the program, and a row here.
var records = [...]struct {
	name string // as a result calls those that were lost
	add  func(d *drain, b []byte) (full bool, err error)
}{
	bpf.CNumberNR_SUBMITTED - bpf.CNumberNR_OTHERS: {"submissions", of((*drain).submitted)},
	bpf.CNumberNR_COMPLETED - bpf.CNumberNR_OTHERS: {"completions", of((*drain).completed)},
	bpf.CNumberNR_FAULT - bpf.CNumberNR_OTHERS:     {"faults", of((*drain).faulted)},
	bpf.CNumberNR_SPACE - bpf.CNumberNR_OTHERS:     {"spaces", of((*drain).begun)},
	bpf.CNumberNR_PROGRAM - bpf.CNumberNR_OTHERS:   {"programs", of((*drain).mapped)},
	bpf.CNumberNR_JOINED - bpf.CNumberNR_OTHERS:    {"processes", of((*drain).entered)},
	bpf.CNumberNR_SPAN - bpf.CNumberNR_OTHERS:      {"spans", of((*drain).spanned)},
}

// of returns a function that takes a record apart: a struct, and what follows it. Both are memory of
// the ring, which is aligned to 8 bytes.
func of[T any](add func(d *drain, r *T, rest []byte) (full bool, err error)) func(d *drain, b []byte) (full bool, err error) {
	size := int(unsafe.Sizeof(*new(T)))
	return func(d *drain, b []byte) (bool, error) {
		if len(b) < size {
			return false, errRecord
		}
		return add(d, (*T)(unsafe.Pointer(unsafe.SliceData(b))), b[size:])
	}
}

// numberOf returns the number of a record, which stands at the same place in all.
func numberOf(b []byte) bpf.CNumber {
	if len(b) < int(unsafe.Sizeof(bpf.CSpace{})) {
		return 0
	}
	return *(*bpf.CNumber)(unsafe.Pointer(&b[unsafe.Offsetof(bpf.CEvent{}.Nr)]))
}

func (d *drain) submitted(r *bpf.CSubmission, rest []byte) (full bool, err error) {
	if int(r.Len[0])+int(r.Len[1]) > len(rest) {
		return false, errRecord
	}
	d.submission = record.Submission{CSubmission: *r, Text: rest}
	return d.writer.Submit(&d.submission), nil
}

func (d *drain) completed(r *bpf.CCompletion, rest []byte) (full bool, err error) {
	d.completion = record.Completion{CCompletion: *r}
	if len(rest) >= detailsSize {
		d.completion.Details = (*bpf.CDetails)(unsafe.Pointer(unsafe.SliceData(rest)))
	}
	return d.writer.Complete(&d.completion), nil
}

func (d *drain) faulted(r *bpf.CFault, rest []byte) (full bool, err error) {
	if r.Flags&bpf.CFaultFlagFAULT_RESTED == 0 {
		return d.writer.Fault(r, format.Off{}, 0), nil
	}
	if len(rest) < int(8*bpf.COffKindNUM_OFF) {
		return false, errRecord
	}
	off, taken := offOf((*[bpf.COffKindNUM_OFF]uint64)(unsafe.Pointer(unsafe.SliceData(rest))))
	return d.writer.Fault(r, off, taken), nil
}

func (d *drain) begun(r *bpf.CSpace, _ []byte) (full bool, err error) {
	d.writer.Fork(r.Space, r.Parent)
	return false, nil
}

func (d *drain) mapped(r *bpf.CProgram, _ []byte) (full bool, err error) {
	d.writer.Program(r.Space, r.Address, r.Length, r.Offset, r.Dev, r.Ino)
	return false, nil
}

func (d *drain) entered(r *bpf.CJoined, _ []byte) (full bool, err error) {
	return false, d.joined(r)
}

func (d *drain) spanned(r *bpf.CSpan, rest []byte) (full bool, err error) {
	if d.probes == nil || uint64(r.Function) >= uint64(len(d.probes.all)) {
		return false, errRecord
	}
	d.probes.calls[r.Function]++
	d.span = record.Span{CSpan: r, Probe: d.probes.all[r.Function], Data: rest}
	d.probes.called(&d.span)
	return d.writer.Span(&d.span), nil
}

// offOf returns what a thread spent its time off the processor with, and how much of that the recorder took.
func offOf(raw *[bpf.COffKindNUM_OFF]uint64) (off format.Off, taken int64) {
	return format.Off{Ready: int64(raw[bpf.COffKindOFF_READY]), Own: int64(raw[bpf.COffKindOFF_OWN]), Wait: int64(raw[bpf.COffKindOFF_WAIT]),
		Timer: int64(raw[bpf.COffKindOFF_TIMER]), Storage: int64(raw[bpf.COffKindOFF_STORAGE])}, int64(raw[bpf.COffKindOFF_RECORDER])
}

// view takes a record of the ring apart: it fills c. It reports false for what is
// no record. Details and Text of c borrow from b, which must be aligned to 8
// bytes, as the ring is.
func view(b []byte, c *record.Call) bool {
	if len(b) < plainSize {
		return false
	}
	// A plain record is shorter than the type, so no pointer may say that it
	// is one.
	var raw bpf.CEvent
	copy((*[eventSize]byte)(unsafe.Pointer(&raw))[:], b)
	nr, calls := uint32(raw.Nr)&(1<<bpf.CBitsNR_BITS-1), uint32(raw.Nr)>>bpf.CBitsNR_BITS
	*c = record.Call{Start: int64(raw.Start), Dur: int64(raw.Dur & (1<<bpf.CBitsDUR_BITS - 1)), Faults: uint32(raw.Dur >> bpf.CBitsDUR_BITS), Ret: raw.Ret,
		TID: int32(raw.Tid), Args: raw.Args, Nr: nr, Calls: calls, Type: uint32(raw.Flags >> bpf.CBitsTYPE_SHIFT),
		Flags: raw.Flags & (1<<bpf.CBitsTYPE_SHIFT - 1) &^ (bpf.CFlagFLAG_RICH | bpf.CFlagFLAG_WIDE)}
	if raw.Flags&bpf.CFlagFLAG_WIDE == 0 {
		return raw.Flags&bpf.CFlagFLAG_RICH == 0
	}
	if len(b) < eventSize {
		return false
	}
	c.Waker, c.Woken = int32(raw.Waker), int64(raw.Woken)
	c.Channel, c.Pos, c.Behind = raw.Channel, raw.Pos, int64(raw.Behind)
	if inSpaces[nr] {
		c.Space, c.Channel = c.Channel, 0
	}
	c.Calls = raw.Calls
	c.Off, c.Taken = offOf(&raw.Off)
	if raw.Flags&bpf.CFlagFLAG_RICH == 0 {
		return true
	}
	b = b[eventSize:]
	if len(b) < detailsSize {
		return false
	}
	c.Details, c.Text = (*bpf.CDetails)(unsafe.Pointer(unsafe.SliceData(b))), b[detailsSize:]
	return int(c.Details.Len[0])+int(c.Details.Len[1]) <= len(c.Text)
}
