package replay

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// Record locks belong to a process: its own opens never conflict, parent and child do,
// even by a descriptor that both have, and the close of any descriptor of a file drops
// them. So it is where processes have a table of the kernel for themselves, and where
// several share one.
func TestRecordLocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads int // of each process
	}{{"table of its own", 1}, {"shared table", 2}} {
		t.Run(c.name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) {
				r := replaykit.New(c.threads)
				r.Head.Set(format.MetaSharing, "1")
				if c.threads == 1 {
					r.Head.Meta = nil
				}
				again := -int64(unix.EAGAIN)
				lock := func(thread int32, want int64, fd, kind int) int64 {
					return r.Add(thread, format.OpFcntl, want, fd, format.FSetlk, 0, kind, 0, 10)
				}
				r.File(format.File{Path: "f", Size: 100, Type: format.TypeReg, Mode: 0o666})
				r.Add(1, format.OpOpen, 3, "f", format.RDWR)
				r.Add(1, format.OpOpen, 4, "f", format.RDONLY)
				r.Add(1, format.OpOpen, 5, "f", format.WRONLY)
				lock(1, -int64(unix.EBADF), 4, unix.F_WRLCK)
				lock(1, -int64(unix.EBADF), 5, unix.F_RDLCK)
				r.Add(1, format.OpOpen, 7, "f", format.PATH)
				for _, kind := range []int{unix.F_RDLCK, unix.F_WRLCK, unix.F_UNLCK} {
					lock(1, -int64(unix.EBADF), 7, kind)
					r.Add(1, format.OpFcntl, -int64(unix.EBADF), 7, format.FGetlk, 0, kind, 0, 10)
				}
				lock(1, 0, 3, unix.F_WRLCK)
				lock(1, 0, 4, unix.F_RDLCK)
				held := lock(1, 0, 5, unix.F_WRLCK)
				child := r.Child(2, 1)
				if c.threads == 2 {
					r.Child(2, child)
				}
				r.Add(1, format.OpClone, int64(child), 0)
				r.Wait(child, 1, held)
				lock(child, again, 3, unix.F_WRLCK)
				r.Add(child, format.OpOpen, 6, "f", format.RDWR)
				refused := lock(child, again, 6, unix.F_RDLCK)
				r.Wait(1, child, refused)
				closed := r.Add(1, format.OpClose, 0, 4)
				r.Wait(child, 1, closed)
				got := lock(child, 0, 3, unix.F_WRLCK)
				r.Wait(1, child, got)
				lock(1, again, 3, unix.F_WRLCK)
				// An open file description's own locks are others.
				refused = r.Add(1, format.OpFcntl, again, 3, format.FOfdSetlk, 0, unix.F_RDLCK, 0, 10)
				r.Wait(child, 1, refused)
				exit := r.Add(child, format.OpExitGroup, 0, 0)
				if c.threads == 2 {
					r.Add(child+1, format.OpExit, 0, 0)
					r.Wait(1, child+1, 0)
				}
				r.Wait(1, child, exit)
				lock(1, 0, 3, unix.F_WRLCK)
				// Without a name, too, whichever descriptor is locked first.
				r.Add(1, format.OpOpen, 8, "f", format.RDONLY)
				r.Add(1, format.OpUnlink, 0, "f")
				r.Add(1, format.OpClose, 0, 5)
				lock(1, 0, 8, unix.F_RDLCK)
				lock(1, 0, 3, unix.F_WRLCK)
				_, res := p.play(t, r)
				faultless(t, r, res)
			})
		})
	}
}

// The offset of a lock counts from the start, from the offset of its descriptor or from the
// end of the file, also where the locks of a process are those of a description of its own.
func TestWhenceOfLocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads int // of each process
	}{{"table of its own", 1}, {"shared table", 2}} {
		t.Run(c.name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) {
				r := replaykit.New(c.threads)
				if c.threads == 2 {
					r.Head.Set(format.MetaSharing, "1")
					child := r.Child(2, 1)
					r.Child(2, child)
					r.Add(1, format.OpClone, int64(child), 0)
				}
				r.File(format.File{Path: "f", Size: 100, Type: format.TypeReg, Mode: 0o666})
				again, einval, wrong := -int64(unix.EAGAIN), -int64(unix.EINVAL), -int64(unix.EOVERFLOW)
				lock := func(want int64, fd, cmd, whence, start, size int) {
					r.Add(1, format.OpFcntl, want, fd, cmd, whence, unix.F_WRLCK, start, size)
				}
				r.Add(1, format.OpOpen, 3, "f", format.RDWR)
				r.Add(1, format.OpOpen, 4, "f", format.RDWR)
				r.Add(1, format.OpLseek, 50, 3, 50, format.SeekSet)
				lock(0, 3, format.FSetlk, format.SeekCur, 10, 10)  // 60 to 70
				lock(0, 3, format.FSetlk, format.SeekEnd, -20, 10) // 80 to 90
				lock(0, 3, format.FSetlk, format.SeekCur, -40, 5)  // 10 to 15
				lock(einval, 3, format.FSetlk, format.SeekCur, -60, 5)
				lock(einval, 3, format.FSetlk, format.SeekEnd, -101, 5)
				lock(einval, 3, format.FSetlk, 99, 0, 5)
				lock(einval, 3, format.FSetlk, 0xffff, 0, 5) // -1
				lock(wrong, 3, format.FSetlk, format.SeekCur, math.MaxInt64, 5)
				for _, c := range []struct {
					want int64
					from int
				}{{0, 5}, {again, 10}, {again, 14}, {0, 15}, {0, 55}, {again, 60}, {again, 69}, {0, 70}, {again, 80}, {again, 89}, {0, 90}} {
					lock(c.want, 4, format.FOfdSetlk, format.SeekSet, c.from, 1)
				}
				lock(again, 4, format.FOfdSetlk, format.SeekEnd, -11, 1)
				lock(0, 4, format.FOfdSetlk, format.SeekEnd, -21, 1)
				lock(0, 4, format.FOfdSetlk, 0x7ffc0000000, 20, 1) // of an older trace: an address
				_, res := p.play(t, r)
				faultless(t, r, res)
			})
		})
	}
}

// A process keeps its record locks on a file when it unmaps the file or moves a mapping of
// it, although the replay closes a descriptor of its own then.
func TestUnmapKeepsLocks(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		again := -int64(unix.EAGAIN)
		on := func(page int64) int { return int(page*pageSize | format.MappedFile) }
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 8192})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		lock := func(thread int32, want int64) int64 {
			return r.Add(thread, format.OpFcntl, want, 3, format.FSetlk, 0, unix.F_WRLCK, 0, 10)
		}
		lock(1, 0)
		r.Add(1, format.OpMmap, int64(on(1)), 0, 4096, unix.PROT_READ, unix.MAP_SHARED, 3, 0)
		r.Add(1, format.OpMremap, int64(on(8)), on(1), 4096, 4096, 1, on(8))
		r.Add(1, format.OpMunmap, 0, on(8), 4096)
		child := r.Child(2, 1)
		r.Add(1, format.OpClone, int64(child), 0)
		refused := lock(child, again)
		r.Wait(1, child, refused)
		closes := r.Add(1, format.OpClose, 0, 3)
		r.Wait(child, 1, closes)
		lock(child, 0)
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}
