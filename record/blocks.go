package record

import (
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/internal/fiemap"
)

// blocks finds the allocation of files that existed before. The cost of a write depends
// on it: a write to a hole or to reserved blocks changes the file system's metadata of
// the file, and a synchronous one waits for its journal.
//
// The recorder looks later than the open. The note has the delay, so that writes in
// between can be distinguished from earlier ones.
type blocks struct {
	seen map[format.Inode]struct{} // that were asked about
	text []byte                    // of the notes since reset
	all  []format.Stretch          // of one file
	b    [fiemap.Header + 512*fiemap.Extent]byte
}

// maxSeen bounds the files that are remembered.
const maxSeen = 1 << 16

// note adds to the notes of an event how the file is allocated that it opened
// for writing, or that has fewer blocks than its size needs, unless its blocks are
// written up to its size. It says so once for each file. The note borrows from b until reset. Times of events count from began.
func (b *blocks) note(e *format.Event, c *Call, began time.Time) {
	if c.Flags&bpf.CFlagFLAG_FILE == 0 || e.Notes == nil || e.Notes.Type != format.TypeReg {
		return
	}
	inode := e.Notes.Inode()
	if _, ok := b.seen[inode]; ok {
		return
	}
	// A file that the call made is remembered, too: what it is later is the
	// application's work.
	flags := e.OpenFlags()
	made := c.Details.Created != 0 || flags&format.TRUNC != 0
	if !made && flags&(format.WRONLY|format.RDWR) == 0 && c.Details.Blocks*512 >= c.Details.Size {
		return
	}
	if b.seen == nil || len(b.seen) == maxSeen {
		b.seen = make(map[format.Inode]struct{})
	}
	b.seen[inode] = struct{}{}
	if made {
		return
	}
	fd, ok := Borrow(c.TID, e.Ret)
	if !ok {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Ino != inode.Ino || unix.Major(st.Dev) != inode.Dev.Major || unix.Minor(st.Dev) != inode.Dev.Minor {
		return // the number has another file by now
	}
	if !b.read(fd, e.Notes.Size) {
		return
	}
	late := int64(time.Since(began)) - e.Start - e.Dur
	if b.trim(e.Notes.Size); !plain(b.all, e.Notes.Size) {
		first := len(b.text)
		b.text = format.AppendBlocks(b.text, b.all)
		e.Notes.Blocks, e.Notes.Has = b.text[first:len(b.text):len(b.text)], e.Notes.Has|format.NotedBlocks
		e.Notes.Late, e.Notes.Has = max(late, 0), e.Notes.Has|format.NotedLate
	} else {
		e.Notes.Has &^= format.NotedSparse | format.NotedAllocated // the file system compresses it
	}
}

// reset takes back the memory of all notes.
func (b *blocks) reset() { b.text = b.text[:0] }

// read fills b.all. Of a file with more stretches than format.MaxStretches the
// rest, up to its size, counts as written.
func (b *blocks) read(fd int, size int64) bool {
	b.all = b.all[:0]
	var end int64
	ioctl := func(p []byte) bool {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), fiemap.Request, uintptr(unsafe.Pointer(&p[0])))
		return e == 0
	}
	ok := fiemap.Each(b.b[:], 0, ioctl, func(start, length int64, flags uint32) bool {
		if start > end {
			b.add(format.Hole, start-end)
		}
		a := format.Data
		if flags&fiemap.Unwritten != 0 {
			a = format.Reserved
		}
		b.add(a, length)
		end = start + length
		return len(b.all) < format.MaxStretches-2
	})
	if len(b.all) >= format.MaxStretches-2 && end < size {
		b.add(format.Data, size-end)
	}
	return ok
}

func (b *blocks) add(a format.Allocation, bytes int64) { b.all = format.AddStretch(b.all, a, bytes) }

// largestBlock is that of any file system, in bytes: written blocks that end
// further than that behind the end of a file are of later writes.
const largestBlock = 64 << 10

// trim makes of the stretches those that a file of a size can have had. What is
// written beyond the end was reserved, if anything still is, or was not there.
func (b *blocks) trim(size int64) {
	end, reserved := int64(0), len(b.all) > 0 && b.all[len(b.all)-1].Allocation == format.Reserved
	all := slices.Clone(b.all)
	b.all = b.all[:0]
	for _, s := range all {
		from := end
		end += s.Bytes
		if s.Allocation != format.Data || from < size && end < size+largestBlock {
			b.add(s.Allocation, s.Bytes)
			continue
		}
		if from < size {
			b.add(format.Data, size-from)
			s.Bytes = end - size
		}
		if !reserved {
			break
		}
		b.add(format.Reserved, s.Bytes)
	}
	if len(b.all) == 0 {
		b.add(format.Hole, size)
	}
}

// plain reports whether a file of a size has written blocks up to its end, and
// none after it.
func plain(all []format.Stretch, size int64) bool {
	switch {
	case size == 0:
		return len(all) == 0
	case len(all) != 1 || all[0].Allocation != format.Data:
		return false
	}
	return all[0].Bytes >= size && all[0].Bytes < size+largestBlock
}

// Borrow returns a descriptor of the recorder, which the caller closes, for what
// a descriptor of a thread leads to.
func Borrow(tid int32, fd int64) (own int, ok bool) {
	process, _, e := unix.RawSyscall(unix.SYS_PIDFD_OPEN, uintptr(tid), 0, 0)
	if e != 0 {
		// A thread that is not its process's first takes Linux 6.9.
		process, _, e = unix.RawSyscall(unix.SYS_PIDFD_OPEN, uintptr(tid), unix.PIDFD_THREAD, 0)
	}
	if e != 0 {
		return 0, false
	}
	file, _, e := unix.RawSyscall(unix.SYS_PIDFD_GETFD, process, uintptr(fd), 0)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, process, 0, 0)
	return int(file), e == 0
}
