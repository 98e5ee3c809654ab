package transform

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"path"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/memfs"
)

// machine executes events in a file system in memory. Each byte of the application's
// memory has a label derived from its address, so the final contents of a file show
// which buffers they came from.
type machine struct {
	t      *testing.T
	fs     *memfs.FS
	tables map[int32]map[int64]*open // by process
	of     map[int32]int32           // process of a thread
	memory []byte

	// aligned lets buffers of whole blocks begin on a block, as O_DIRECT
	// demands.
	aligned bool
}

// open is an open file description.
type open struct {
	fd     int64 // in the file system
	refs   int
	direct bool
}

// refuses reports whether O_DIRECT does not allow a call, nor calls between two
// descriptors. The segments of a vector are taken to be aligned.
func (m *machine) refuses(e *format.Event) bool {
	info := e.Op.Info()
	if info.Class != format.ClassRead && info.Class != format.ClassWrite || e.Size() == 0 {
		return false
	}
	direct := false
	for i, a := range info.Args {
		o := m.table(e)[e.Args[i]]
		direct = direct || a.Kind == format.FD && o != nil && o.direct
	}
	if !direct || info.At.OutFD >= 0 {
		return direct
	}
	mode := m.call(unix.SYS_FCNTL, m.at(e, e.FD()), unix.F_GETFL, 0) & unix.O_ACCMODE
	if mode == unix.O_WRONLY && info.Class == format.ClassRead || mode == unix.O_RDONLY && info.Class == format.ClassWrite {
		return false // for another reason
	}
	at := m.call(unix.SYS_LSEEK, m.at(e, e.FD()), 0, unix.SEEK_CUR)
	if e.Offset() >= 0 {
		at = e.Offset()
	}
	if info.At.Buf >= 0 {
		at |= e.Args[1]
	}
	return (at|e.Size())%alignment != 0
}

func newMachine(t *testing.T) *machine {
	fs, err := memfs.New(256 << 20)
	require.NoError(t, err)
	m := &machine{t: t, fs: fs, tables: map[int32]map[int64]*open{1: {}}, of: map[int32]int32{1: 1}, memory: make([]byte, 1<<20)}
	t.Cleanup(func() { require.NoError(t, fs.Close()) })
	return m
}

// label returns the byte at an address of the application.
func label(address int64) byte {
	x := uint64(address) * 0x9e3779b97f4a7c15
	return byte(bits.RotateLeft64(x^x>>29, 17)) | 1
}

func (m *machine) call(nr uintptr, args ...int64) int64 {
	var a [6]uintptr
	for i, v := range args {
		a[i] = uintptr(v)
	}
	return m.fs.Call(nr, a[0], a[1], a[2], a[3], a[4], a[5])
}

// withPath makes a call with a path at an argument.
func (m *machine) withPath(p []byte, do func(address int64) int64) int64 {
	text := append([]byte(strings.TrimPrefix(string(p), "/")), 0)
	if len(text) == 1 {
		text = []byte{'.', 0}
	}
	defer runtime.KeepAlive(text)
	return do(int64(uintptr(unsafe.Pointer(&text[0]))))
}

// at returns the descriptor of the file system for one of the thread's.
func (m *machine) at(e *format.Event, fd int64) int64 {
	if o := m.table(e)[fd]; o != nil {
		return o.fd
	}
	return -1
}

func (m *machine) table(e *format.Event) map[int64]*open { return m.tables[m.of[e.TID]] }

// lowest returns the number that a new descriptor of the thread gets.
func (m *machine) lowest(e *format.Event) int64 {
	fd := int64(3)
	for m.table(e)[fd] != nil {
		fd++
	}
	return fd
}

func (m *machine) drop(e *format.Event, fd int64) {
	o := m.table(e)[fd]
	delete(m.table(e), fd)
	if o.refs--; o.refs == 0 {
		require.Zero(m.t, m.call(unix.SYS_CLOSE, o.fd))
	}
}

// do does what an event says and returns the result. The number of a new
// descriptor is that of the event's result where that is not 0.
func (m *machine) do(e *format.Event) int64 {
	a := e.Args
	buffer := int64(uintptr(unsafe.Pointer(&m.memory[0])))
	fill := func(address, size int64) int64 {
		if o := m.table(e)[a[0]]; m.aligned && size%alignment == 0 || o != nil && o.direct {
			address &^= alignment - 1
		}
		for i := range size {
			m.memory[i] = label(address + i)
		}
		return buffer
	}
	if m.refuses(e) {
		return -22
	}
	switch e.Op {
	case format.OpOpenat:
		flags, _ := format.OpenFlags.ToNative(format.HostArch, a[2]&^format.DIRECT)
		fd := m.withPath(e.Str[0], func(p int64) int64 { return m.call(unix.SYS_OPENAT, unix.AT_FDCWD, p, int64(flags), a[3]) })
		if fd < 0 {
			return fd
		}
		number := m.lowest(e)
		if e.Ret > 0 {
			number = e.Ret
		}
		require.Nil(m.t, m.table(e)[number], "%v", e)
		m.table(e)[number] = &open{fd: fd, refs: 1, direct: a[2]&format.DIRECT != 0}
		return number
	case format.OpClose:
		if m.table(e)[a[0]] == nil {
			return -9
		}
		m.drop(e, a[0])
		return 0
	case format.OpCloseRange:
		for fd := range m.table(e) {
			if a[0] <= fd && fd <= a[1] {
				m.drop(e, fd)
			}
		}
		return 0
	case format.OpDup, format.OpDup2, format.OpDup3:
		o := m.table(e)[a[0]]
		if o == nil {
			return -9
		}
		number := m.lowest(e)
		if e.Ret > 0 {
			number = e.Ret
		}
		if e.Op == format.OpDup2 || e.Op == format.OpDup3 {
			number = a[1]
			if number == a[0] {
				if e.Op == format.OpDup3 {
					return -22
				}
				return number
			}
			if m.table(e)[number] != nil {
				m.drop(e, number)
			}
		}
		o.refs++
		m.table(e)[number] = o
		return number
	case format.OpClone, format.OpFork:
		child := int32(e.Ret)
		if child == 0 {
			child = int32(len(m.of) + 1)
		}
		m.of[child] = child
		if a[0]&format.CloneThread != 0 {
			m.of[child] = m.of[e.TID]
			return int64(child)
		}
		m.tables[child] = map[int64]*open{}
		for fd, o := range m.table(e) {
			o.refs++
			m.tables[child][fd] = o
		}
		return int64(child)
	case format.OpExitGroup:
		for fd := range m.table(e) {
			m.drop(e, fd)
		}
		return format.NoResult
	case format.OpExit:
		return format.NoResult
	case format.OpWait4:
		return a[0]
	case format.OpChdir:
		return 0 // names are absolute
	case format.OpRead:
		return m.call(unix.SYS_READ, m.at(e, a[0]), buffer, a[2])
	case format.OpReadv:
		return m.call(unix.SYS_READ, m.at(e, a[0]), buffer, a[3])
	case format.OpPread64:
		return m.call(unix.SYS_PREAD64, m.at(e, a[0]), buffer, a[2], a[3])
	case format.OpPreadv:
		return m.call(unix.SYS_PREAD64, m.at(e, a[0]), buffer, a[4], a[3])
	case format.OpWrite:
		return m.call(unix.SYS_WRITE, m.at(e, a[0]), fill(a[1], a[2]), a[2])
	case format.OpWritev:
		return m.call(unix.SYS_WRITE, m.at(e, a[0]), fill(a[1], a[3]), a[3])
	case format.OpPwrite64:
		return m.call(unix.SYS_PWRITE64, m.at(e, a[0]), fill(a[1], a[2]), a[2], a[3])
	case format.OpPwritev:
		return m.call(unix.SYS_PWRITE64, m.at(e, a[0]), fill(a[1], a[4]), a[4], a[3])
	case format.OpLseek:
		return m.call(unix.SYS_LSEEK, m.at(e, a[0]), a[1], a[2])
	case format.OpFsync, format.OpFdatasync:
		return m.call(unix.SYS_FSYNC, m.at(e, a[0]))
	case format.OpSync:
		return 0
	case format.OpFadvise64:
		return m.call(unix.SYS_FADVISE64, m.at(e, a[0]), a[1], a[2], a[3])
	case format.OpReadahead:
		return m.call(unix.SYS_READAHEAD, m.at(e, a[0]), a[1], a[2])
	case format.OpPreadv2:
		if a[3] == -1 {
			return m.call(unix.SYS_READ, m.at(e, a[0]), buffer, a[4])
		}
		return m.call(unix.SYS_PREAD64, m.at(e, a[0]), buffer, a[4], a[3])
	case format.OpPwritev2:
		if a[3] == -1 {
			return m.call(unix.SYS_WRITE, m.at(e, a[0]), fill(a[1], a[4]), a[4])
		}
		return m.call(unix.SYS_PWRITE64, m.at(e, a[0]), fill(a[1], a[4]), a[4], a[3])
	case format.OpSendfile:
		return m.call(unix.SYS_SENDFILE, m.at(e, a[0]), m.at(e, a[1]), 0, a[3])
	case format.OpFcntl:
		if o := m.table(e)[a[0]]; o != nil && a[1] == format.FSetfl {
			o.direct = a[2]&format.DIRECT != 0
			native, _ := format.OpenFlags.ToNative(format.HostArch, a[2]&^format.DIRECT)
			a[2] = int64(native)
		}
		return m.call(unix.SYS_FCNTL, m.at(e, a[0]), a[1], a[2])
	case format.OpFtruncate:
		return m.call(unix.SYS_FTRUNCATE, m.at(e, a[0]), a[1])
	case format.OpFallocate:
		return m.call(unix.SYS_FALLOCATE, m.at(e, a[0]), a[1], a[2], a[3])
	case format.OpFstat:
		return m.call(unix.SYS_FSTAT, m.at(e, a[0]), buffer)
	case format.OpCopyFileRange:
		return m.call(unix.SYS_COPY_FILE_RANGE, m.at(e, a[0]), 0, m.at(e, a[2]), 0, a[4], 0)
	case format.OpTruncate:
		return m.withPath(e.Str[0], func(p int64) int64 { return m.call(unix.SYS_TRUNCATE, p, a[1]) })
	case format.OpStat:
		return m.withPath(e.Str[0], func(p int64) int64 { return m.call(unix.SYS_NEWFSTATAT, unix.AT_FDCWD, p, buffer, 0) })
	case format.OpMkdir:
		return m.withPath(e.Str[0], func(p int64) int64 { return m.call(unix.SYS_MKDIRAT, unix.AT_FDCWD, p, a[1]) })
	case format.OpUnlink:
		return m.withPath(e.Str[0], func(p int64) int64 { return m.call(unix.SYS_UNLINKAT, unix.AT_FDCWD, p, 0) })
	case format.OpRmdir:
		return m.withPath(e.Str[0], func(p int64) int64 { return m.call(unix.SYS_UNLINKAT, unix.AT_FDCWD, p, unix.AT_REMOVEDIR) })
	case format.OpRename, format.OpLink:
		return m.withPath(e.Str[0], func(from int64) int64 {
			return m.withPath(e.Str[1], func(to int64) int64 {
				if e.Op == format.OpLink {
					return m.call(unix.SYS_LINKAT, unix.AT_FDCWD, from, unix.AT_FDCWD, to, 0)
				}
				return m.call(unix.SYS_RENAMEAT, unix.AT_FDCWD, from, unix.AT_FDCWD, to)
			})
		})
	}
	require.Fail(m.t, "no such call", "%v", e.Op)
	return 0
}

// noted returns what a recorder notes at an open.
func (m *machine) noted(e *format.Event, fresh bool) *format.Notes {
	var st unix.Stat_t
	require.Zero(m.t, m.call(unix.SYS_FSTAT, m.at(e, e.Ret), int64(uintptr(unsafe.Pointer(&st)))))
	n := &format.Notes{
		Has:  format.NotedType | format.NotedMode | format.NotedSize | format.NotedCached | format.NotedDev | format.NotedIno | format.NotedLinks,
		Type: format.TypeReg, Mode: 0o644, Size: st.Size, Dev: format.Device{Major: 8, Minor: 1}, Ino: st.Ino, Links: int64(st.Nlink),
	}
	if fresh {
		n.Has |= format.NotedNew
	}
	return n
}

// look says what a file is: its size, where data and holes lie, and its
// contents.
func (m *machine) look(name string) string {
	fd := m.withPath([]byte(name), func(p int64) int64 { return m.call(unix.SYS_OPENAT, unix.AT_FDCWD, p, unix.O_RDONLY, 0) })
	if fd < 0 {
		return fmt.Sprint(unix.Errno(-fd))
	}
	defer m.call(unix.SYS_CLOSE, fd)
	size := m.call(unix.SYS_LSEEK, fd, 0, unix.SEEK_END)
	text := fmt.Sprintf("%d bytes", size)
	for at := int64(0); at < size; {
		at = m.call(unix.SYS_LSEEK, fd, at, unix.SEEK_DATA)
		if at < 0 {
			break
		}
		end := m.call(unix.SYS_LSEEK, fd, at, unix.SEEK_HOLE)
		text += fmt.Sprintf(" %d-%d", at, end)
		at = end
	}
	h := sha256.New()
	buffer := int64(uintptr(unsafe.Pointer(&m.memory[0])))
	for at := int64(0); at < size; {
		n := m.call(unix.SYS_PREAD64, fd, buffer, int64(len(m.memory)), at)
		require.Positive(m.t, n)
		h.Write(m.memory[:n])
		at += n
	}
	return fmt.Sprintf("%s %x", text, binary.BigEndian.Uint64(h.Sum(nil)))
}

// populate makes the files that are there at the start, below a directory.
func (m *machine) populate(below string) {
	dir := ""
	for _, word := range strings.Split(strings.Trim(path.Join(below, "w"), "/"), "/") {
		dir += "/" + word
		m.do(&format.Event{Op: format.OpMkdir, TID: 1, Args: [format.MaxArgs]int64{1: 0o755}, Str: [format.MaxStrings][]byte{[]byte(dir)}})
	}
	for i, name := range fileNames[:3] {
		e := format.Event{Op: format.OpOpenat, TID: 1, Args: [format.MaxArgs]int64{2: format.WRONLY | format.CREAT, 3: 0o644}, Str: [format.MaxStrings][]byte{[]byte(below + name)}}
		fd := m.do(&e)
		require.Positive(m.t, fd)
		m.do(&format.Event{Op: format.OpWrite, TID: 1, Args: [format.MaxArgs]int64{fd, int64(i+1) << 50, int64(i) * 9000}})
		m.do(&format.Event{Op: format.OpClose, TID: 1, Args: [format.MaxArgs]int64{fd}})
	}
}

// fileNames are all that programs know. The first three files are there at the
// start.
var fileNames = []string{"/w/a", "/w/b", "/w/c", "/w/d", "/w/e"}
