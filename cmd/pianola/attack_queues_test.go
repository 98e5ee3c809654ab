package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// ring adds a ring, and returns the number of the thread that its requests have.
func (h *hostile) ring(via format.Via) int32 {
	h.Threads = append(h.Threads, format.Thread{Process: 1, Parent: 1, Ring: via})
	return int32(len(h.Threads))
}

// ownDescriptors is above the numbers of descriptors that Pianola has for itself.
const ownDescriptors = 40

// TestAttackRings has requests name descriptors that are Pianola's own, registered
// or not, and paths that lead out, in each way in which a request can be made.
func TestAttackRings(t *testing.T) {
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		make := func() *hostile {
			h := newHostile(1)
			paths := c.waysOut(h)
			h.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 4096})
			for _, via := range []format.Via{format.ViaUring, format.ViaAIO} {
				ring := h.ring(via)
				h.create(1, "f", 50)
				h.add(1, format.OpRingOpen, 0, int64(ring), 64, 0, 128, 0)
				var all []string
				for fd := -1; fd < ownDescriptors; fd++ {
					all = append(all, fmt.Sprint(fd))
				}
				h.add(1, format.OpRingFiles, 0, int64(ring), strings.Join(all, ",")+",9999999999,x,50")
				h.add(1, format.OpRingBuffers, 0, int64(ring), "0+4096,9223372036854775807+9223372036854775807,-1+1,x")
				asked := int64(0)
				request := func(op format.Op, args ...any) *format.Event {
					asked++
					return h.add(ring, op, 0, args...)
				}
				for fd := range ownDescriptors {
					for _, flags := range []int64{0, format.ReqFixed, format.ReqDrain, format.ReqLink, 0x7f} {
						for _, op := range []format.Op{format.OpRead, format.OpWrite, format.OpPread64, format.OpPwrite64, format.OpFsync, format.OpFtruncate} {
							request(op, fd, 0, 100, 0).How = format.How{Flags: flags, Slot: int64(fd), Buf: int64(fd % 4)}
						}
						request(format.OpPwritev, fd, 0, 3, 0, 300).How = format.How{Flags: flags, Slot: 1 << 31}
					}
				}
				for _, p := range paths {
					request(format.OpOpenm, p, format.RDWR|format.CREAT|format.TRUNC, 0o6777)
					request(format.OpUnlink, p)
					request(format.OpRename, p, "taken")
					request(format.OpMkdir, p, 0o777)
					request(format.OpSymlink, c.base, p)
					request(format.OpSetxattr, p, "user.canary", 0, 3, 0)
				}
				h.add(1, format.OpRingSubmit, 0, int64(ring), asked, 0, asked, 0)
			}
			return h
		}
		c.trace(t, "a.bin", make())
		c.trace(t, "b.bin", make())
		for _, args := range [][]string{{"a.bin"}, {"a.bin", "b.bin"}, {"--order", "total", "a.bin"}} {
			c.forget(t)
			o := c.replay(t, append([]string{"--root", c.root}, args...)...)
			require.Zero(t, o.status, o.said)
			require.Equal(t, make().events, o.executed, o.said)
			c.unharmed(t)
		}
	})
}

// TestAttackMappings maps descriptors that are Pianola's own, files that links out
// of the root lead to, executable, at places and in sizes that no process has.
func TestAttackMappings(t *testing.T) {
	const (
		rwx     = unix.PROT_READ | unix.PROT_WRITE | unix.PROT_EXEC
		shared  = unix.MAP_SHARED
		private = unix.MAP_PRIVATE
	)
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		h := newHostile(1)
		paths := c.waysOut(h)
		h.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o755, Size: 1 << 16})
		at := func(place int64) int64 { return format.MappedFile | place }
		touch := func(place, size int64) {
			h.add(1, format.OpMapRead, size, at(place), size, 0)
			h.add(1, format.OpMapWrite, size, at(place), min(size, 8192), 0)
			h.add(1, format.OpMsync, 0, at(place), size, unix.MS_SYNC)
			h.add(1, format.OpMprotect, 0, at(place), size, rwx)
			for _, advice := range []int{unix.MADV_REMOVE, unix.MADV_DONTNEED, unix.MADV_PAGEOUT, unix.MADV_HWPOISON, unix.MADV_WIPEONFORK} {
				h.add(1, format.OpMadvise, 0, at(place), size, advice)
			}
		}
		for fd := range ownDescriptors {
			h.add(1, format.OpMmap, at(4096), 0, 8192, rwx, shared, fd, 0)
			touch(4096, 8192)
		}
		for _, p := range paths {
			h.add(1, format.OpOpen, 50, p, format.RDWR)
			h.add(1, format.OpMmap, at(4096), 0, 8192, rwx, shared, 50, 0)
			touch(4096, 8192)
			h.add(1, format.OpClose, 0, 50)
		}
		h.add(1, format.OpOpen, 51, "f", format.RDWR)
		for _, place := range []int64{0, 1, 4095, 4096, 1 << 40, 1 << 46, 1<<60 - 4096, 1<<60 - 1} {
			for _, size := range []int64{0, 1, -1, 4096, 1 << 40, 1 << 60, 1 << 62, 1<<63 - 1, -1 << 63} {
				for _, flags := range []int{shared, private, shared | format.MapPopulate, unix.MAP_FIXED | private, 0, -1} {
					h.add(1, format.OpMmap, at(place), int64(place), size, rwx, flags, 51, size)
				}
				h.add(1, format.OpMremap, at(place), at(0), size, size, -1, at(place))
				h.add(1, format.OpMapRead, 4096, at(place), min(size, 1<<30), 0) // more takes too many page tables
				h.add(1, format.OpMprotect, 0, at(place), size, rwx)
				h.add(1, format.OpMunmap, 0, at(place), size)
			}
		}
		h.add(1, format.OpMmap, at(0), 0, 1<<16, rwx, shared, 51, 0)
		h.add(1, format.OpMmap, at(1<<20), 0, 1<<16, rwx, private, 51, 0)
		h.add(1, format.OpMprotect, 0, at(0), 1<<16, rwx)
		h.sleep(1, "shown")
		c.trace(t, "a.bin", h)
		c.forget(t)
		cmd, said := c.command(t, "--root", c.root, "a.bin")
		require.NoError(t, cmd.Start())
		c.shown(t, cmd, said, c.root+"/shown")
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
		require.NoError(t, err)
		mapped := regexp.MustCompile(`(?m)^.*/f$`).FindAllString(string(maps), -1)
		require.NotEmpty(t, mapped, "%s", maps)
		for _, m := range mapped {
			require.NotContains(t, strings.Fields(m)[1], "x", m)
		}
		for _, name := range []string{"secret", "twin"} {
			require.NotContains(t, string(maps), c.base+"/"+name)
		}
		require.NoError(t, cmd.Process.Signal(unix.SIGINT))
		o := c.ended(t, cmd, said)
		require.Equal(t, 130, o.status, o.said)
		c.unharmed(t)
	})
}
