package transform

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"pianola/format"
	"pianola/format/process"
)

var blockTransform = Transform{
	Name: "block", Arg: Arg{Form: "SIZE[,pad]"},
	Doc:   "splits reads and writes at multiples of SIZE; with pad each part becomes a whole block, up to the end of the file",
	Keeps: "everything except the number of calls; with pad only the sizes of files",
	New: func(arg string) (Func, error) {
		text, how, padded := strings.Cut(arg, ",")
		size, err := parseSize(text)
		if err != nil {
			return nil, err
		}
		if padded && how != "pad" {
			return nil, fmt.Errorf("expected pad after the comma, not %q", how)
		}
		return newStaged(0, func() stage { return &block{size: size, pad: padded} }), nil
	},
}

// block makes calls of blocks, one at a time, so that a large call takes no more
// memory than a small one.
type block struct {
	size int64
	pad  bool

	// lost says that the lengths of files are unknown, because of calls that
	// are not followed.
	lost bool

	call  format.Event // that is being split
	at    int64        // offset in the file of the next piece
	from  int64        // offset of the first byte
	to    int64        // offset after the last byte that was moved
	asked int64        // offset after the last requested byte
	known int64        // the length of the file
	whole bool         // make it one of whole blocks
	reads bool         // the descriptor can be read, as a partly written block is first
	busy  bool

	notes format.Notes // of a request, which its pieces have
	chain int32        // of the newest pair of a read and a write, below 0
}

// event implements stage.
func (b *block) event(s *staged, f *process.Fact) error {
	e, d := f.Event, f.Description
	if unfollowed(f) {
		b.lost = true
	} else if f.Did.Any(format.Opens) { // the length of the file comes from the recording or is unknown
		b.lost = b.lost || !e.Notes.Known(format.NotedSize) && e.OpenFlags()&format.TRUNC == 0
	}
	split := d != nil && plainOf(e) != 0 && e.Ret > 0 && isFile(d) && (d.Flags&format.DIRECT == 0 || b.size%sector == 0)
	known := int64(0)
	if split && !b.lost {
		known = d.File.Length
	}
	m := f.Moves()
	if split = split && m != nil; e.Via != format.ViaCall {
		split = split && e.Offset() >= 0 && isPlaced(e) // pieces in flight have no place of their own
	}
	switch {
	case split && b.pads(d),
		split && m.From/b.size != (m.From+min(e.Size(), math.MaxInt64-m.From)-1)/b.size:
		b.begin(e, d, m.From, m.To, known)
		b.more(s)
		b.call.Notes = nil // they are borrowed
	default:
		s.push(e)
	}
	s.Apply(f)
	return nil
}

// sector is the smallest alignment of O_DIRECT, in bytes.
const sector = 512

// pads reports whether calls on a description become calls of whole blocks. Not
// if it appends, because the offset is uncertain, and not with O_DIRECT,
// because a block can't end at the end of the file.
func (b *block) pads(d *process.Description) bool {
	return b.pad && d.Flags&(format.APPEND|format.DIRECT) == 0
}

// unfollowed reports whether an event changes the files of names, or the
// lengths of files, in a way that is not followed.
func unfollowed(f *process.Fact) bool {
	return f.Did.Any(format.Tangles|format.Removes|format.Allocates|format.Shares) || f.Did.All(format.ReadsBytes|format.WritesBytes)
}

// begin begins to split a call.
func (b *block) begin(e *format.Event, d *process.Description, from, to, known int64) {
	b.call, b.busy = *e, true
	b.from, b.at, b.to, b.known = from, from, to, known
	b.asked = from + min(e.Size(), math.MaxInt64-from)
	if d.Flags&format.DIRECT != 0 {
		b.call.Args[1] &^= alignment - 1 // of a vector it is not that of a buffer
	}
	b.whole = b.pads(d)
	b.reads = d.Flags&format.RDWR != 0
	if e.Via != format.ViaCall {
		b.notes = format.Notes{Has: e.Notes.Has & requestNotes, Request: e.Notes.Request}
		b.reads = b.reads && e.Via == format.ViaUring // which has links
		if b.whole {
			b.notes.Has &^= format.NotedBuf // the registered one can be too small
		}
	}
}

// requestNotes are the notes of a request that its pieces have, too.
const requestNotes = format.NotedRing | format.NotedBatch | format.NotedReaped | format.NotedSubmitted |
	format.NotedFlags | format.NotedBuf | format.NotedRW | format.NotedPlaced

// more implements continued.
func (b *block) more(s *staged) bool {
	if !b.busy {
		return false
	}
	op := plainOf(&b.call)
	first := b.at - b.at%b.size
	end := min(first+b.size, b.asked)
	moved := min(end, b.to)
	last := moved < end || end == b.asked
	piece := format.Event{Op: op, Via: b.call.Via, TID: b.call.TID, Line: b.call.Line, Start: b.call.Start, Dur: format.Unknown, Ret: moved - b.at}
	switch notes := b.notes; {
	case b.call.Via != format.ViaCall: // all are in flight at once
		if piece.Dur, piece.Notes = b.call.Dur, &notes; notes.Request.Chain != 0 && !last {
			notes.Request.Flags |= format.ReqLink
		}
	case b.call.Dur >= 0:
		piece.Start += share(b.call.Dur, b.at-b.from, b.to-b.from)
		piece.Dur = b.call.Start + share(b.call.Dur, moved-b.from, b.to-b.from) - piece.Start
		piece.Behind = share(b.call.Behind, moved-b.from, b.to-b.from) - share(b.call.Behind, b.at-b.from, b.to-b.from)
	}
	if b.at == b.from && b.call.Via == format.ViaCall {
		piece.Off, piece.Cut, piece.Calls, piece.Faults, piece.Notes = b.call.Off, b.call.Cut, b.call.Calls, b.call.Faults, b.call.Notes
	}
	piece.Args = [format.MaxArgs]int64{b.call.FD(), b.call.Args[1] + b.at - b.from, end - b.at}
	switch {
	case b.whole:
		b.padded(s, &piece, first, end, moved, last)
	default:
		if at := op.Info().At.Offset; at >= 0 {
			piece.Args[at] = b.at
		}
		b.push(s, &piece)
	}
	b.at = end
	if b.busy = !last; last {
		b.call = format.Event{}
	}
	return true
}

// padded queues a call on a whole block, with the calls that must come before
// and after it.
func (b *block) padded(s *staged, piece *format.Event, first, end, moved int64, last bool) {
	whole := max(moved, min(first+b.size, b.known))
	extra := format.Event{Via: piece.Via, TID: piece.TID, Start: piece.Start, Dur: format.Unknown}
	old := min(first+b.size, b.known) - first
	was := piece.Op
	if was.Info().Class == format.ClassRead {
		piece.Op, piece.Ret = format.OpPread64, whole-first
		if end = max(end, whole); moved < end && whole == moved {
			end = first + b.size // the file ends in the block
		}
	} else {
		partly := old > 0 && (b.at > first || end < first+old)
		if partly && b.reads {
			b.link(piece, &extra)
			extra.Op, extra.Ret, extra.Args = format.OpPread64, old, [format.MaxArgs]int64{piece.Args[0], piece.Args[1], old, first}
			moveTime(piece, &extra)
			s.put(&extra)
			extra.Off, extra.Cut, extra.Calls = format.Off{}, 0, 0
		}
		piece.Op, piece.Ret = format.OpPwrite64, whole-first
		end = whole
	}
	piece.Args[2], piece.Args[3] = end-first, first
	b.push(s, piece)
	if last && was.Info().At.Offset < 0 {
		extra.Op, extra.Ret, extra.Start = format.OpLseek, b.to, piece.End()
		extra.Args = [format.MaxArgs]int64{piece.Args[0], b.to, format.SeekSet}
		s.put(&extra)
	}
}

// link links a read before a write of the same block, if these are requests.
func (b *block) link(write, read *format.Event) {
	if read.Via == format.ViaCall {
		return
	}
	if write.Notes.Request.Chain == 0 {
		b.chain--
		write.Notes.Request.Chain = b.chain
	}
	notes := *write.Notes
	notes.Has, notes.Request.Flags = notes.Has|format.NotedFlags, notes.Request.Flags|format.ReqHardLink // whatever it reads
	read.Notes = &notes
	write.Notes.Request.Flags &^= format.ReqDrain // the read has waited
}

// push queues a piece. The first one replaces the call.
func (b *block) push(s *staged, piece *format.Event) { s.push(piece).made = b.at > b.from }

// share returns the part of a duration for bytes of all.
func share(nanos, bytes, all int64) int64 {
	high, low := bits.Mul64(uint64(nanos), uint64(bytes))
	part, _ := bits.Div64(high, low, uint64(all))
	return int64(part)
}
