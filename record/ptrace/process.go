package ptrace

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/internal/mounts"
	"pianola/record"
)

// process is a process that has threads that are traced.
type process struct {
	id      int32
	threads int // that have not ended

	// types are those of descriptors as record.Call.Type has them, by number,
	// from when a descriptor is first used until it is closed; 0 of others. What
	// is closed by other means than calls of 64 bits of the process's own
	// threads goes unnoticed.
	types []uint8

	maps   []mapping
	urings map[int32]*uring // by descriptor

	memory *space // as far as calls in it are recorded in the process; nil before one could be
}

// maxTypes is the number of descriptors of a process whose types are kept.
const maxTypes = 1 << 16

// join adds a thread that is new, and stopped, to its process.
func (tr *tracer) join(t *thread) {
	t.process = tr.processOf(t.TID)
	t.process.threads++
}

func (tr *tracer) processOf(tid int32) *process {
	isOf := func(process int32) bool { return unix.Tgkill(int(process), int(tid), 0) != unix.ESRCH }
	if !isOf(tid) {
		for _, p := range tr.processes {
			if isOf(p.id) {
				return p
			}
		}
	}
	p := &process{id: tid, maps: tr.heirs[tid], memory: tr.copyOf(tid)}
	delete(tr.heirs, tid)
	tr.processes[tid] = p
	return p
}

// clear drops what execve has closed and unmapped.
func (p *process) clear() {
	p.types, p.maps, p.urings = nil, nil, nil
	if p.memory != nil {
		p.memory.close()
		p.memory = nil
	}
}

// space returns the memory of the process.
func (p *process) space() *space {
	if p.memory == nil {
		p.memory = new(space)
	}
	return p.memory
}

// kinds returns the types of descriptors, which the process shares with the tracer where it has
// an area.
func (p *process) kinds() []uint8 {
	if p.memory != nil && p.memory.shared != nil {
		return p.memory.types()
	}
	return p.types
}

// typeOf returns the type of a descriptor of a stopped thread as
// record.Call.Type has it.
func (tr *tracer) typeOf(t *thread, fd uint32) uint32 {
	if types := t.process.kinds(); int(fd) < len(types) && types[fd] != 0 {
		return uint32(types[fd])
	}
	var st unix.Statx_t
	if !tr.statDescriptor(t.TID, int64(fd), unix.STATX_TYPE, &st) {
		return 0
	}
	return t.process.setType(int64(fd), tr.fileType(t.TID, &st))
}

// setType notes the type of a descriptor, and returns it.
func (p *process) setType(fd int64, typ uint8) uint32 {
	if fd >= maxTypes {
		return uint32(typ)
	}
	if types := p.kinds(); int(fd) < len(types) {
		types[fd] = typ
	} else {
		if more := int(fd) + 1 - len(p.types); more > 0 {
			p.types = append(p.types, make([]uint8, more)...)
		}
		p.types[fd] = typ
	}
	return uint32(typ)
}

// forget drops the types of the descriptors that a call has closed.
func (p *process) forget(c *record.Call, info *format.Info) {
	first, last := c.Args[0], c.Args[0]
	switch {
	case info.Acts.Any(format.Duplicates):
		first, last = uint64(c.Ret), uint64(c.Ret) // none if it failed
	case !info.Acts.Any(format.Closes):
		return
	case info.At.FD < 0:
		last = c.Args[1]
	}
	first, last = uint64(uint32(first)), uint64(uint32(last))
	types := p.kinds()
	if n := uint64(len(types)); first < n && first <= last {
		clear(types[first:min(last+1, n)])
	}
}

// storage is what a file system keeps its files in.
type storage uint8

const (
	onDisk   storage = iota
	inMemory         // and on no disk
	nowhere          // it shows what the kernel knows
)

// storages are those of the file systems that have no disk, by magic number.
var storages = map[int64]storage{
	unix.TMPFS_MAGIC:         inMemory,
	unix.HUGETLBFS_MAGIC:     inMemory,
	unix.PROC_SUPER_MAGIC:    nowhere,
	unix.SYSFS_MAGIC:         nowhere,
	unix.CGROUP_SUPER_MAGIC:  nowhere,
	unix.CGROUP2_SUPER_MAGIC: nowhere,
	unix.DEBUGFS_MAGIC:       nowhere,
	unix.TRACEFS_MAGIC:       nowhere,
	unix.SECURITYFS_MAGIC:    nowhere,
	unix.SELINUX_MAGIC:       nowhere,
	unix.BPF_FS_MAGIC:        nowhere,
	unix.NSFS_MAGIC:          nowhere,
	unix.ANON_INODE_FS_MAGIC: nowhere,
	unix.PID_FS_MAGIC:        nowhere,
}

// storageOf returns the storage of the file of a thread that statDescriptor has
// found. Only that of file systems without a device can be another than onDisk;
// each is asked once.
func (tr *tracer) storageOf(tid int32, st *unix.Statx_t) storage {
	if st.Dev_major != 0 {
		return onDisk
	}
	s, known := tr.storages[st.Dev_minor]
	if !known {
		var fs unix.Statfs_t
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", tid))
		if !isServed(string(text), st.Dev_minor) && unix.Statfs(unix.ByteSliceToString(tr.path), &fs) == nil {
			s = storages[int64(fs.Type)]
		}
		tr.storages[st.Dev_minor] = s
		for _, p := range tr.processes {
			if p.memory != nil {
				tr.noteMinor(p.memory, st.Dev_minor, s)
			}
		}
	}
	return s
}

// isServed reports whether a file system of those in the text of a mountinfo is
// served by a process (FUSE). That may be a traced one, which can't answer while
// the tracer waits.
func isServed(mountinfo string, minor uint32) bool {
	all := mounts.Parse(mountinfo)
	at := slices.IndexFunc(all, func(m mounts.Mount) bool { return m.Major == 0 && m.Minor == minor })
	return at >= 0 && strings.HasPrefix(all[at].Type, "fuse")
}

// fileType returns the type of the file of a thread that statDescriptor has
// found. Files that have none, such as that of an eventfd, are the kernel's own.
func (tr *tracer) fileType(tid int32, st *unix.Statx_t) uint8 {
	switch typ := uint8(st.Mode >> 12); {
	case typ == 0, typ == unix.S_IFREG>>12 && tr.storageOf(tid, st) == nowhere:
		return uint8(bpf.CFileTypeTYPE_PSEUDO)
	default:
		return typ
	}
}
