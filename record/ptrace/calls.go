package ptrace

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// reader reads more of a call than its registers: its arguments when it begins,
// its results when it has ended.
type reader func(*tracer, *thread)

// plan says what is read of a system call.
type plan struct {
	op      format.Op
	args    [format.MaxStrings]uint8 // registers of its strings, from 1; 0 for none
	atEntry reader
	atExit  reader // not where the call failed
	ends    bool   // it never returns
	typed   bool   // the type of the descriptor in its first argument is noted
	waits   bool   // the thread may wait in it, and it is no operation
	counted int64  // how often the kernel counts the bytes of its result as moved by the thread
}

// reads reports whether more is read of a call than registers and strings.
func (p *plan) reads() bool { return p.atEntry != nil || p.atExit != nil }

// readers return the data of a call besides registers and strings, by the column of the
// table. Other operations need nothing else.
var readers = [format.NumReads]func(*plan, *format.Layout){
	format.ReadOpened:     func(p *plan, at *format.Layout) { p.atEntry, p.atExit = lookFor(at), readOpened },
	format.ReadOpenHow:    func(p *plan, _ *format.Layout) { p.atEntry, p.atExit = readOpenHow, readOpened },
	format.ReadIovec:      func(p *plan, at *format.Layout) { p.atEntry = sumSegments(at.Size) },
	format.ReadStat:       func(p *plan, at *format.Layout) { p.atExit = readStat(at.Buf) },
	format.ReadStatx:      func(p *plan, at *format.Layout) { p.atExit = readStatx(at.Buf) },
	format.ReadTarget:     func(p *plan, at *format.Layout) { p.atExit = readTarget(at.Buf) },
	format.ReadLock:       func(p *plan, _ *format.Layout) { p.atEntry = readLock },
	format.ReadPipe:       func(p *plan, _ *format.Layout) { p.atExit = readPair },
	format.ReadCloneArgs:  func(p *plan, _ *format.Layout) { p.atEntry = readCloneArgs },
	format.ReadOffsets:    func(p *plan, _ *format.Layout) { p.atEntry = readOffsets(p.op.Info().Synthetic) },
	format.ReadAttrArgs:   func(p *plan, _ *format.Layout) { p.atEntry = readAttrArgs },
	format.ReadAccessList: func(p *plan, _ *format.Layout) { p.atEntry = readAccessList },
	format.ReadRange:      func(p *plan, _ *format.Layout) { p.atEntry = readRange },
	format.ReadChild:      func(p *plan, _ *format.Layout) { p.atExit = readChild },
	format.ReadAddress:    func(p *plan, _ *format.Layout) { p.args, p.atEntry = [format.MaxStrings]uint8{}, readAddress },
	format.ReadRing:       func(p *plan, _ *format.Layout) { p.atEntry, p.atExit = readParams, madeRing },
	format.ReadRegistered: func(p *plan, _ *format.Layout) { p.args, p.atEntry = [format.MaxStrings]uint8{}, readRegistered },
	format.ReadContext:    func(p *plan, _ *format.Layout) { p.atExit = madeContext },
	format.ReadBatch:      planBatch,
	format.ReadExec:       func(p *plan, _ *format.Layout) { p.atEntry = readExec },
	format.ReadExit:       func(p *plan, _ *format.Layout) { p.ends = true },
}

// plans are by the number of the system call.
var plans = func() (all [format.MaxSys]plan) {
	for nr := range all {
		op := format.BySyscall(format.HostArch, nr)
		if op == format.OpNone {
			continue
		}
		info, n := op.Info(), 0
		p := plan{op: op, counted: countings(op)}
		p.typed = p.counted == 1
		for i, a := range info.Args {
			if a.Kind.IsString() {
				p.args[n] = uint8(i + 1)
				n++
			}
		}
		if more := readers[info.Reads]; more != nil {
			more(&p, &info.At)
		}
		all[nr] = p
	}
	planCounts(&all)
	planWaits(&all)
	planEnds(&all)
	return all
}()

func (t *thread) unreadable(ok bool) {
	if !ok {
		t.Flags |= bpf.CFlagFLAG_UNREADABLE
	}
}

// segments is how many a vector can have (UIO_MAXIOV).
const segments = 1024

type segment struct{ _, len uint64 } // struct iovec

func sumSegments(total int8) reader {
	return func(tr *tracer, t *thread) {
		sum, ok := tr.sumVector(t, t.Args[1], t.Args[2])
		t.Args[total] = sum
		t.unreadable(ok || t.Args[2] > segments)
	}
}

// planBatch plans for a call that submits requests or awaits them.
func planBatch(p *plan, _ *format.Layout) {
	switch p.op {
	case format.OpUringEnter:
		p.atEntry, p.atExit = enterUring, leaveUring
	case format.OpIOSubmit:
		p.atEntry = readSubmitted
	case format.OpIOGetevents, format.OpIOPgetevents:
		p.atEntry, p.atExit = ofContext, readEvents
	default:
		p.atEntry = ofContext
	}
}

// flock is struct flock.
type flock struct {
	kind       int16
	whence     uint16 // never an address, for those are higher
	start, len int64
}

func readLock(_ *tracer, t *thread) {
	var l flock
	switch t.Args[1] {
	case format.FGetlk, format.FSetlk, format.FSetlkw, format.FOfdGetlk, format.FOfdSetlk, format.FOfdSetlkw:
		t.unreadable(readStruct(t, t.Args[2], &l))
		t.Args[2] = uint64(l.whence)
	}
	t.Args[3], t.Args[4], t.Args[5] = uint64(l.kind), uint64(l.start), uint64(l.len)
}

func readPair(_ *tracer, t *thread) {
	var fds uint64
	t.unreadable(readStruct(t, t.Args[0], &fds))
	t.Args[0] = fds
}

func readCloneArgs(_ *tracer, t *thread) {
	var a struct{ flags, pidfd, childTID, parentTID, exitSignal uint64 }
	t.unreadable(readStruct(t, t.Args[0], &a))
	t.Args[0] = a.flags | a.exitSignal // one word, as clone has it
}

// readOffsets reads the offsets that some arguments, a bit for each, point to, -1
// for a NULL pointer.
func readOffsets(args uint8) reader {
	return func(_ *tracer, t *thread) {
		for i := range t.Args {
			if args>>i&1 == 0 {
				continue
			}
			offset := int64(-1)
			if t.Args[i] != 0 {
				t.unreadable(readStruct(t, t.Args[i], &offset))
				if t.written != nil { // as it is after the call, which has moved it on
					offset -= max(t.Ret, 0)
				}
			}
			t.Args[i] = uint64(offset)
		}
	}
}

// readAddress reads the path of the address of a UNIX socket. Any other address
// is not recorded: one of another family, an abstract name, or one that the
// kernel is to choose.
func readAddress(_ *tracer, t *thread) {
	var address [unix.SizeofSockaddrUnix]byte
	n := uint32(t.Args[2])
	if n <= 2 || n > uint32(len(address)) || !readSlice(t, t.Args[1], address[:n]) ||
		binary.NativeEndian.Uint16(address[:]) != unix.AF_UNIX || address[2] == 0 {
		t.foreign = true
		return
	}
	path, _, _ := bytes.Cut(address[2:n], []byte{0})
	t.Text = append(t.Text, path...)
	t.details.State[0], t.details.Len[0] = bpf.CStringStateSTRING_WHOLE, uint16(len(path))
}

func readAttrArgs(_ *tracer, t *thread) {
	var a struct {
		_           uint64 // address of the value
		size, flags uint32
	}
	t.unreadable(readStruct(t, t.Args[4], &a))
	t.Args[4], t.Args[5] = uint64(a.size), uint64(a.flags)
}

// readAccessList reads the mode that an access list gives its file. Its entries are in
// order: that of the owner is first, those of the mask, or else of the group, and of
// all others are last.
func readAccessList(_ *tracer, t *thread) {
	type entry struct {
		_, rights uint16
		_         uint32 // user or group
	}
	const header, entryBytes, most = 4, 8, 64 << 10
	value, size := t.Args[2], t.Args[3]
	t.Args[5] = 0
	var name [len(format.AccessList) + 1]byte
	if size < header+3*entryBytes || size > most || !readStruct(t, t.Args[1], &name) || string(name[:]) != format.AccessList+"\x00" {
		return
	}
	var first entry
	var last [2]entry
	if !readStruct(t, value+header, &first) || !readStruct(t, value+size-2*entryBytes, &last) {
		t.unreadable(false)
		return
	}
	t.Args[5] = format.GivesMode | uint64(first.rights&7<<6|last[0].rights&7<<3|last[1].rights&7)
}

// readRange reads what an ioctl is given that clones, a descriptor and a range,
// or that allocates, a range and where it begins.
func readRange(_ *tracer, t *thread) {
	pointer := t.Args[2]
	t.Args[3], t.Args[4], t.Args[5] = 0, 0, 0
	switch uint32(t.Args[1]) {
	case format.Ficlonerange:
		var r struct {
			fd                 int64
			offset, length, to uint64
		}
		t.unreadable(readStruct(t, pointer, &r))
		t.Args[2], t.Args[3], t.Args[4], t.Args[5] = uint64(int32(r.fd)), r.offset, r.length, r.to
	case format.Fideduperange:
		var r struct {
			offset, length uint64
			_              uint64 // how many follow
			fd             int64  // of the first
			to             uint64
		}
		t.unreadable(readStruct(t, pointer, &r))
		t.Args[2], t.Args[3], t.Args[4], t.Args[5] = uint64(int32(r.fd)), r.offset, r.length, r.to
	case format.FsIocResvsp64, format.FsIocUnresvsp64, format.FsIocZeroRange:
		var r struct {
			_, whence     int16
			start, length int64
		}
		t.unreadable(readStruct(t, pointer, &r))
		t.Args[2], t.Args[3], t.Args[4] = uint64(r.whence), uint64(r.start), uint64(r.length)
	}
}

// readChild reads the process that waitid found.
func readChild(_ *tracer, t *thread) {
	var info struct {
		_   [4]uint32
		pid int32
	}
	if t.Args[2] != 0 {
		t.unreadable(readStruct(t, t.Args[2], &info))
	}
	t.Args[5] = uint64(info.pid)
}
