package ptrace

import (
	"pianola/bpf"
	"pianola/format"
)

// reader reads more of a call than its registers: of its arguments when it
// begins, of what came of it when it has ended.
type reader func(*tracer, *thread)

// plan says what is read of a system call.
type plan struct {
	op      format.Op
	args    [format.MaxStrings]uint8 // registers of its strings, from 1; 0 for none
	atEntry reader
	atExit  reader // not where the call failed
	ends    bool   // it never returns
}

// extras lists the operations of which more is read than registers and
// strings. Strings are read from the row.
var extras = map[format.Op]plan{
	format.OpOpen:           {atEntry: lookFor(format.AtFDCWD, 0, 1), atExit: readOpened},
	format.OpOpenat:         {atEntry: lookFor(0, 1, 2), atExit: readOpened},
	format.OpOpenat2:        {atEntry: readOpenHow, atExit: readOpened},
	format.OpCreat:          {atEntry: lookFor(format.AtFDCWD, 0, -1), atExit: readOpened},
	format.OpOpenByHandleAt: {atExit: readOpened},
	format.OpMemfdCreate:    {atExit: readOpened},
	format.OpReadv:          {atEntry: sumSegments(3)},
	format.OpWritev:         {atEntry: sumSegments(3)},
	format.OpPreadv:         {atEntry: sumSegments(4)},
	format.OpPwritev:        {atEntry: sumSegments(4)},
	format.OpPreadv2:        {atEntry: sumSegments(4)},
	format.OpPwritev2:       {atEntry: sumSegments(4)},
	format.OpStat:           {atExit: readStat(1)},
	format.OpLstat:          {atExit: readStat(1)},
	format.OpFstat:          {atExit: readStat(1)},
	format.OpNewfstatat:     {atExit: readStat(2)},
	format.OpStatx:          {atExit: readStatx(4)},
	format.OpReadlink:       {atExit: readTarget(1)},
	format.OpReadlinkat:     {atExit: readTarget(2)},
	format.OpFcntl:          {atEntry: readLock},
	format.OpPipe:           {atExit: readPair},
	format.OpPipe2:          {atExit: readPair},
	format.OpClone3:         {atEntry: readCloneArgs},
	format.OpCopyFileRange:  {atEntry: readOffsets(1, 3)},
	format.OpSplice:         {atEntry: readOffsets(1, 3)},
	format.OpSendfile:       {atEntry: readOffsets(2)},
	format.OpIoctl:          {atEntry: readRange},
	format.OpWaitid:         {atExit: readChild},
	format.OpExit:           {ends: true},
	format.OpExitGroup:      {ends: true},
}

// plans are by the number of the system call.
var plans = func() (all [format.MaxSys]plan) {
	for nr := range all {
		op := format.BySyscall(format.HostArch, nr)
		if op == format.OpNone {
			continue
		}
		p, n := extras[op], 0
		for i, a := range op.Info().Args {
			if a.Kind.IsString() {
				p.args[n] = uint8(i + 1)
				n++
			}
		}
		p.op = op
		all[nr] = p
	}
	return all
}()

func (t *thread) unreadable(ok bool) {
	if !ok {
		t.flags |= uint32(bpf.FlagUnreadable)
	}
}

// segments is how many a vector can have (UIO_MAXIOV).
const segments = 1024

type segment struct{ _, len uint64 } // struct iovec

func sumSegments(total int) reader {
	return func(tr *tracer, t *thread) {
		v := tr.segments[:min(t.args[2], segments)]
		t.args[total] = 0
		if len(v) == 0 || t.args[2] > segments {
			return
		}
		if !readSlice(t.tid, t.args[1], v) {
			t.unreadable(false)
			return
		}
		for _, s := range v {
			t.args[total] += s.len
		}
	}
}

// flock is struct flock.
type flock struct {
	kind, _    int16
	start, len int64
}

func readLock(_ *tracer, t *thread) {
	var l flock
	switch t.args[1] {
	case format.FGetlk, format.FSetlk, format.FSetlkw, format.FOfdGetlk, format.FOfdSetlk, format.FOfdSetlkw:
		t.unreadable(readStruct(t.tid, t.args[2], &l))
	}
	t.args[3], t.args[4], t.args[5] = uint64(l.kind), uint64(l.start), uint64(l.len)
}

func readPair(_ *tracer, t *thread) {
	var fds uint64
	t.unreadable(readStruct(t.tid, t.args[0], &fds))
	t.args[0] = fds
}

func readCloneArgs(_ *tracer, t *thread) {
	var a struct{ flags, pidfd, childTID, parentTID, exitSignal uint64 }
	t.unreadable(readStruct(t.tid, t.args[0], &a))
	t.args[0] = a.flags | a.exitSignal // one word, as clone has it
}

// readOffsets reads the offsets that some arguments point to, -1 for a NULL
// pointer.
func readOffsets(args ...int) reader {
	return func(_ *tracer, t *thread) {
		for _, i := range args {
			offset := int64(-1)
			if t.args[i] != 0 {
				t.unreadable(readStruct(t.tid, t.args[i], &offset))
			}
			t.args[i] = uint64(offset)
		}
	}
}

// readRange reads what an ioctl is given that clones: a descriptor and a range.
func readRange(_ *tracer, t *thread) {
	pointer := t.args[2]
	t.args[3], t.args[4], t.args[5] = 0, 0, 0
	switch uint32(t.args[1]) {
	case format.Ficlonerange:
		var r struct {
			fd                 int64
			offset, length, to uint64
		}
		t.unreadable(readStruct(t.tid, pointer, &r))
		t.args[2], t.args[3], t.args[4], t.args[5] = uint64(int32(r.fd)), r.offset, r.length, r.to
	case fideduperange:
		var r struct {
			offset, length uint64
			_              uint64 // how many follow
			fd             int64  // of the first
			to             uint64
		}
		t.unreadable(readStruct(t.tid, pointer, &r))
		t.args[2], t.args[3], t.args[4], t.args[5] = uint64(int32(r.fd)), r.offset, r.length, r.to
	}
}

const fideduperange = 0xc0189436

// readChild reads the process that waitid found.
func readChild(_ *tracer, t *thread) {
	var info struct {
		_   [4]uint32
		pid int32
	}
	if t.args[2] != 0 {
		t.unreadable(readStruct(t.tid, t.args[2], &info))
	}
	t.args[5] = uint64(info.pid)
}
